"""Which of the block's sixteen barriers a module waits or arrives at: ``bar.sync 3, 64``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tle_raw.linker.llvm.barrier_instructions import (
    MAY_BE_BARRIER,
    UNKNOWN,
    BarrierInstruction,
    constant,
    constant_operand,
    edit_barriers,
)
from tle_raw.linker.llvm.calls import CallInstruction, calls
from tle_raw.linker.llvm.text import Module

__all__ = ["UNKNOWN", "barrier_numbers"]

_PREFIXES = ("@llvm.nvvm.barrier", "@llvm.nvvm.bar.sync")
_OTHERS = ("@llvm.nvvm.barrier0", "@llvm.nvvm.barrier.cluster")  # barrier 0, and no barrier of the block's
_ESCAPED = re.compile(r"\\[0-9A-F]{2}")  # line breaks and tabs


def barrier_numbers(module: Module, among: Collection[str] | None = None) -> set[int]:
    """The numbers, with ``UNKNOWN`` for those that are values of the running code.

    Parameters
    ----------
    among : the functions that count; None for all.
    """
    if not any(word in module.text for word in ("barrier", "bar.")):
        return set()
    return {
        number
        for entity in module.of_kind("define")
        if among is None or entity.name in among
        for call in calls(module, entity, *_PREFIXES, assembly=MAY_BE_BARRIER)
        for number in _numbers(call)
    }


def _numbers(call: CallInstruction) -> Iterator[int]:
    if call.callee:
        if not call.callee.startswith(_OTHERS) and call.arguments:
            yield constant(call.arguments[0])
        return
    found: list[BarrierInstruction] = []

    def note(instruction: BarrierInstruction) -> str:
        found.append(instruction)
        return ""

    edit_barriers(_ESCAPED.sub(" ", call.assembly), note)
    yield from (constant_operand(instruction.number, call) for instruction in found if instruction.number)
