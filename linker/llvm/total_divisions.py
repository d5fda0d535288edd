"""Integer divisions that end no process: by zero, and of the lowest number by -1, they give what a GPU gives.

A processor's division instruction ends the process there. PTX leaves the value open; NVIDIA's code for it, which
ptxas 12 writes for 16, 32 and 64 bits on sm_80 and sm_90, gives a number with all bits set for a division by zero,
quotient and remainder alike, and of the lowest number by -1 that number, with the remainder 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tle_raw.linker.llvm.text import Edit, Module, tokenize
from tle_raw.linker.llvm.types import Cursor, Type

_DIVISION = re.compile(
    r"^(?P<indent>[ \t]+)(?P<name>%(?:\"[^\"\n]*\"|\S+)) = (?P<op>[su](?:div|rem)) (?P<rest>[^\n]+)$", re.MULTILINE
)


@dataclass(frozen=True)
class Division:
    """One instruction of a module's text; ``rest`` is what follows the divisor, as ``, !dbg !12``."""

    start: int
    end: int
    indent: str
    name: str
    op: str
    exact: str
    type: Type
    dividend: str
    divisor: str
    rest: str

    @property
    def is_signed(self) -> bool:
        """Whether the division is of signed numbers."""
        return self.op.startswith("s")

    @property
    def bit(self) -> str:
        """The type of a comparison's result."""
        return f"<{self.type.count} x i1>" if self.type.kind == "vector" else "i1"

    def constant(self, number: int) -> str:
        """A number of the division's type."""
        return f"splat ({self.type.elements[0]} {number})" if self.type.kind == "vector" else str(number)

    def beside(self, suffix: str) -> str:
        """Another value's name: numbered values must stay in order, named ones need not."""
        return f'%"tle.{self.name[1:].strip(chr(34))}.{suffix}"'


def total_divisions(module: Module) -> Module:
    """The module with each division that may trap between a test of its operands and the choice of its result."""
    return module.edited(Edit(d.start, d.end, _total(d)) for d in divisions(module.text))


def divisions(text: str, start: int = 0, end: int | None = None) -> Iterator[Division]:
    """The integer divisions whose divisor is not a constant that every number can be divided by."""
    for match in _DIVISION.finditer(text, start, len(text) if end is None else end):
        division = _read(match)
        if not re.fullmatch(r"[1-9]\d*|-[2-9]|-[1-9]\d+", division.divisor):
            yield division


def _read(match: re.Match[str]) -> Division:
    line = match["rest"]
    cursor = Cursor(line, list(tokenize(line)))
    exact = "exact " if cursor.sees("exact") else ""
    if exact:
        cursor.take()
    kind, dividend = cursor.read_type(), _operand(cursor)
    cursor.take(",")
    divisor = _operand(cursor)
    rest = line[cursor.tokens[cursor.index - 1].end :]
    return Division(
        match.start(), match.end(), match["indent"], match["name"], match["op"], exact, kind, dividend, divisor, rest
    )


def _operand(cursor: Cursor) -> str:
    start = cursor.tokens[cursor.index].start
    while cursor.current is not None and not cursor.sees(","):
        cursor.skip_group()
    return cursor.text[start : cursor.tokens[cursor.index - 1].end]


def _total(d: Division) -> str:
    lines = _signed(d) if d.is_signed else _unsigned(d)
    return "\n".join(f"{d.indent}{line}{d.rest}" for line in lines)


def _unsigned(d: Division) -> Iterator[str]:
    zero, raw = d.beside("zero"), d.beside("result")
    yield f"{zero} = icmp eq {d.type} {d.divisor}, {d.constant(0)}"
    yield from _divided(d, zero)
    yield f"{d.name} = select {d.bit} {zero}, {d.type} {d.constant(-1)}, {d.type} {raw}"


def _signed(d: Division) -> Iterator[str]:
    """One test for 0 and -1 together: by -1 every number has its negative, and no remainder."""
    next_, few, zero, other, raw = map(d.beside, ("next", "few", "zero", "other", "result"))
    yield f"{next_} = add {d.type} {d.divisor}, {d.constant(1)}"
    yield f"{few} = icmp ult {d.type} {next_}, {d.constant(2)}"
    yield from _divided(d, few)
    yield f"{zero} = icmp eq {d.type} {d.divisor}, {d.constant(0)}"
    if d.op == "sdiv":
        yield f"{d.beside('negative')} = sub {d.type} {d.constant(0)}, {d.dividend}"
        yield f"{other} = select {d.bit} {zero}, {d.type} {d.constant(-1)}, {d.type} {d.beside('negative')}"
    else:
        yield f"{other} = sext {d.bit} {zero} to {d.type}"
    yield f"{d.name} = select {d.bit} {few}, {d.type} {other}, {d.type} {raw}"


def _divided(d: Division, trap: str) -> Iterator[str]:
    """The division by 1 where it might trap."""
    safe = d.beside("divisor")
    yield f"{safe} = select {d.bit} {trap}, {d.type} {d.constant(1)}, {d.type} {d.divisor}"
    yield f"{d.beside('result')} = {d.op} {d.exact}{d.type} {d.dividend}, {safe}"


def tests(d: Division) -> Iterator[str]:
    """Whether the divisor is zero, in ``zero``; for signed numbers also whether the division traps, in ``trap``."""
    yield f"{d.beside('zero')} = icmp eq {d.type} {d.divisor}, {d.constant(0)}"
    if d.is_signed:
        bits = int(str(d.type.elements[0] if d.type.kind == "vector" else d.type)[1:])
        yield f"{d.beside('negative')} = icmp eq {d.type} {d.divisor}, {d.constant(-1)}"
        yield f"{d.beside('lowest')} = icmp eq {d.type} {d.dividend}, {d.constant(-(1 << (bits - 1)))}"
        yield f"{d.beside('overflow')} = and {d.bit} {d.beside('negative')}, {d.beside('lowest')}"
        yield f"{d.beside('trap')} = or {d.bit} {d.beside('zero')}, {d.beside('overflow')}"
