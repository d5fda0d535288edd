"""Rectangles of cores: what host programs and plans name instead of single cores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class CoreRange:
    """A rectangle: its first core and its extent, both as (x, y)."""

    start: tuple[int, int]
    extent: tuple[int, int]

    @property
    def last(self) -> tuple[int, int]:
        return self.start[0] + self.extent[0] - 1, self.start[1] + self.extent[1] - 1

    def cores(self) -> list[tuple[int, int]]:
        """Row by row."""
        (x, y), (width, height) = self.start, self.extent
        return [(x + dx, y + dy) for dy in range(height) for dx in range(width)]


def core_ranges(cores: Iterable[tuple[int, int]]) -> list[CoreRange]:
    """Rectangles that hold each of these cores once and no other; a run within a row is made as high as it can be."""
    left = set(cores)
    found = []
    while left:
        x, y = min(left, key=lambda core: (core[1], core[0]))
        width = 1
        while (x + width, y) in left:
            width += 1
        height = 1
        while _whole_run(left, x, y + height, width):
            height += 1
        found.append(CoreRange((x, y), (width, height)))
        left.difference_update(found[-1].cores())
    return found


def _whole_run(left: set[tuple[int, int]], x: int, y: int, width: int) -> bool:
    """Whether a row holds this run, and it ends where the run does."""
    inside = all((x + step, y) in left for step in range(width))
    return inside and (x - 1, y) not in left and (x + width, y) not in left
