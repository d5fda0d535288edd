"""The loads of a loop's body first, where ``tle.range(..., reorder=True)`` asks for it.

An unrolled body loads, computes and stores for one iteration after the other. With the loads first they are under way
together; the kernel promises that none of them reads what the body stores before it. A load keeps its place behind
operations with other effects: atomics, barriers, regions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.flir.grouped_loops import GroupedLoop, grouped_loops
from tle_raw.flir.run_ahead import LOADS, has_effects
from tle_raw.linker.mlir.generic_operation import generic_name

_PASSED = "tt.store"
_VOLATILE = "isVolatile = true"


def reorder_loads(lines: Sequence[str]) -> tuple[list[str], int]:
    """The lines of Triton IR in generic form, and how many loops asked for their loads first."""
    found = [loop for loop in grouped_loops(lines) if loop.schedule.reorder]
    written = list(lines)
    for loop in found:
        _reorder(loop, written)
    return written, len(found)


def _reorder(loop: GroupedLoop, lines: list[str]) -> None:
    operations = loop.body.operations
    first = set[int]()
    for number, operation in enumerate(operations):
        if operation.begin in loop.markers:
            continue
        if operation.name in LOADS and _VOLATILE not in lines[operation.begin]:
            needed = _needed(loop, number)
            if not any(has_effects(operations[n], lines) or _is_volatile(loop, n, lines) for n in needed):
                first |= {*needed, number}
        elif has_effects(operation, lines) and not _only_stores(loop, number, lines):
            break
    if not first:
        return
    order = [*sorted(first), *(n for n in range(len(operations)) if n not in first)]
    begin = operations[0].begin
    text = [line for n in order for line in lines[operations[n].begin : operations[n].end + 1]]
    lines[begin : begin + len(text)] = text


def _needed(loop: GroupedLoop, number: int) -> set[int]:
    """What an operation needs of its own iteration, directly or not."""
    found, waiting = set[int](), [number]
    while waiting:
        user = waiting.pop()
        made = {need.maker for need in loop.body.needs if need.user == user and not need.is_carried} - found
        found |= made
        waiting += made
    return found


def _is_volatile(loop: GroupedLoop, number: int, lines: Sequence[str]) -> bool:
    operation = loop.body.operations[number]
    return any(_VOLATILE in line for line in lines[operation.begin : operation.end + 1])


def _only_stores(loop: GroupedLoop, number: int, lines: Sequence[str]) -> bool:
    operation = loop.body.operations[number]
    return operation.begin == operation.end and generic_name(lines[operation.begin]) == _PASSED
