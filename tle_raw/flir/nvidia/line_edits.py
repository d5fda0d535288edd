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

    def insert(self, number: int, side: str, operation: str, end: int | None = None) -> None:
        """``end`` is the last line of the neighbour, where that is another one: its location stands there."""
        made = operation + location_of(self.lines[number if end is None else end])
        (self.before if side == BEFORE else self.after).setdefault(number, []).append(made)

    def replace(self, number: int, lines: list[str]) -> None:
        self.instead[number] = lines

    def text(self) -> str:
        made, end = list[str](), 0
        for number in sorted({*self.before, *self.instead, *self.after}):
            made += self.lines[end:number]
            made += self.before.get(number, ())
            made += self.instead.get(number, (self.lines[number],))
            made += self.after.get(number, ())
            end = number + 1
        return "\n".join((*made, *self.lines[end:]))
