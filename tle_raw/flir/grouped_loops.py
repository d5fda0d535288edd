"""The loops of a module that ``tle.range`` has marked, with the group of each operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.flir.group_markers import BEGIN, END, LOOP, LoopSchedule, read_schedule
from tle_raw.flir.loop_body import BodyOperation, LoopBody, loops, read_body
from tle_raw.flir.place_operations import Place
from tle_raw.linker.mlir.structure import read_structure
from tle_raw.linker.mlir.text import OPERATION, read_operation

_OURS = (LOOP, BEGIN, END)


@dataclass(frozen=True)
class GroupedLoop:
    """A marked loop.

    Attributes
    ----------
    groups : the group of each operation of the body that stands in one, by the operation's place.
    markers : the lines of its markers.
    """

    body: LoopBody
    schedule: LoopSchedule
    groups: dict[int, int]
    markers: frozenset[int]

    @property
    def fixed(self) -> dict[int, Place]:
        """The places that the groups give to their operations."""
        places = group_places(self.schedule)
        return {number: places[group] for number, group in self.groups.items()}

    @property
    def last(self) -> Place:
        """The end of the last stage."""
        return last_place(self.schedule)


def group_places(schedule: LoopSchedule) -> list[Place]:
    """The place of each group."""
    return [Place(stage, cluster) for stage, cluster in zip(schedule.stages, schedule.clusters())]


def last_place(schedule: LoopSchedule) -> Place:
    """The end of the last stage: where values go that no iteration needs."""
    return max(place for place in group_places(schedule) if place.stage == schedule.last_stage)


def grouped_loops(lines: Sequence[str]) -> list[GroupedLoop]:
    """The marked loops of a module in generic form, outer ones first. An unrolled body is marked several times."""
    if not any(LOOP in line for line in lines):
        return []
    bodies = (read_body(loop, lines) for loop in loops(read_structure(list(lines))))
    return [found for body in bodies if (found := _grouped(body, lines)) is not None]


def marker(line: str) -> tuple[str, str]:
    """Which marker a line holds, and its text; ``("", "")`` for every other line."""
    if OPERATION not in line or not any(f'symbol = "{name}"' in line for name in _OURS):
        return "", ""
    operation = read_operation(line)
    return operation.attribute("symbol"), operation.attribute("libname")


def _grouped(body: LoopBody, lines: Sequence[str]) -> GroupedLoop | None:
    schedule, group = None, None
    groups: dict[int, int] = {}
    markers = set()
    for number, operation in enumerate(body.operations):
        symbol, text = _marker_of(operation, lines)
        if symbol:
            markers.add(operation.begin)
        if symbol == LOOP:
            schedule = read_schedule(text)
        elif symbol == BEGIN:
            group = int(text)
        elif symbol == END:
            group = None
        elif group is not None:
            groups[number] = group
    return GroupedLoop(body, schedule, groups, frozenset(markers)) if schedule is not None else None


def _marker_of(operation: BodyOperation, lines: Sequence[str]) -> tuple[str, str]:
    return marker(lines[operation.begin]) if operation.begin == operation.end else ("", "")
