"""Puts exact divisions that stand in a row next to what uses each of them, in PTX.

ptxas makes a branch of an exact division or square root, and moves nothing across a branch. Where a loop divides and
the next one stores, as in the end of an attention kernel, LLVM leaves all divisions before all stores: the stores of
a block then leave in one burst, and the block waits for them. nvcc puts each division before its own store.

What it pays was not measured alone. ``samples/benchmarks/tilelang_regions.py`` measures TileLang's kernels, for which
it was written, with all passes: of TileLang's own time on an H200, GEMM takes 0.998, attention 0.967 and MLA decode
0.946 (RESULTS.md, Triton 3.6.0).
``TLE_RAW_DISABLE_PASSES=spread-divisions`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_DIVISION = re.compile(
    r"^\s*(?:div|rcp|sqrt)\.rn(?:\.ftz)?\.f(?:32|64)\s+(?P<result>%\w+), (?P<operands>[^;]*);\s*(?://.*)?$"
)
_REGISTER = re.compile(r"%[a-z]+\d+")
_TARGETS = re.compile(r"^\s*(?:@!?%\w+\s+)?[\w.:]+\s+(\{[^}]*\}|[^,;]*)")
# Where control flow may come in or go out: what stands behind is another straight line.
_BORDER = re.compile(r"^\s*(?:(?!\$L__tmp)[$\w]+:|(?:@!?%\w+\s+)?(?:bra|brx|ret|exit|trap)\b|\{$|\})")
_BEGIN_ASSEMBLY, _END_ASSEMBLY = "// begin inline asm", "// end inline asm"


@dataclass
class _Statement:
    """Lines ``first`` to ``last``, which are one instruction, or one piece of somebody's own assembly."""

    first: int
    last: int
    text: str
    place: str  # the debug line that holds here
    own_assembly: bool

    def uses(self, register: str) -> bool:
        return register in _REGISTER.findall(self.text)

    def may_write(self, registers: set[str]) -> bool:
        text = self.text
        if not self.own_assembly:
            found = _TARGETS.match(text)
            text = found[1] if found else text
        return not registers.isdisjoint(_REGISTER.findall(text))


def spread_divisions(text: str) -> str:
    """The PTX with each division moved down to its first use, where a straight line holds several."""
    if sum(map(text.count, ("div.rn", "rcp.rn", "sqrt.rn"))) < 2:
        return text
    lines = text.split("\n")
    before: dict[int, list[str]] = {}
    moved: set[int] = set()
    for straight in _straight_lines(lines):
        for index, statement in enumerate(straight):
            if (division := _DIVISION.match(statement.text)) and (use := _first_use(straight, index, division)):
                moved.add(statement.first)
                before.setdefault(use.first, []).extend(
                    [line for line in (statement.place, lines[statement.first], use.place) if line]
                )
    result: list[str] = []
    for number, line in enumerate(lines):
        result += before.get(number, ())
        if number not in moved:
            result.append(line)
    return "\n".join(result)


def _first_use(straight: list[_Statement], index: int, division: re.Match[str]) -> _Statement | None:
    """Where the division may go."""
    operands = {division["result"], *_REGISTER.findall(division["operands"])}
    for distance, later in enumerate(straight[index + 1 :]):
        if later.uses(division["result"]):
            return later if distance else None
        if later.may_write(operands):
            return None
    return None


def _straight_lines(lines: list[str]) -> Iterator[list[_Statement]]:
    """The statements between borders that hold a division."""
    found: list[_Statement] = []
    divisions, place, number = 0, "", 0
    while number < len(lines):
        line, first = lines[number], number
        stripped = line.lstrip()
        if stripped.startswith(_BEGIN_ASSEMBLY):
            while not lines[number].lstrip().startswith(_END_ASSEMBLY):
                number += 1
            found.append(_Statement(first, number, "\n".join(lines[first:number]), place, True))
        elif stripped.startswith("{ // callseq"):  # the parameters of a call, and the call
            while not lines[number].lstrip().startswith("}"):
                number += 1
            found.append(_Statement(first, number, "\n".join(lines[first:number]), place, True))
        elif stripped.startswith("{ "):  # LLVM's own pieces of several instructions, in one line
            found.append(_Statement(first, first, line, place, True))
        elif stripped.startswith(".loc"):
            place = line
        elif _BORDER.match(line):
            if divisions > 1:
                yield found
            found, divisions = [], 0
        elif stripped and not stripped.startswith(("//", ".", "$L__tmp")):
            found.append(_Statement(first, first, line, place, False))
            divisions += _DIVISION.match(line) is not None
        number += 1
    if divisions > 1:
        yield found
