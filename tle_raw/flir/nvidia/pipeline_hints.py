"""Loops with regions that are called with ``hint="pipeline"``: groups in stages, where the kernel gives none.

Such a region is a producer: it runs ahead of what uses its tiles. A loop whose stages Triton would choose by itself
gets them here, by the markers that ``tle.range`` writes: loads in the first stage, the region in the last but one, and
all else in the last. What a later iteration's region makes is then under way while this iteration's tiles are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tle_raw.errors import ScheduleError, SourceLocation
from tle_raw.flir.check_groups import check_loop
from tle_raw.flir.group_markers import BEGIN, END, LOOP, LoopSchedule
from tle_raw.flir.grouped_loops import grouped_loops, marker
from tle_raw.flir.loop_body import LoopBody, Need, loops, read_body
from tle_raw.flir.nvidia.ring_buffers import with_ring
from tle_raw.flir.run_ahead import AHEAD, LOADS, has_effects, is_region
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.structure import read_structure
from tle_raw.linker.mlir.text import OPERATION, location_of, read_operation
from tle_raw.regions.ports import CALL, DESCRIPTOR_NOTE, OUT, PIPELINE, RegionRecord, record_from_text

_STAGES = re.compile(r"tt\.num_stages = (\d+) : i32")
_HINTS = tuple(f"{quote}hint{quote}:{quote}{PIPELINE}{quote}" for quote in ("\\22", '\\"', '"'))
_PRODUCTS = ("tt.dot", "tt.dot_scaled")
_LOADING, _PRODUCING, _USING = range(3)  # the groups


@dataclass(frozen=True)
class UnheardHint:
    """A hint that has no effect: why, and where the region is called."""

    reason: str
    hint: str
    call_site: SourceLocation | None

    def __str__(self) -> str:
        where = f"{self.call_site}: " if self.call_site else ""
        return f'{where}hint="{PIPELINE}" has no effect: {self.reason}' + (f"; {self.hint}" if self.hint else "")


def holds_hints(text: str) -> bool:
    """Whether a region of a module's text is called with the hint."""
    return any(hint in text for hint in _HINTS)


def group_hinted_loops(lines: Sequence[str], num_stages: int) -> tuple[list[str], int, list[UnheardHint]]:
    """Triton IR in generic form with markers of groups; how many loops got them; and the hints without effect.

    Parameters
    ----------
    num_stages : of loops that do not say it themselves.
    """
    found, unheard, seen = list(lines), list[UnheardHint](), 0
    grouped = 0
    for line in _outside(lines):
        reason = "the region stands in no loop, or in a branch within it"
        unheard.append(UnheardHint(reason, "", _location(line, lines)))
    while True:
        waiting = [body for body in _bodies(found) if _calls(body, found) and not _is_marked(body, found)]
        if seen >= len(waiting):
            return found, grouped, unheard
        body = waiting[seen]
        try:
            candidate = _with_markers(body, found, num_stages)
            (loop,) = (each for each in grouped_loops(candidate) if each.body.begin == body.begin)
            check_loop(loop, candidate)
        except ScheduleError as error:
            seen += 1
            call = body.operations[_calls(body, found)[0]].begin
            unheard.append(UnheardHint(error.message, error.hint, _location(found[call], found)))
            continue
        found, grouped = candidate, grouped + 1


def _bodies(lines: Sequence[str]) -> list[LoopBody]:
    return [read_body(loop, lines) for loop in loops(read_structure(list(lines)))]


def _record(line: str) -> RegionRecord | None:
    """Of a region's call."""
    if OPERATION not in line or f'symbol = "{CALL}"' not in line:
        return None
    return record_from_text(read_operation(line).attribute("libname"), SourceLocation("<kernel>", 0))


def _calls(body: LoopBody, lines: Sequence[str]) -> list[int]:
    """The hinted calls that stand directly in a loop's body."""
    found = []
    for number, operation in enumerate(body.operations):
        record = _record(lines[operation.begin]) if operation.begin == operation.end else None
        if record is not None and record.hint == PIPELINE:
            found.append(number)
    return found


def _outside(lines: Sequence[str]) -> list[str]:
    inside = {body.operations[n].begin for body in _bodies(lines) for n in _calls(body, lines)}
    return [
        line
        for number, line in enumerate(lines)
        if number not in inside and holds_hints(line) and (_record(line) is not None)
    ]


def _is_marked(body: LoopBody, lines: Sequence[str]) -> bool:
    return any(marker(lines[operation.begin])[0] == LOOP for operation in body.operations)


def _with_markers(body: LoopBody, lines: Sequence[str], num_stages: int) -> list[str]:
    told = _STAGES.search(lines[body.end])
    stages = int(told[1]) if told else num_stages
    if stages < 2:
        raise ScheduleError("its loop has one stage", hint="tl.range(..., num_stages=2) gives it two")
    body, lines = _with_rings(body, lines)
    groups = _groups(body, lines, is_told=told is not None)
    has_loads = _LOADING in groups.values()
    last = stages - 1 if has_loads else 1
    schedule = LoopSchedule((0, last - 1, last), (0, 1, 2))
    first = body.operations[0].begin
    location = location_of(lines[first])
    write = _Marker(f"%tle_hint_{body.begin}", location)
    found = list(lines)
    for number, group in groups.items():
        operation = body.operations[number]
        found[operation.begin] = f"{write(BEGIN, str(group))}\n{found[operation.begin]}"
        found[operation.end] = f"{found[operation.end]}\n{write(END, str(group))}"
    found[first] = f"{write.number()}\n{write(LOOP, schedule.to_text())}\n{found[first]}"
    return "\n".join(found).splitlines()


def _with_rings(body: LoopBody, lines: Sequence[str]) -> tuple[LoopBody, Sequence[str]]:
    """With a slot for each iteration of the kernel's buffers that the hinted regions fill."""
    for call in _calls(body, lines):
        record = _record(lines[body.operations[call].begin])
        assert record is not None
        for number, parameter in enumerate(record.bound.parameters):
            if not parameter.is_in_place:
                continue
            if parameter.is_barrier or parameter.effect != "Out":
                raise ScheduleError(
                    f"the region reads or counts in the kernel's shared memory: `{parameter.name}`",
                    hint="only a Buffer that is Out gets a slot for each iteration",
                )
            call = next(n for n in _calls(body, lines) if _record(lines[body.operations[n].begin]) == record)
            port = next(
                operation
                for operation in body.operations[call + 1 :]
                if operation.name == OPERATION and f'symbol = "{OUT}.{number}"' in lines[operation.begin]
            )
            lines = with_ring(body, lines, port.result, parameter.name)
            body = next(each for each in _bodies(lines) if each.begin == body.begin)
    return body, lines


def _groups(body: LoopBody, lines: Sequence[str], is_told: bool) -> dict[int, int]:
    """The group of each operation that has one; what has none belongs to whatever needs it first."""
    regions = _regions(body, lines)
    readers = _readers(body, lines)
    users = _closure(regions | readers, body.needs, lambda need: (need.maker, need.user), carried=False) | readers
    users -= regions
    if not users:
        raise ScheduleError("nothing in the loop uses the region's tiles in the same iteration")
    producing = regions | _closure(regions, body.needs, lambda need: (need.user, need.maker), carried=False)
    loading = {
        number
        for number, operation in enumerate(body.operations)
        if operation.name in LOADS
        and number not in users | regions
        and (is_told or number in producing or _feeds_product(number, body))
    }
    ahead = producing | loading
    ahead |= _closure(ahead, body.needs, lambda need: (need.user, need.maker), carried=True, not_into=users - producing)
    groups = {}
    for number, operation in enumerate(body.operations):
        if number in regions:
            groups[number] = _PRODUCING
        elif number in loading:
            groups[number] = _LOADING
        elif number not in ahead or has_effects(operation, lines):
            groups[number] = _USING
    return groups


def _regions(body: LoopBody, lines: Sequence[str]) -> set[int]:
    """The hinted regions' operations: ports, calls, and the loads that stand for descriptors."""
    found: set[int] = set()
    waiting: set[int] = set()
    hinted, current = set(_calls(body, lines)), False
    for number, operation in enumerate(body.operations):
        if not is_region(operation, lines):
            continue
        if operation.name != OPERATION:  # the store into a slot
            found |= {number} if current else set()
            continue
        symbol = read_operation(lines[operation.begin]).attribute("symbol")
        if symbol == CALL:
            current = number in hinted
            found |= waiting | {number} if current else set()
            waiting = set()
        elif symbol.startswith(OUT):
            found |= {number} if current else set()
        else:
            waiting.add(number)
    note = f'tle.note = "{DESCRIPTOR_NOTE}"'
    makers = {need.maker for need in body.needs if need.user in found and not need.is_carried}
    return found | {number for number in makers if note in lines[body.operations[number].begin]}


def _readers(body: LoopBody, lines: Sequence[str]) -> set[int]:
    """What uses a slot that a region fills: no value tells of it."""
    found: set[int] = set()
    for number, operation in enumerate(body.operations):
        if operation.name != "ttg.local_store" or AHEAD not in lines[operation.begin]:
            continue
        slot = read_generic(lines[operation.begin]).operands[1]
        behind = range(number + 1, len(body.operations))
        found |= {other for other in behind if slot in body.operations[other].uses}
    return found


def _closure(
    start: Iterable[int],
    needs: Sequence[Need],
    direction: Callable[[Need], tuple[int, int]],
    carried: bool,
    not_into: Iterable[int] = (),
) -> set[int]:
    """What is reached along the needs; those of the iteration before too, where ``carried``."""
    found, border = set[int](), set(not_into)
    waiting = list(start)
    while waiting:
        here = waiting.pop()
        for need in needs:
            origin, target = direction(need)
            if origin == here and target not in found | border and (carried or not need.is_carried):
                found.add(target)
                waiting.append(target)
    return found


def _feeds_product(number: int, body: LoopBody) -> bool:
    reached = _closure([number], body.needs, lambda need: (need.maker, need.user), carried=False)
    return any(body.operations[n].name in _PRODUCTS for n in reached)


class _Marker:
    """Writes markers under names of their own."""

    def __init__(self, name: str, location: str) -> None:
        self.name, self.location, self.count = name, location, 0

    def number(self) -> str:
        """The operand of all markers."""
        return f'{self.name} = "arith.constant"() <{{value = 0 : i32}}> : () -> i32{self.location}'

    def __call__(self, symbol: str, text: str) -> str:
        self.count += 1
        properties = f'libname = "{text.replace(chr(34), chr(92) + "22")}", libpath = "", pure = false'
        head = f'{self.name}_{self.count} = "{OPERATION}"({self.name})'
        return f'{head} <{{{properties}, symbol = "{symbol}"}}> : (i32) -> i32{self.location}'


def _location(line: str, lines: Sequence[str]) -> SourceLocation | None:
    start = line.rfind(" loc(")
    return Locations(list(lines)).source_location(line[start:].strip()) if start >= 0 else None
