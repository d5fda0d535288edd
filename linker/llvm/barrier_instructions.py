"""Inline assembly that waits or arrives at one of the block's sixteen barriers: ``bar.sync 3, 64;``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tle_raw.linker.llvm.calls import CallInstruction

UNKNOWN = -1
_INSTRUCTION = re.compile(
    r"\b(?P<name>(?:barrier|bar)(?:\.cta)?\.(?P<what>sync|arrive|red)\b[.\w:]*)\s+(?P<operands>[^;]*)"
)
# What a line of LLVM IR holds where its assembly may be one: `bar`, but no `mbarrier`, or an escape that may spell it.
MAY_BE_BARRIER = re.compile(r"bar(?<!mbar)|\\[2-7]")
_OPERAND = re.compile(r"\$\{?(\d+)")


@dataclass(frozen=True)
class BarrierInstruction:
    """One of them, with its operands as they are written.

    Attributes
    ----------
    name : with all that follows the dots: ``bar.red.popc.u32``.
    what : ``sync``, ``arrive`` or ``red``.
    gives : the operand in which a reduction's result comes, or nothing.
    number, threads : of the barrier; ``threads`` is "" where all threads of the block take part.
    predicate : of a reduction.
    """

    name: str
    what: str
    gives: str
    number: str
    threads: str
    predicate: str

    def text(self, number: int, threads: str) -> str:
        """The instruction at another barrier, without its semicolon."""
        operands = (self.gives, str(number), threads, self.predicate)
        return f"{self.name} {', '.join(operand for operand in operands if operand)}"


def edit_barriers(assembly: str, edit: Callable[[BarrierInstruction], str]) -> str:
    """Assembly, without escapes, with what ``edit`` gives in place of each such instruction."""
    return _INSTRUCTION.sub(lambda found: edit(_read(found)), assembly)


def _read(found: re.Match[str]) -> BarrierInstruction:
    operands = [operand.strip() for operand in found["operands"].split(",")]
    is_reduction = found["what"] == "red"
    gives = operands.pop(0) if is_reduction and operands else ""
    predicate = operands.pop() if is_reduction and operands else ""
    number, threads = (*operands, "", "")[:2]
    return BarrierInstruction(found["name"], found["what"], gives, number, threads, predicate)


def constant_operand(text: str, call: CallInstruction) -> int:
    """The number that an operand of a call of assembly is, or ``UNKNOWN``."""
    placeholder = _OPERAND.match(text)
    if not placeholder:
        return constant(text)
    results = sum(constraint.startswith("=") for constraint in call.constraints.split(","))
    index = int(placeholder[1]) - results
    return constant(call.arguments[index]) if 0 <= index < len(call.arguments) else UNKNOWN


def constant(text: str) -> int:
    """A number that is written as such, or ``UNKNOWN``."""
    return int(text) if text.isdigit() else UNKNOWN
