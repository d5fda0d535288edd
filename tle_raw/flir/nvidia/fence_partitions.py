"""What threads of one partition did to buffers, before another partition's copies and products touch them.

The copy engine and tensor cores reach shared memory by another way than threads do (the asynchronous proxy). Within
one piece of code Triton sees both sides and puts a fence between them. Of partitions it sees one: the other side stands
behind a barrier with phases. So a partition that reads or writes buffers itself has a fence before each arrival.

Where one thread arrives for its partition, it does so after all that the partition's warps did: they meet before.
Triton 3.9 sees to that itself; earlier ones do where they know of an access to shared memory, and not of one by a
pointer. Of other arrivals each warp makes its own (``arrive_by_warps``).
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.flir.nvidia.arrive_by_warps import ARRIVAL, NAME
from tle_raw.flir.nvidia.barrier_walk import BEFORE
from tle_raw.flir.nvidia.buffer_types import PREFIX, read_buffer_type
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.order_pointers import FENCE
from tle_raw.flir.nvidia.partitions import find_partitions, warps_of_lines
from tle_raw.linker.mlir.generic_operation import generic_name, read_generic
from tle_raw.linker.mlir.text import value_names
from tle_raw.regions.ports import NAMED

_ARRIVE = "ttng.arrive_barrier"
_ACCESSES = ("ttg.local_store", "ttg.async_copy_global_to_local")
_IF_USED = ("ttg.local_load", "tti.experimental_memdesc_to_i")
_PASSED_ON = ("ttg.convert_layout", "tt.splat")
_NAMED = f'symbol = "{NAMED}.'  # markers that name a barrier, and read nothing
_OTHER_WAY = ("ttng.async_tma", "ttng.warp_group_dot", "ttng.tc_gen5")


def fence_partitions(text: str, barrier: str) -> tuple[str, int]:
    """TritonGPU text with the fences and barriers, and at how many arrivals.

    Parameters
    ----------
    barrier : an operation that a partition's warps meet at; "" where Triton puts one before each arrival itself.
    """
    lines = text.splitlines()
    if not find_partitions(lines):
        return text, 0
    place = [number for number, _ in warps_of_lines(lines, 0)]
    is_fenced = any(name in text for name in _OTHER_WAY)
    touched = {place[number] for number, line in enumerate(lines) if is_fenced and _is_access(lines, line)}
    edits, found = LineEdits(lines), 0
    for number, line in enumerate(lines):
        if generic_name(line) == _ARRIVE or ARRIVAL in line:
            meets = barrier and ARRIVAL not in line
            before = [*([FENCE] if place[number] in touched else []), *([barrier] if meets else [])]
            for operation in before:
                edits.insert(number, BEFORE, operation)
            found += bool(before)
    return edits.text(), found


def _is_access(lines: Sequence[str], line: str) -> bool:
    name = generic_name(line)
    if NAME in line:  # the address of a barrier
        return False
    if name.startswith(_ACCESSES):
        return _may_be_seen_otherwise(line)
    return name.startswith(_IF_USED) and _may_be_seen_otherwise(line) and _is_used(lines, line)


def _may_be_seen_otherwise(line: str) -> bool:
    """Whether the copy engine or tensor cores may touch the same memory: not so rows of a single element."""
    buffers = [read_buffer_type(type_, {}) for type_ in read_generic(line).types if type_.startswith(PREFIX)]
    return any(buffer.dims[-1] > 1 for buffer in buffers)


def _is_used(lines: Sequence[str], line: str) -> bool:
    """Whether a value goes anywhere: that of a product which reads the buffer itself, or of a marker, does not."""
    result = value_names(line)[0]
    users = [user for user in lines if result in user and user is not line and result in value_names(user)]
    return any(_NAMED not in user and (generic_name(user) not in _PASSED_ON or _is_used(lines, user)) for user in users)
