"""Which of the block's sixteen barriers a module waits or arrives at: ``bar.sync 3, 64``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tle_raw.linker.llvm.calls import CallInstruction, calls
from tle_raw.linker.llvm.text import Module

_PREFIXES = ("@llvm.nvvm.barrier", "@llvm.nvvm.bar.sync")
_OTHERS = ("@llvm.nvvm.barrier0", "@llvm.nvvm.barrier.cluster")  # barrier 0, and no barrier of the block's
_ASSEMBLY = re.compile(r"\b(?:barrier|bar)(?:\.cta)?\.(?P<what>sync|arrive|red)\b[.\w:]*\s+(?P<operands>[^;]*)")
_OPERAND = re.compile(r"\$\{?(\d+)")
_ESCAPED = re.compile(r"\\[0-9A-F]{2}")  # line breaks and tabs
UNKNOWN = -1


def barrier_numbers(module: Module) -> set[int]:
    """The numbers, with ``UNKNOWN`` for those that are values of the running code."""
    if not any(word in module.text for word in ("barrier", "bar.")):
        return set()
    return {
        number
        for entity in module.of_kind("define")
        for call in calls(module, entity, *_PREFIXES)
        for number in _numbers(call)
    }


def _numbers(call: CallInstruction) -> Iterator[int]:
    if call.callee:
        if not call.callee.startswith(_OTHERS) and call.arguments:
            yield _number(call.arguments[0])
        return
    for match in _ASSEMBLY.finditer(_ESCAPED.sub(" ", call.assembly)):
        operands = [operand.strip() for operand in match["operands"].split(",")]
        at = 1 if match["what"] == "red" else 0  # behind what it gives
        if at < len(operands):
            yield _operand(operands[at], call)


def _operand(text: str, call: CallInstruction) -> int:
    placeholder = _OPERAND.match(text)
    if not placeholder:
        return _number(text)
    results = sum(constraint.startswith("=") for constraint in call.constraints.split(","))
    index = int(placeholder[1]) - results
    return _number(call.arguments[index]) if 0 <= index < len(call.arguments) else UNKNOWN


def _number(text: str) -> int:
    return int(text) if text.isdigit() else UNKNOWN
