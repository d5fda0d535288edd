"""What threads of one partition did to buffers, before another partition's copies and products touch them.

The copy engine and tensor cores reach shared memory by another way than threads do (the asynchronous proxy). Within
one piece of code Triton sees both sides and puts a fence between them. Of partitions it sees one: the other side stands
behind a barrier with phases. So a partition that itself reads or writes buffers which any copy or product touches has a
fence before each arrival.

Where one thread arrives for its partition, it does so after all that the partition's warps did: they meet before.
Triton 3.9 sees to that itself; earlier ones do where they know of an access to shared memory, and not of one by a
pointer. Of other arrivals each warp makes its own (``arrive_by_warps``).
"""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.flir.nvidia.arrive_by_warps import ARRIVAL
from tle_raw.flir.nvidia.barrier_walk import BEFORE
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.order_pointers import FENCE
from tle_raw.flir.nvidia.partitions import find_partitions, warps_of_lines
from tle_raw.flir.nvidia.shared_pointers import Buffers, SharedPointers, follow_buffers
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.regions.ports import NAMED

_ARRIVE = "ttng.arrive_barrier"
_WRITES = ("ttg.local_store", "ttg.async_copy_global_to_local")
_LOAD, _ADDRESS = "ttg.local_load", "tti.experimental_memdesc_to_i"
_PASSED_ON = ("ttg.convert_layout", "tt.splat", "arith.trunci")
_NAMED = f'symbol = "{NAMED}.'  # of markers that name a barrier, and read nothing
_OTHER_WAY = ("ttng.async_tma", "ttng.warp_group_dot", "ttng.tc_gen5")


def fence_partitions(text: str, barrier: str) -> tuple[str, int]:
    """TritonGPU text in generic form with the fences and barriers, and at how many arrivals.

    Parameters
    ----------
    barrier : an operation that a partition's warps meet at; "" where Triton puts one before each arrival itself.
    """
    lines = text.splitlines()
    if not find_partitions(lines):
        return text, 0
    place = [number for number, _ in warps_of_lines(lines, 0)]
    touched = {place[line] for line in _accesses(follow_buffers(lines))} if _holds(text) else set()
    edits, found = LineEdits(lines), 0
    for number, line in enumerate(lines):
        if ARRIVAL in line or (_ARRIVE in line and generic_name(line) == _ARRIVE):
            meets = barrier and ARRIVAL not in line
            before = [*([FENCE] if place[number] in touched else []), *([barrier] if meets else [])]
            for operation in before:
                edits.insert(number, BEFORE, operation)
            found += bool(before)
    return edits.text(), found


def _holds(text: str) -> bool:
    return any(name in text for name in _OTHER_WAY)


def _accesses(pointers: SharedPointers) -> Iterator[int]:
    """The lines where threads touch what copies or products touch too."""
    by_others: Buffers = frozenset().union(
        *(_buffers(pointers, each) for each in pointers.walk() if each.name.startswith(_OTHER_WAY))
    )
    for operation in pointers.walk():
        is_access = operation.name in _WRITES or (
            operation.name.startswith((_LOAD, _ADDRESS)) and any(map(_is_used, operation.results))
        )
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
