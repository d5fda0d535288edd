"""Local memories of a DSA on the CPU: what lies in one at a time is no more than the chip's memory holds.

A buffer of ``tle.dsa`` takes its bytes from its allocation to its last use; where that stands in a loop that does not
hold the allocation, to the end of the loop. Buffers that are carried out of the block that allocates them take them all
the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import LocalMemoryError, Row
from tle_raw.flir.cpu.convert import build, types
from tle_raw.flir.cpu.convert.kernel import Kernel, location_of
from tle_raw.flir.cpu.convert.shared_buffers import NAME, element_of, shape_of
from tle_raw.flir.cpu.convert.told import is_told
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.targets.chips import aligned

SPACE, CAPACITY = "tle.dsa.space", "tle.dsa.capacity"  # of an allocation: the memory, and how many bytes that has
# What gives a buffer's content, and not its place.
_CONTENT = ("tt.load", "tt.store", "ttg.local_load", "ttg.local_store", "ttg.async_copy_global_to_local")
_CARRIES = ("scf.yield", "cf.br", "cf.cond_br", "func.return")


@dataclass(frozen=True)
class _Life:
    op: Operation
    space: str
    capacity: int
    bytes: int
    name: str
    begin: int
    end: int


def check_local_memories(kernel: Kernel) -> None:
    """All allocations that the conversion has met.

    Raises
    ------
    LocalMemoryError : some that are alive together do not fit into their memory.
    """
    functions: dict[Any, list[Operation]] = {}
    for op in kernel.local_allocations:
        functions.setdefault(_function(op), []).append(op)
    for function, allocations in functions.items():
        spans: dict[Any, tuple[int, int]] = {}
        _number(function, spans, 0)
        lives = [_life(op, spans) for op in allocations]
        for life in lives:
            _check(life, [other for other in lives if other.space == life.space and other is not life])


def _check(life: _Life, others: list[_Life]) -> None:
    beside = [other for other in others if other.begin <= life.begin < other.end]
    taken = sum(other.bytes for other in beside)
    if taken + life.bytes <= life.capacity:
        return
    called = f"the buffer `{life.name}`" if life.name else "a buffer"
    listed = ", ".join(f"{f'`{other.name}`' if other.name else 'one'} {other.bytes}" for other in beside)
    raise LocalMemoryError(
        f"{called} does not fit into {life.space}",
        table=[
            Row(f"bytes in {life.space}", f"{life.capacity - taken} left of {life.capacity}", f"{life.bytes} asked")
        ],
        hint=f"what lies there at the same time: {listed}; work on smaller tiles, in a loop",
    ).at(call_site=location_of(life.op.location))


def _function(op: Operation) -> Operation:
    while op.name != "func.func":
        op = op.parent.operation
    return op


def _number(op: Operation, spans: dict[Any, tuple[int, int]], number: int) -> int:
    """Where each operation begins and ends, counted in the order of the text."""
    begin, number = number, number + 1
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                number = _number(inner.operation, spans, number)
    spans[op] = (begin, number)
    return number


def _life(op: Operation, spans: dict[Any, tuple[int, int]]) -> _Life:
    begin, end = spans[op]
    for user in _users(op.results[0], set()):
        above = _in_block(user, op.block)
        if above is None or (above == user and user.name in _CARRIES):  # carried out of its block
            begin, end = spans[_function(op)]
            break
        end = max(end, spans[above][1])
    type_, space = op.results[0].type, str(op.attributes[SPACE].value)
    bytes_ = build.bits(types.in_memory(element_of(type_))) // 8
    for dim in shape_of(type_):
        bytes_ *= dim
    name = str(op.attributes[NAME].value) if NAME in op.attributes else ""
    return _Life(op, space, int(op.attributes[CAPACITY].value), aligned(space, bytes_), name, begin, end)


def _in_block(op: Operation, block: Any) -> Operation | None:
    """The operation of a block that is, or holds, another one; None where it stands outside."""
    while op.block != block:
        op = op.parent.operation
        if op.name == "func.func":
            return None
    return op


def _users(value: Value, seen: set[Any]) -> Iterator[Operation]:
    """Who uses a buffer, views of it, or pointers into it."""
    for use in value.uses:
        user = use.owner.operation
        if user in seen:
            continue
        seen.add(user)
        yield user
        if user.name in _CONTENT and not is_told(user):
            continue
        for result in user.results:
            yield from _users(result, seen)
