"""What the units of one architecture begin with: every header that TileLang's kernels ask for there.

Headers are most of what a linked kernel costs, and each kernel asks for another few of the same dozen. Precompiled all
together they take 2.4 s of processor time where those of a GEMM alone take 2.0 and those of a copy 1.4; from then on
any kernel for the architecture compiles in 0.2 to 0.4 s (TileLang 0.1.15, zig's clang 21).
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

_INCLUDE = re.compile(r"#include <(math_constants\.h|tl_templates/cuda/[\w/]+\.h)>")
_EVERYWHERE = ("atomic.h", "cuda_fp8.h", "reduce.h", "scan.h", "ldsm.h", "threadblock_swizzle.h", "debug.h")
_HOPPER = ("instruction/wgmma.h", "instruction/mma.h", "intrin.h", "barrier.h", "copy_sm90.h", "copy.h")
_OTHERS = ("instruction/mma.h", "copy.h")


def common_beginning(unit: str, arch: str, sources: Path) -> str:
    """How the unit begins, with all headers of its architecture in the place of those that it asks for.

    They can be read in any order, and again. A unit that asks for others than these, as those for sm_100 do, begins as
    it is. ``sources`` is the folder of TileLang's headers.
    """
    lines = [*takewhile(lambda line: not line.strip() or line.startswith("#"), unit.splitlines(keepends=True))]
    asked = {at: found[1] for at, line in enumerate(lines) if (found := _INCLUDE.match(line))}
    every = _every_header(arch, sources)
    if not asked or not every.keys() >= set(asked.values()):
        return "".join(lines)
    first = min(asked)
    rest = (line for at, line in enumerate(lines) if at > first and at not in asked)
    return "".join([*lines[:first], *(f"#include <{name}>\n" for name in every), *rest])


def _every_header(arch: str, sources: Path) -> dict[str, None]:
    """In the order in which they are read; what this release of TileLang does not have is left out."""
    if arch.startswith("sm_10"):
        return {}
    names = (*(_HOPPER if arch.startswith("sm_90") else _OTHERS), *_EVERYWHERE)
    paths = (f"tl_templates/cuda/{name}" for name in names)
    return dict.fromkeys(["math_constants.h", *(path for path in paths if (sources / path).is_file())])
