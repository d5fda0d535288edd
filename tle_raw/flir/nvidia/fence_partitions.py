"""What threads of one partition did to buffers, before another partition's copies and products touch them.

The copy engine and tensor cores reach shared memory by another way than threads do (the asynchronous proxy). Within
one piece of code Triton sees both sides and puts a fence between them. Of partitions it sees one: the other side stands
behind a barrier with phases. So a partition that itself reads or writes buffers which any copy or product touches has a
fence before each arrival.

A copy by ``cp.async`` that arrives when it is done (``tle.gpu.barrier_arrive(..., after_copies=True)``) is behind the
fences of the partition that began it. For it the fence stands behind the wait, where products follow, and none before
the arrival, which would have to wait for the copy.

Where one thread arrives for its partition, it does so after all that the partition's warps did: they meet before.
Triton 3.9 sees to that itself; earlier ones do where they know of an access to shared memory, and not of one by a
pointer. Of other arrivals each warp makes its own (``arrive_by_warps``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle_raw.flir.nvidia.arrive_by_warps import ARRIVAL
from tle_raw.flir.nvidia.barrier_walk import AFTER, BEFORE
from tle_raw.flir.nvidia.insertions import FENCE_TEXT
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.partitions import warps_of_lines
from tle_raw.flir.nvidia.shared_pointers import Buffers, SharedPointers
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.linker.mlir.text import find_lines
from tle_raw.regions.ports import NAMED

_ARRIVE, _WAIT, _COPIES_ARRIVE = "ttng.arrive_barrier", "ttng.wait_barrier", "ttng.async_copy_mbarrier_arrive"
_COPY, _COPIES_DONE = "ttg.async_copy_global_to_local", "ttg.async_wait"
_WRITES = ("ttg.local_store", _COPY)
_LOAD, _ADDRESS = "ttg.local_load", "tti.experimental_memdesc_to_i"
_PASSED_ON = ("ttg.convert_layout", "tt.splat", "arith.trunci")
_NAMED = f'symbol = "{NAMED}.'  # of markers that name a barrier, and read nothing
_OTHERS = ("ttng.async_tma", "ttng.tc_gen5")
_OTHER_WAY = (*_OTHERS, "ttng.warp_group_dot")


@dataclass(frozen=True)
class Handover:
    """What partitions do that others see: arrivals by warps change nothing of it.

    Attributes
    ----------
    touched : the numbers of the partitions whose threads touch what copies or products touch too.
    waits : which waits for barriers, counted in the text's order, are for those that copies arrive at.
    """

    touched: frozenset[int] = frozenset()
    waits: tuple[int, ...] = ()


def find_handover(lines: Sequence[str], pointers: SharedPointers, *, waits: bool) -> Handover:
    """Of a module in generic form, and where its buffers go.

    Parameters
    ----------
    waits : behind waits for copies stand fences for ``wgmma`` too; not where each has one (``multiply_in_place``).
    """
    if not any(each.name.startswith(_OTHER_WAY) for each in pointers.walk()):
        return Handover()
    place = [number for number, _ in warps_of_lines(lines, 0)]
    touched = frozenset(place[line] for line in _accesses(pointers, place))
    return Handover(touched, tuple(_waits_for_copies(pointers, place, _OTHER_WAY if waits else _OTHERS)))


def fence_partitions(text: str, barrier: str, handover: Handover) -> tuple[str, int]:
    """TritonGPU text in generic form with the fences and barriers, and at how many arrivals.

    Parameters
    ----------
    barrier : an operation that a partition's warps meet at; "" where Triton puts one before each arrival itself.
    """
    lines = text.splitlines()
    place = [number for number, _ in warps_of_lines(lines, 0)]
    edits, found = LineEdits(lines), len(handover.waits)
    waits = [number for number in find_lines(text, f'"{_WAIT}"(') if generic_name(lines[number]) == _WAIT]
    for wait in handover.waits:
        edits.insert(waits[wait], AFTER, FENCE_TEXT)
    for number in find_lines(text, ARRIVAL, f'"{_ARRIVE}"('):
        meets = barrier and ARRIVAL not in lines[number]
        before = [*([FENCE_TEXT] if place[number] in handover.touched else []), *([barrier] if meets else [])]
        for operation in before:
            edits.insert(number, BEFORE, operation)
        found += bool(before)
    return edits.text(), found


def _waits_for_copies(pointers: SharedPointers, place: Sequence[int], names: tuple[str, ...]) -> Iterator[int]:
    """The waits for barriers at which copies arrive, in partitions with operations of these names."""
    barriers: Buffers = frozenset().union(
        *(_buffers(pointers, each) for each in pointers.walk() if each.name == _COPIES_ARRIVE)
    )
    if not barriers:
        return
    those = {place[each.line] for each in pointers.walk() if each.name.startswith(names)}
    for number, wait in enumerate(each for each in pointers.walk() if each.name == _WAIT):
        if place[wait.line] in those and not barriers.isdisjoint(_buffers(pointers, wait)):
            yield number


def _accesses(pointers: SharedPointers, place: Sequence[int]) -> Iterator[int]:
    """The lines where threads touch what copies or products touch too."""
    waiting = {place[each.line] for each in pointers.walk() if each.name == _COPIES_DONE}
    going_on = {place[each.line] for each in pointers.walk() if each.name == _COPIES_ARRIVE} - waiting
    by_others: Buffers = frozenset().union(
        *(_buffers(pointers, each) for each in pointers.walk() if each.name.startswith(_OTHER_WAY))
    )
    for operation in pointers.walk():
        is_access = operation.name in _WRITES or (
            operation.name.startswith((_LOAD, _ADDRESS)) and any(map(_is_used, operation.results))
        )
        if operation.name == _COPY and place[operation.line] in going_on:
            continue
        if is_access and not ((buffers := _buffers(pointers, operation)) and by_others.isdisjoint(buffers)):
            yield operation.line


def _buffers(pointers: SharedPointers, operation: Operation) -> Buffers:
    values = (value for value in operation.operands if value.type.startswith("!ttg.memdesc<"))
    return frozenset().union(*(pointers.of(value) for value in values))


def _is_used(value: Value) -> bool:
    """Whether a value goes anywhere: that of a product which reads the buffer itself, or of a marker, does not."""
    return any(
        any(map(_is_used, user.results))
        if user.name in _PASSED_ON
        else not (_NAMED in user.details or ARRIVAL in user.details)
        for user in value.uses
    )
