"""Local arrays that the compiler has left in memory, where a GPU needs hundreds of cycles for them."""

from __future__ import annotations

from tle_raw.linker.llvm.references import reachable, references
from tle_raw.linker.llvm.text import read_module

_ARRAY = " = alloca "


def local_arrays(text: str, root: str) -> int:
    """How many there are in the code that ``root`` reaches, a function or a variable that names one."""
    if _ARRAY not in text:
        return 0
    module = read_module(text)
    reached = reachable(references(module), [root])
    return sum(module.source(e).count(_ARRAY) for e in module.of_kind("define") if e.name in reached)
