"""Tables that code reads with an index of each thread's own lie in global memory, not in the constant bank.

clang puts whatever is ``const`` and known when it compiles into the constant bank, as if it were ``__constant__``. That
bank answers one address of a warp after the other. nvcc leaves such variables in global memory and reads them by the
read-only path; ``__constant__`` alone says that all threads of a warp read the same place.

A dequantisation by two tables, ``dequantize_block_iq2_xxs`` of vLLM, took 3.7 times as long as nvcc's on an H200.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.text import Edit, Entity, Module

CONSTANT_SPACE = 4
_KEYWORD, _GLOBAL = f"addrspace({CONSTANT_SPACE})", "addrspace(1)"


def move_tables(module: Module, is_constant: Callable[[str], bool]) -> Iterator[Edit]:
    """The edits that move all but what ``is_constant`` tells of, and what other modules may know."""
    for entity in module.of_kind("global"):
        is_candidate = _KEYWORD in module.text[entity.start : entity.end] and _is_own(module, entity)
        if is_candidate and not is_constant(entity.name):
            yield from _moved(module, entity)


def _is_own(module: Module, entity: Entity) -> bool:
    variable = read_global(module, entity)
    known = variable.linkage in ("internal", "private")
    return known and variable.kind == "constant" and variable.address_space == CONSTANT_SPACE


def _moved(module: Module, entity: Entity) -> Iterator[Edit]:
    """None where an instruction takes the address as one of the constant bank: its result would change its type."""
    text = module.text
    declared = text.index(_KEYWORD, entity.start)
    name = text[entity.start : text.index(" =", entity.start)]
    written = re.escape(name) + r"(?![-\w$.])"
    cast = re.compile(rf"addrspacecast \(ptr ({re.escape(_KEYWORD)}) {written} to ptr\)")
    casts = list(cast.finditer(text))
    if len(casts) == len(re.findall(written, text)) - 1:
        yield Edit(declared, declared + len(_KEYWORD), _GLOBAL)
        yield from (Edit(*match.span(1), _GLOBAL) for match in casts)
