"""The functions of ``tle_raw/regions/clusters.py``, written into the kernel that is traced."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from triton.language import core

from tle_raw.errors import MeshError, RegionError, Row
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.gpu.cluster_buffer import cluster_buffer
from tle_raw.regions.clusters import CLUSTER, COUNTED, FAR, MAP, MOST_BLOCKS, PURE, RANK, box_of, record_text
from tle_raw.regions.stages import check_stages, compiled_target, counts_clusters, note_cluster, noted_cluster

_HOPPER = 90


def write(
    symbol: str,
    operands: Sequence[core.tensor],
    type_: core.dtype,
    record: dict[str, Any],
    semantic: Any,
) -> core.tensor:
    """One of the functions, with its record."""
    builder = semantic.builder
    handles = [operand.handle for operand in operands]
    if symbol.startswith(CLUSTER) and counts_clusters():
        record = {**record, COUNTED: box_of(noted_cluster())}
    made = builder.create_extern_elementwise(
        record_text(**record), "", symbol, handles, type_.to_ir(builder), symbol in PURE
    )
    return core.tensor(made, type_)


def check_cluster(function: str, shape: tuple[int, ...], mesh: str, semantic: Any, generator: Any) -> None:
    """The kernel can be launched in clusters of this shape, as ``mesh`` says.

    Raises
    ------
    RegionError : in Triton's interpreter, on a GPU before sm_90, or with ``num_ctas``.
    MeshError : a cluster of more blocks than GPUs run, or of another number than before in this kernel; where the grid
        counts clusters, also one that lies along other axes.
    """
    blocks = prod(shape)
    if generator is None:
        raise RegionError(
            f"tle.{function}: Triton's interpreter runs one program at a time, and a cluster's blocks run together",
            hint="compile the kernel for a GPU, or for the CPU target",
        )
    check_stages(semantic.builder.options, "blocks of a cluster")
    if not 1 <= blocks <= MOST_BLOCKS:
        raise MeshError(
            f"tle.{function}: a cluster of so many blocks cannot be launched",
            table=[Row("blocks of the cluster", f"1 to {MOST_BLOCKS}", str(blocks))],
        )
    before, other = note_cluster(shape, mesh)
    if prod(before) != blocks:
        raise MeshError(
            f"tle.{function}: two meshes of a kernel say how many blocks a cluster has, and differ",
            table=[Row("blocks of the cluster", f"{prod(before)}, by {other}", f"{blocks}, by {mesh}")],
        )
    if counts_clusters() and box_of(before) != box_of(shape):
        raise MeshError(
            f"tle.{function}: two meshes of a kernel lay a cluster along the grid's axes, and differ",
            table=[Row("blocks along each axis", f"{box_of(before)}, by {other}", f"{box_of(shape)}, by {mesh}")],
        )
    if compiled_target() != "cuda":
        return
    options = semantic.builder.options
    if capability_of(semantic) < _HOPPER:
        raise RegionError(
            f"tle.{function}: this GPU has no clusters of blocks",
            table=[Row("GPU", "sm_90 or later", f"sm_{capability_of(semantic)}")],
        )
    if options.num_ctas != 1:
        raise RegionError(
            f"tle.{function}: a mesh says which blocks form a cluster, and the launch says so too",
            table=[Row("num_ctas", "1", str(options.num_ctas))],
            hint="launch with num_ctas=1: each program of the grid is one block",
        )


def rank_here(blocks: int, semantic: Any) -> core.tensor:
    """The number of this block in its cluster."""
    return write(RANK, [semantic.program_id(0)], core.int32, {"cluster": blocks}, semantic)


def mapped(address: core.tensor, remote: cluster_buffer, semantic: Any) -> core.tensor:
    """What this block has at an address, as an address in the other block's shared memory."""
    return write(MAP, [address, remote.rank], core.int64, {"cluster": remote.blocks}, semantic)


def mapped_pointers(pointers: core.tensor, rank: core.tensor, blocks: int, semantic: Any) -> core.tensor:
    """Where pointers of ``tle.gpu.local_ptr`` point in another block; each may point into any block of the cluster."""
    addresses = semantic.cast(pointers, core.int64)
    if pointers.type.is_block():
        rank = semantic.splat(rank, pointers.shape)
    there = write(MAP, [addresses, rank], addresses.type, {"cluster": blocks, FAR: True}, semantic)
    return semantic.cast(there, pointers.dtype)
