"""Operands of a PTX instruction: registers, immediates, addresses and vectors, told apart by their tokens."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tle_raw.linker.from_ptx.read_module import split, unreadable
from tle_raw.linker.ptx.statements import PtxStatement


@dataclass(frozen=True)
class PtxInstruction:
    """One instruction: ``guard`` is the predicate's register, "" for none."""

    opcode: str
    operands: tuple[tuple[str, ...], ...]
    guard: str
    negated: bool
    line: int

    @property
    def parts(self) -> tuple[str, ...]:
        """``ld.global.f32`` is ld, global, f32."""
        return tuple(self.opcode.split("."))

    @property
    def text(self) -> str:
        """As the module spells it, for messages."""
        return f"{self.opcode} {', '.join(' '.join(operand) for operand in self.operands)}"


@dataclass(frozen=True)
class PtxAddress:
    """``[base+offset]``; the base is a register or the name of a variable."""

    base: str
    offset: int


def read_instruction(statement: PtxStatement) -> PtxInstruction:
    """The instruction of a statement."""
    tokens, guard, negated = statement.tokens, "", False
    if tokens[0] == "@":
        negated = tokens[1] == "!"
        guard, tokens = tokens[1 + negated], tokens[2 + negated :]
    if not tokens:
        raise unreadable(statement.line, "a predicate without an instruction")
    return PtxInstruction(tokens[0], tuple(split(tokens[1:])), guard, negated, statement.line)


def read_address(operand: tuple[str, ...], line: int) -> PtxAddress:
    """``[%rd1+8]``, ``[buffer]``, ``[%r2+-4]``"""
    inside = operand[1:-1]
    if operand[:1] != ("[",) or operand[-1:] != ("]",) or not inside:
        raise unreadable(line, f"an address was expected, not {' '.join(operand)}")
    sign, offset = 1, 0
    for token in inside[1:]:
        if token in "+-":
            sign = -sign if token == "-" else sign
        else:
            offset, sign = offset + sign * int(token.rstrip("U"), 0), 1
    return PtxAddress(inside[0], offset)


def vector(operand: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The elements of ``{a, b}``, or the operand itself."""
    return split(operand[1:-1]) if operand[:1] == ("{",) else [operand]


def immediate(operand: tuple[str, ...], bits: int, is_float: bool) -> int | None:
    """The bits of a constant, as an unsigned number; None where the operand is none."""
    text = "".join(operand)
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("+-").rstrip("U")
    if text[:2] in ("0f", "0F") and len(text) == 10:
        return int(text[2:], 16)
    if text[:2] in ("0d", "0D") and len(text) == 18:
        return int(text[2:], 16)
    if not text[:1].isdecimal():
        return None
    try:
        number = int(text, 8) if len(text) > 1 and text[0] == "0" and text.isdecimal() else int(text, 0)
        if is_float:
            return _float_bits(float(sign * number), bits)
        return sign * number & (1 << bits) - 1
    except ValueError:
        return _float_bits(sign * float(text), bits) if is_float else None


def _float_bits(number: float, bits: int) -> int:
    return int.from_bytes(struct.pack("<f" if bits == 32 else "<d", number), "little")
