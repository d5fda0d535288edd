"""Check that the groups of a pipelined loop can run in the stages that ``tle.range`` gives them.

Triton's pipeliner would leave such a loop half changed, or end the process.
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.errors import Row, ScheduleError, SourceLocation, TLEError
from tle_raw.flir.grouped_loops import GroupedLoop, group_places, grouped_loops, marker
from tle_raw.flir.loop_body import Need
from tle_raw.flir.place_operations import Place, broken_need, place_operations
from tle_raw.flir.run_ahead import BRANCH, has_effects, is_region, may_run_ahead
from tle_raw.linker.mlir.locations import Locations

_SHOWN = 60


def check_groups(lines: Sequence[str]) -> int:
    """Check every marked loop of a module in generic form; how many loops have groups in stages on the same warps.

    Raises
    ------
    ScheduleError : a value is needed before its group has run, an operation cannot run ahead in its stage, or one with
        effects stands in no group.
    """
    checked = [loop for loop in grouped_loops(lines) if loop.schedule.stages and not loop.schedule.executors]
    for loop in checked:
        check_loop(loop, lines)
    return len(checked)


def check_loop(loop: GroupedLoop, lines: Sequence[str]) -> None:
    """Check one loop, as ``check_groups`` does."""
    locations = Locations(list(lines))

    def where(number: int) -> SourceLocation:
        return _location(lines[loop.body.operations[number].end], locations)

    latest = Place(0, 0)  # of what keeps its order
    for number, operation in enumerate(loop.body.operations):
        if operation.begin in loop.markers or not has_effects(operation, lines):
            continue
        if number not in loop.groups:
            raise ScheduleError(
                f"{operation.name} stands outside of the groups of its loop: nothing says when it runs",
                hint="put it into a `with tle.pipeline_group(i):` of the loop",
            ).at(call_site=where(number))
        if not may_run_ahead(operation, lines):
            if not is_region(operation, lines):
                _check_last(loop, number, where(number))
            place = loop.fixed[number]
            if place < latest:
                raise ScheduleError(
                    f"the schedule puts {operation.name} before an operation that it follows in the kernel: shared "
                    "buffers, barriers and regions keep their order",
                    hint="give the groups stages and orders that do not fall from one to the next",
                ).at(call_site=where(number))
            latest = place
    if loop.schedule.last_stage and loop.body.strays:
        raise ScheduleError(
            "a variable of this loop is older than one iteration where it is used, or gets a value that the loop does "
            "not make: Triton's pipeliner takes neither",
            hint="load or compute it again, or leave pipe_stages out",
        ).at(call_site=_location(lines[loop.body.end], locations))
    places = place_operations(loop.body, loop.fixed, loop.last)
    need = broken_need(loop.body, places)
    if need is not None:
        raise _broken(loop, need, places, lines, locations)


def _check_last(loop: GroupedLoop, number: int, where: SourceLocation) -> None:
    group = loop.groups[number]
    stage, last = loop.schedule.stages[group], loop.schedule.last_stage
    if stage != last:
        name = loop.body.operations[number].name
        raise ScheduleError(
            f"{name} cannot run iterations ahead: it would run for iterations that never come",
            table=[Row(f"stage of group {group}", str(last), str(stage))],
            hint="put it into a group of the last stage"
            + (", or what it loads, stores and calls into its first branch, masked" if name == BRANCH else ""),
        ).at(call_site=where)


def _broken(
    loop: GroupedLoop, need: Need, places: dict[int, Place], lines: Sequence[str], locations: Locations
) -> TLEError:
    def what(number: int) -> str:
        group = loop.groups.get(number)
        if group is None:  # computed for whatever needs it first
            known = group_places(loop.schedule)
            group = known.index(places[number]) if places[number] in known else None
        named = "what stands outside of groups" if group is None else f"group {group}"
        schedule = loop.schedule
        said = f" (stage {schedule.stages[group]}, order {schedule.orders[group]})" if group is not None else ""
        return named + said

    maker, user = (_location(lines[loop.body.operations[n].end], locations) for n in (need.maker, need.user))
    iteration = "of the iteration before" if need.is_carried else "of the same iteration"
    return ScheduleError(
        f"{what(need.user)} needs a value of {what(need.maker)} {iteration}, which runs later",
        table=[Row("the value is made", "before it is needed", f"{maker}: {maker.text.strip()[:_SHOWN]}")],
        hint="stages do not fall along the way of a value, nor do orders within a stage; a value of the iteration "
        "before may come from one stage later"
        if need.is_carried
        else "stages do not fall along the way of a value, nor do orders within a stage",
    ).at(call_site=user)


def _location(line: str, locations: Locations) -> SourceLocation:
    start = line.rfind(" loc(")
    return locations.source_location(line[start:].strip()) if start >= 0 else SourceLocation("<kernel>", 0)


def without_markers(lines: Sequence[str]) -> list[str]:
    """The lines of a module in generic form without the markers of ``tle.range``."""
    return [line for line in lines if not marker(line)[0]]
