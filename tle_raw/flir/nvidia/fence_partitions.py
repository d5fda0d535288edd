"""What threads of one partition did to buffers, before another partition's copies and products touch them.

The copy engine and tensor cores reach shared memory by another way than threads do (the asynchronous proxy). Within
one piece of code Triton sees both sides and puts a fence between them. Of partitions it sees one: the other side stands
behind a barrier with phases. So a partition that reads or writes buffers itself has a fence before each arrival.
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.flir.nvidia.partitions import find_partitions, warps_of_lines
from tle_raw.linker.mlir.generic_operation import generic_name
from tle_raw.linker.mlir.text import value_names

_ARRIVE, _LOAD, _CONVERT = "ttng.arrive_barrier", "ttg.local_load", "ttg.convert_layout"
_ACCESSES = ("ttg.local_store", "ttg.async_copy_global_to_local", "tti.experimental_memdesc_to_i")
_OTHER_WAY = ("ttng.async_tma", "ttng.warp_group_dot", "ttng.tc_gen5")
_FENCE = "ttng.fence_async_shared {bCluster = false}"


def fence_partitions(text: str) -> tuple[str, int]:
    """TritonGPU text with the fences, and how many there are."""
    lines = text.splitlines()
    if not find_partitions(lines) or not any(name in text for name in _OTHER_WAY):
        return text, 0
    place = [number for number, _ in warps_of_lines(lines, 0)]
    touched = {place[number] for number, line in enumerate(lines) if _is_access(lines, line)}
    made, found = [], 0
    for number, line in enumerate(lines):
        if place[number] in touched and generic_name(line) == _ARRIVE:
            indent = line[: len(line) - len(line.lstrip())]
            location = line[line.rfind(" loc(") :] if " loc(" in line else ""
            made.append(f"{indent}{_FENCE}{location}")
            found += 1
        made.append(line)
    return "\n".join(made), found


def _is_access(lines: Sequence[str], line: str) -> bool:
    name = generic_name(line)
    return _is_used(lines, line) if name == _LOAD else name.startswith(_ACCESSES)


def _is_used(lines: Sequence[str], line: str) -> bool:
    """Whether a value goes anywhere: that of a product which reads the buffer itself does not."""
    result = value_names(line)[0]
    users = [user for user in lines if result in user and user is not line and result in value_names(user)]
    return any(generic_name(user) != _CONVERT or _is_used(lines, user) for user in users)
