"""What inline assembly does with memory, as its instructions say."""

from __future__ import annotations

import functools
from contextlib import suppress

from tle_raw.emulation.ptx.parse import PtxSyntaxError
from tle_raw.emulation.ptx.translate import instructions
from tle_raw.flir.cpu.mlir_values import Operation

_STORES = frozenset(("st", "red", "cp", "sust", "sured"))
_WRITES = _STORES | {"atom"}
_MEMORY = _WRITES | {"ld", "ldu", "tex", "suld"}


def uses_memory(op: Operation) -> bool:
    return not _MEMORY.isdisjoint(_opcodes_of(op))


def stores(op: Operation) -> bool:
    """Whether it changes memory, and no result tells."""
    return not _STORES.isdisjoint(_opcodes_of(op))


def writes_memory(op: Operation) -> bool:
    return not _WRITES.isdisjoint(_opcodes_of(op))


def _opcodes_of(op: Operation) -> frozenset[str]:
    return _opcodes(str(op.attributes["asm_string"].value))


@functools.lru_cache(maxsize=256)
def _opcodes(text: str) -> frozenset[str]:
    """What its instructions begin with, up to one that cannot be read: that is refused when it is compiled."""
    found = set()
    with suppress(PtxSyntaxError):
        for instruction in instructions(text):
            found.add(instruction.parts[0])
    return frozenset(found)
