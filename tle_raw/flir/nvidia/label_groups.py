"""In place of the markers of ``tle.range``: attributes of the loop, and locations of its operations.

A location is what every pass keeps that rewrites an operation. The loop keeps the stages and orders as attributes, and
one stage for Triton's own scheduler, which so leaves it alone. Its loads lose what ``tle.load`` notes for that
scheduler: the groups say how far ahead they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.errors import SourceLocation
from tle_raw.flir.check_groups import without_markers
from tle_raw.flir.early_loads import EARLY
from tle_raw.flir.group_markers import GROUP, ORDERS, STAGES, LoopSchedule
from tle_raw.flir.grouped_loops import GroupedLoop, grouped_loops
from tle_raw.flir.operation_attributes import with_attributes
from tle_raw.flir.place_operations import place_operations
from tle_raw.linker.mlir.generic_operation import generic_name, read_generic
from tle_raw.linker.mlir.locations import Locations

_NUM_STAGES = "tt.num_stages"
_SCHEDULED = "tt.scheduled_max_stage"
_LABEL = re.compile(r'"tle\.group\.(\d+)"\(')
_LABEL_OF_BLOCK = "^"
_LABELLED = re.compile(r' = loc\("tle\.group\.\d+"\((.*)\)\)$')


def label_groups(lines: Sequence[str]) -> tuple[list[str], int]:
    """The lines of Triton IR in generic form without markers, and how many loops have several stages.

    One stage needs no pipeliner: the groups of such a loop are put into their order here.
    """
    labelled = list(lines)
    found = [loop for loop in grouped_loops(lines) if loop.schedule.stages]
    aliases: dict[str, str] = {}
    for loop in found:
        _note(loop, labelled)
        if loop.schedule.last_stage:
            _label(loop, labelled, aliases)
    for loop in found:
        if not loop.schedule.last_stage:
            _put_in_order(loop, labelled)
    defined = [f"{name} = {text}" for name, text in aliases.items()]
    return [*without_markers(labelled), *defined], sum(loop.schedule.last_stage > 0 for loop in found)


def _note(loop: GroupedLoop, lines: list[str]) -> None:
    """Triton's scheduler leaves the loop alone."""
    lines[loop.body.end] = with_attributes(lines[loop.body.end], {_NUM_STAGES: "1 : i32"})
    for operation in loop.body.operations:
        line = lines[operation.begin]
        if EARLY in line and generic_name(line) == "tt.load":
            lines[operation.begin] = str(read_generic(line).without_attribute(EARLY))


def _put_in_order(loop: GroupedLoop, lines: list[str]) -> None:
    body = loop.body
    places = place_operations(body, loop.fixed, loop.last)
    order = sorted(range(len(body.operations)), key=lambda number: (places[number], number))
    begin = body.operations[0].begin
    text = [line for n in order for line in lines[body.operations[n].begin : body.operations[n].end + 1]]
    lines[begin : begin + len(text)] = text


def _label(loop: GroupedLoop, lines: list[str], aliases: dict[str, str]) -> None:
    for number, operation in enumerate(loop.body.operations):
        for index in range(operation.begin, operation.end + 1):
            if number in loop.groups and not lines[index].lstrip().startswith(_LABEL_OF_BLOCK):
                lines[index] = _with_label(lines[index], loop.groups[number], aliases)
    schedule = loop.schedule
    lines[loop.body.end] = with_attributes(
        lines[loop.body.end], {STAGES: _array(schedule.stages), ORDERS: _array(schedule.orders)}
    )


def _array(numbers: Sequence[int]) -> str:
    return f"array<i32: {', '.join(map(str, numbers))}>"


def _with_label(line: str, group: int, aliases: dict[str, str]) -> str:
    """A line whose location names the group. An alias may name what the text defines later, a nested location not."""
    start = line.rfind(" loc(")
    if start < 0:
        return line
    inside = line[start + len(" loc(") : -1]
    label = f'"{GROUP}{group}"({inside})'
    if inside.startswith("#loc"):
        name = f"#loc_group{group}_{inside.removeprefix('#')}"
        aliases[name] = f"loc({label})"
        label = name
    return f"{line[:start]} loc({label})"


def without_labels(lines: Sequence[str]) -> list[str]:
    """The lines of a module whose locations name no groups any more."""
    return [_LABELLED.sub(r" = loc(\1)", line) if line.startswith("#loc") else line for line in lines]


def labels_of(lines: Sequence[str]) -> dict[str, int]:
    """The group that each alias of a location names, of a module in generic form."""
    texts = dict(_alias(line) for line in lines if line.startswith("#loc"))
    found: dict[str, int] = {}

    def group(name: str, depth: int = 0) -> int | None:
        if name not in found:
            label = label_in(texts.get(name, ""))
            inner = re.findall(r"#loc\w*", texts.get(name, "")) if label is None and depth < len(texts) else ()
            label = next((g for other in inner if (g := group(other, depth + 1)) is not None), label)
            if label is None:
                return None
            found[name] = label
        return found[name]

    for name in texts:
        group(name)
    return found


def label_in(text: str) -> int | None:
    """The group that a location's text names itself."""
    match = _LABEL.search(text)
    return int(match[1]) if match else None


def _alias(line: str) -> tuple[str, str]:
    name, _, text = line.partition(" = ")
    return name, text


def first_loop(text: str) -> SourceLocation | None:
    """Where the first loop stands whose groups run in stages, of a module's text."""
    lines = text.splitlines()
    line = next((line for line in lines if STAGES in line or _SCHEDULED in line), "")
    start = line.rfind(" loc(")
    return Locations(lines).source_location(line[start:].strip()) if start >= 0 else None


def read_attributes(line: str) -> LoopSchedule | None:
    """The schedule that a loop's last line carries."""
    stages, orders = (_numbers(line, name) for name in (STAGES, ORDERS))
    return LoopSchedule(stages, orders) if stages else None


def _numbers(line: str, name: str) -> tuple[int, ...]:
    match = re.search(rf"{re.escape(name)} = array<i32: ([\d, ]+)>", line)
    return tuple(int(number) for number in match[1].split(",")) if match else ()
