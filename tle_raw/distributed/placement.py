"""Where the blocks of a launch run: on which processor each of them, and which processors lie in one GPC.

A GPU's processors (SMs) are parted into GPCs, graphics processing clusters, and CUDA promises that all blocks of a
cluster run in one of them (CUDA C++ Programming Guide, "Thread Block Clusters"). No register tells which one that is:
it is found by launching clusters and looking who ran together.
"""

from __future__ import annotations

import array
import ctypes
from collections.abc import Iterable, Sequence
from functools import cache

from tle_raw.distributed.driver import Device

SIZES = range(2, 9)  # of clusters that are portable: those of some sizes overlap those of others
_TURNS = 20_000  # each under a microsecond: a block stays until all have begun, or as long as that
_NAME = "where_blocks_run"
PTX = f"""
.version 7.8
.target sm_90
.address_size 64

.visible .entry {_NAME}(.param .u64 processors, .param .u64 begun, .param .u32 blocks)
{{
	.reg .pred %p;
	.reg .b32 %block, %processor, %blocks, %seen, %turn, %thread;
	.reg .b64 %processors, %begun, %place;

	mov.u32 %thread, %tid.x;
	setp.ne.u32 %p, %thread, 0;
	@%p ret;
	ld.param.u64 %processors, [processors];
	ld.param.u64 %begun, [begun];
	ld.param.u32 %blocks, [blocks];
	mov.u32 %block, %ctaid.x;
	mov.u32 %processor, %smid;
	mad.wide.u32 %place, %block, 4, %processors;
	st.global.u32 [%place], %processor;
	red.global.add.u32 [%begun], 1;
	mov.u32 %turn, 0;
more:
	ld.volatile.global.u32 %seen, [%begun];
	add.u32 %turn, %turn, 1;
	setp.lt.u32 %p, %seen, %blocks;
	setp.lt.and.u32 %p, %turn, {_TURNS}, %p;
	@%p bra more;
	ret;
}}
"""


@cache
def processors_of_clusters(
    device: Device, clusters: int, blocks: int, threads: int, shared: int
) -> tuple[tuple[int, ...], ...]:
    """The processors of each cluster of a launch on a device on which nothing else runs: ``%smid`` of its blocks.

    Parameters
    ----------
    blocks : of a cluster.
    threads, shared : what a block takes; ``shared`` in bytes. Its registers are not looked at.
    """
    count = clusters * blocks
    size = 4 * count
    device.wait()
    place = device.allocate(size + 4)
    try:
        arguments = ctypes.c_uint64(place), ctypes.c_uint64(place + size), ctypes.c_uint32(count)
        device.launch_clusters(_function(device), count, blocks, threads, shared, arguments)
        device.wait()
        found = array.array("I", device.read(place, size))
    finally:
        device.free(place)
    return tuple(tuple(found[first : first + blocks]) for first in range(0, count, blocks))


@cache
def processors_of_gpcs(device: Device) -> tuple[frozenset[int], ...]:
    """The processors of each GPC, as far as clusters show it: those of two sets were never in one cluster."""
    threads, shared = 32, device.most_shared
    seen: list[tuple[int, ...]] = []
    for blocks in SIZES:
        clusters = device.active_clusters(_function(device), (blocks, 1, 1), threads, shared)
        if clusters:
            seen += processors_of_clusters(device, clusters, blocks, threads, shared)
    return joined(seen)


def joined(sets: Iterable[Sequence[int]]) -> tuple[frozenset[int], ...]:
    """What is in one set with each other, directly or by others, by its smallest member."""
    parts: list[frozenset[int]] = []
    for members in map(frozenset, sets):
        touched = [part for part in parts if part & members]
        parts = [part for part in parts if not part & members] + [members.union(*touched)]
    return tuple(sorted(parts, key=min))


@cache
def _function(device: Device) -> int:
    return device.load(PTX, _NAME)
