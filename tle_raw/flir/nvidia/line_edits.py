"""Edits of a module's lines that wait until all of them are known, so that the lines keep their numbers meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.flir.nvidia.barrier_walk import BEFORE
from tle_raw.linker.mlir.text import location_of


class LineEdits:
    """Of lines; what is inserted takes over the place of its neighbour in the user's text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.instead: dict[int, list[str]] = {}

    def insert(self, number: int, side: str, operation: str) -> None:
        made = operation + location_of(self.lines[number])
        (self.before if side == BEFORE else self.after).setdefault(number, []).append(made)

    def replace(self, number: int, lines: list[str]) -> None:
        self.instead[number] = lines

    def text(self) -> str:
        edited = {*self.before, *self.instead, *self.after}
        made: list[str] = []
        for number, line in enumerate(self.lines):
            if number in edited:
                made += self.before.get(number, ())
                made += self.instead.get(number, (line,))
                made += self.after.get(number, ())
            else:
                made.append(line)
        return "\n".join(made)
