"""Barriers of the blocks of a cluster, of a part of it, and of the whole grid."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import MeshError, RegionError, Row
from tle_raw.frontends.distributed.cluster_place import cluster_size
from tle_raw.frontends.distributed.member_places import BLOCK, CLUSTER, level_numbers, level_size
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.gpu.barriers import alloc_barrier
from tle_raw.frontends.gpu.cluster_copies import address_of
from tle_raw.frontends.gpu.cluster_functions import write
from tle_raw.regions.clusters import ARRIVE, GRID_BARRIER, LEAVE, MEET, WAIT
from tle_raw.regions.partitions import current_partition
from tle_raw.regions.stages import check_stages

SYNC, ARRIVES, WAITS, LEAVES = "sync", "arrive", "wait", "leave"
KINDS = (SYNC, ARRIVES, WAITS, LEAVES)
_SYMBOLS = {SYNC: (ARRIVE, WAIT), ARRIVES: (ARRIVE,), WAITS: (WAIT,), LEAVES: (LEAVE,)}


def meet_in_cluster(mesh: device_mesh | None, kind: str, semantic: Any, generator: Any) -> None:
    """The blocks of a cluster, or those of a part of it that the mesh is, wait for each other.

    Raises
    ------
    MeshError : no mesh has said what the clusters are; a part of them, of which an arrival is apart from its wait.
    RegionError : in a partition of specialised warps.
    """
    blocks = cluster_size("distributed_barrier", "mesh", mesh, semantic, generator)
    _check_whole_block()
    members = sorted(set(level_numbers(mesh, CLUSTER))) if mesh is not None else list(range(blocks))
    if len(members) == blocks:
        for symbol in _SYMBOLS[kind]:
            write(symbol, [semantic.to_tensor(0)], core.int32, {"cluster": blocks}, semantic)
        return
    if kind != SYNC:
        raise MeshError(
            "tle.distributed_barrier: a part of a cluster arrives and waits at once",
            table=[Row("kind", SYNC, kind)],
        )
    if len(members) == 1:
        return
    traced = {"_semantic": semantic, "_generator": generator}
    bar = alloc_barrier(arrive_count=len(members), **traced)
    record = {"cluster": blocks, "members": [members]}
    write(MEET, [address_of(bar, semantic, generator)], core.int32, record, semantic)


def meet_in_grid(mesh: device_mesh | None, kind: str, semantic: Any, generator: Any) -> None:
    """All blocks of the launch wait for each other: it is a cooperative one.

    Raises
    ------
    MeshError : a part of the blocks, or an arrival apart from its wait.
    RegionError : in a partition of specialised warps, or in Triton's interpreter.
    """
    if generator is None:
        raise RegionError(
            "tle.distributed_barrier: Triton's interpreter runs one program at a time, and none can wait for another",
            hint="compile the kernel for a GPU, or for the CPU target",
        )
    check_stages(semantic.builder.options, "barriers of the grid")
    _check_whole_block()
    if kind != SYNC:
        raise MeshError(
            "tle.distributed_barrier: the blocks of a grid arrive and wait at once", table=[Row("kind", SYNC, kind)]
        )
    programs = 0
    if mesh is not None:
        programs = level_size(mesh, BLOCK) * level_size(mesh, CLUSTER)
        if mesh.size != programs:
            raise MeshError(
                "tle.distributed_barrier: a part of the grid's blocks cannot meet",
                table=[Row("mesh", "all blocks of the launch", repr(mesh))],
                hint="the blocks of a cluster can: a mesh with a level `block_cluster`",
            )
    write(GRID_BARRIER, [semantic.to_tensor(0)], core.int32, {"programs": programs}, semantic)


def _check_whole_block() -> None:
    partition = current_partition()
    if partition is not None:
        raise RegionError(
            f"tle.distributed_barrier: all threads of a block come to it, and {partition.name} has some of them",
            hint="meet before or behind tle.gpu.warp_specialize, or hand over by barriers: tle.gpu.barrier_arrive("
            "tle.remote(barrier, shard))",
        )
