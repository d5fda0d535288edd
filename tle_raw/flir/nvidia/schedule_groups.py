"""Tell Triton's software pipeliner when each operation of a loop with groups runs.

The pipeliner takes a schedule from attributes: ``loop.stage`` and ``loop.cluster`` on every operation of the loop's
body, ``tt.scheduled_max_stage`` on the loop. Its own scheduler writes them from the latencies of loads; here they come
from the groups. Then it does the rest: a load that is used in a later stage becomes an asynchronous copy into a ring of
buffers, one for each stage in between, with a wait before the use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tle_raw.errors import Row, ScheduleError, SourceLocation
from tle_raw.flir.group_markers import ORDERS, STAGES, LoopSchedule
from tle_raw.flir.grouped_loops import group_places, last_place
from tle_raw.flir.loop_body import BodyOperation, LoopBody, loops, read_body
from tle_raw.flir.nvidia.label_groups import label_in, labels_of, read_attributes, without_labels
from tle_raw.flir.nvidia.mask_operations import handed_over, mask_run
from tle_raw.flir.operation_attributes import with_attributes
from tle_raw.flir.place_operations import Place, broken_need, place_operations
from tle_raw.flir.run_ahead import has_effects
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.structure import read_structure
from tle_raw.linker.mlir.text import OPERATION, location_of

_ALLOC, _PRODUCT = "ttg.local_alloc", "ttng.warp_group_dot"
# What stands around the call of a linked function; the software pipeliner has not made any of its own yet.
_OF_REGIONS = ("ttg.local_store", "ttg.local_load", "ttg.local_dealloc", "tti.", "ttg.barrier", "gpu.barrier")
_DESCRIPTOR_LOADS = ("tt.descriptor_load", "tt.descriptor_gather")
# What Triton's passes put between a value and its use: it belongs to the use, whatever it was made from.
_ON_THE_WAY = ("ttg.convert_layout", "ttg.fp4_to_fp", "tt.trans")
_VIEWS = "ttg.memdesc_"
_THROUGH_MEMORY = (_VIEWS, "ttg.local_load")


def schedule_groups(lines: Sequence[str], masks_products: bool) -> tuple[list[str], int]:
    """TritonGPU text in generic form, as it comes to the pipeliner; how many loops have a schedule from groups.

    Parameters
    ----------
    masks_products : whether the pipeliner knows how to run ``wgmma`` iterations ahead.

    Raises
    ------
    ScheduleError : a loop cannot be pipelined so.
    """
    scheduled = list(lines)
    labels = labels_of(lines)
    count = 0
    for loop in reversed(list(loops(read_structure(list(lines))))):  # inner ones first: outer ones hold their lines
        schedule = read_attributes(lines[loop.end])
        if schedule is None:
            continue
        body = read_body(loop, lines)
        places = _place(body, schedule, _groups(body, lines, labels), lines)
        _check_buffers(body, places, schedule, lines)
        _write(body, places, schedule, scheduled, masks_products)
        count += 1
    return without_labels(scheduled), count


def _groups(body: LoopBody, lines: Sequence[str], labels: Mapping[str, int]) -> dict[int, int]:
    """The group of each operation that has one, by its location."""
    groups = {}
    for number, operation in enumerate(body.operations):
        line = lines[operation.end]
        location = location_of(line)
        group = label_in(location)
        if group is None:
            group = next((labels[name] for name in re.findall(r"#loc\w*", location) if name in labels), None)
        if group is not None and not _is_on_the_way(body, number):
            groups[number] = group
    return groups


def _is_on_the_way(body: LoopBody, number: int) -> bool:
    """Whether it only hands a value on: buffers that hold one do too, and their views; those of a kernel do not."""
    operation = body.operations[number]
    if operation.name == _ALLOC:
        return bool(operation.uses)
    if operation.name.startswith(_THROUGH_MEMORY):
        makers = [need.maker for need in body.needs if need.user == number and not need.is_carried]
        return any(body.operations[maker].name.startswith((_ALLOC, _VIEWS)) for maker in makers) and any(
            _is_on_the_way(body, maker) for maker in makers
        )
    return operation.name.startswith(_ON_THE_WAY)


def _place(body: LoopBody, schedule: LoopSchedule, groups: dict[int, int], lines: Sequence[str]) -> dict[int, Place]:
    """Places that fulfil every need. What Triton's passes have merged or moved out of its group goes with its use."""
    known, last = group_places(schedule), last_place(schedule)
    fixed = {number: known[group] for number, group in groups.items()}
    while True:
        places = place_operations(body, fixed, last)
        need = broken_need(body, places)
        if need is None:
            return places
        free = [n for n in (need.maker, need.user) if n in fixed and not has_effects(body.operations[n], lines)]
        if not free:
            raise ScheduleError(
                "Triton's passes have moved a value of this loop so that its stages cannot be kept",
                hint="report this with the kernel; one stage for the two groups avoids it",
            ).at(call_site=_location(body.operations[need.user], lines))
        del fixed[free[0]]


def _check_buffers(body: LoopBody, places: Mapping[int, Place], schedule: LoopSchedule, lines: Sequence[str]) -> None:
    """Loads whose buffers the pipeliner would make too few of, and those that it cannot mask."""
    for number, operation in enumerate(body.operations):
        users = [need.user for need in body.needs if need.maker == number and not need.is_carried]
        if operation.name == _ALLOC:
            stages = {places[user].stage for user in _past_views(body, users)}
            if len(stages) > 1 and not operation.uses:
                raise handed_over().at(call_site=_location(operation, lines))
            if len(stages) > 1:
                raise ScheduleError(
                    "a product's operand that stays in shared memory is used in several stages",
                    table=[Row("stages of its uses", "one", ", ".join(map(str, sorted(stages))))],
                    hint="load it once for each of the stages",
                ).at(call_site=_location(operation, lines))
        if operation.name in _DESCRIPTOR_LOADS and places[number].stage < schedule.last_stage:
            stage = min((places[user].stage for user in users), default=places[number].stage)
            if stage == places[number].stage:
                raise ScheduleError(
                    "a load by a descriptor that is used in its own stage cannot run iterations ahead",
                    table=[Row("stage of its first use", f"after {places[number].stage}", str(stage))],
                    hint="put its use into a group of a later stage",
                ).at(call_site=_location(operation, lines))


def _past_views(body: LoopBody, users: Sequence[int]) -> set[int]:
    """The users of a buffer, and of its views in their place."""
    found: set[int] = set()
    for user in users:
        if body.operations[user].name.startswith(_VIEWS):
            found |= _past_views(body, [need.user for need in body.needs if need.maker == user])
        else:
            found.add(user)
    return found


def _write(
    body: LoopBody, places: Mapping[int, Place], schedule: LoopSchedule, lines: list[str], masks_products: bool
) -> None:
    for number, operation in enumerate(body.operations):
        stage, cluster = places[number]
        at = {"loop.stage": f"{stage} : i32", "loop.cluster": f"{cluster} : i32"}
        lines[operation.end] = with_attributes(lines[operation.end], at)
    _mask(body, places, schedule, lines, masks_products)
    last = f"{schedule.last_stage} : i32"
    stages = f"{schedule.last_stage + 1} : i32"
    lines[body.end] = with_attributes(
        lines[body.end], {STAGES: None, ORDERS: None, "tt.num_stages": stages, "tt.scheduled_max_stage": last}
    )


def _mask(
    body: LoopBody, places: Mapping[int, Place], schedule: LoopSchedule, lines: list[str], masks_products: bool
) -> None:
    """Branches around what runs ahead and cannot be masked by itself."""
    ahead = [n for n, _ in enumerate(body.operations) if places[n].stage < schedule.last_stage]
    products = [] if masks_products else [n for n in ahead if body.operations[n].name == _PRODUCT]
    calls = [n for n in ahead if _is_of_a_region(body.operations[n], lines)]
    runs = [[n] for n in products]
    for place in sorted({places[n] for n in calls}):
        first, *_, last = [n for n in calls if places[n] == place] * 2
        runs.append([n for n in range(first, last + 1) if places[n] == place])
    if not runs:
        return
    final = body.end - 1  # the loop's scf.yield
    texts = ["\n".join(lines[each.begin : each.end + 1]) for each in body.operations] + [lines[final]]
    order = list(range(len(texts)))
    for run in runs:
        stage, cluster = places[run[0]]
        try:
            mask_run(body, run, texts, order, f"loop.stage = {stage} : i32, loop.cluster = {cluster} : i32")
        except ScheduleError as error:
            raise error.at(call_site=_location(body.operations[run[0]], lines)) from None
    begin = body.operations[0].begin
    lines[begin : final + 1] = ["\n".join(texts[number] for number in order if texts[number])] + [""] * (final - begin)


def _is_of_a_region(operation: BodyOperation, lines: Sequence[str]) -> bool:
    """A call of a linked function, or what it does with its tile's buffer."""
    line = lines[operation.begin]
    if operation.name == OPERATION:
        return "pure = false" in line
    return operation.name.startswith(_OF_REGIONS) or (operation.name == _ALLOC and not operation.uses)


def _location(operation: BodyOperation, lines: Sequence[str]) -> SourceLocation:
    line = lines[operation.end]
    return Locations(list(lines)).source_location(line[line.rfind(" loc(") :].strip())
