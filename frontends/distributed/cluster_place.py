"""Blocks of a cluster and of the grid: which one this is, and what the others have in shared memory."""

from __future__ import annotations

from math import prod
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, MeshError, MeshIndexError, Row
from tle_raw.frontends.distributed.member_places import (
    BLOCK,
    CLUSTER,
    Place,
    level_shape,
    level_size,
    place_along,
    rank_strides,
    ranks_along,
)
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.parts import coordinates
from tle_raw.frontends.gpu.barrier_value import barrier
from tle_raw.frontends.gpu.checks import check_buffer, check_in_shared_memory, is_buffer
from tle_raw.frontends.gpu.cluster_buffer import cluster_buffer
from tle_raw.frontends.gpu.cluster_functions import check_cluster, mapped_pointers, rank_here, write
from tle_raw.frontends.gpu.cluster_group import cluster_group
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain
from tle_raw.regions.clusters import PROGRAM, box_of
from tle_raw.regions.stages import check_stages, counts_clusters, noted_cluster


def place_in_cluster(mesh: device_mesh, axis: int, semantic: Any, generator: Any) -> core.tensor:
    """Where this block stands along an axis of blocks of a cluster."""
    blocks = level_size(mesh, CLUSTER)
    check_cluster("shard_id", level_shape(mesh, CLUSTER), repr(mesh), semantic, generator)
    return _coordinate(rank_here(blocks, semantic), place_along(mesh, axis), blocks, semantic)


def place_in_grid(mesh: device_mesh, axis: int, semantic: Any, generator: Any) -> core.tensor:
    """Where this block stands along an axis of blocks; blocks of a cluster stand at one place together."""
    in_cluster, count = level_size(mesh, CLUSTER), level_size(mesh, BLOCK)
    if in_cluster > 1:
        shape = level_shape(mesh, CLUSTER)
        check_cluster("shard_id", shape, repr(mesh), semantic, generator)
        in_cluster = box_of(shape)[0] if counts_clusters() else in_cluster
    number = semantic.program_id(0)
    if generator is not None:
        check_stages(semantic.builder.options, "meshes of blocks")
        number = write(PROGRAM, [number], core.int32, {"programs": count * in_cluster}, semantic)
    if in_cluster > 1:
        number = semantic.floordiv(number, semantic.to_tensor(in_cluster))
    return _coordinate(semantic.mod(number, semantic.to_tensor(count)), place_along(mesh, axis), count, semantic)


def cluster_size(function: str, call: str, mesh: device_mesh | None, semantic: Any, generator: Any) -> int:
    """How many blocks a cluster has, by the mesh or by what an earlier one has said; ``call``: how the mesh is named.

    Raises
    ------
    MeshError : nothing has said it. The others of ``check_cluster``.
    """
    shape = level_shape(mesh, CLUSTER) or (1,) if mesh is not None else noted_cluster()
    if not shape:
        raise MeshError(
            f"tle.{function}: nothing has said yet which blocks form a cluster",
            hint=f"name the mesh: tle.{function}({call})",
        )
    check_cluster(function, shape, repr(mesh), semantic, generator)
    return prod(shape)


def block_of_cluster(
    x: Any, shard: Any, mesh: device_mesh | None, semantic: Any, generator: Any
) -> cluster_buffer | core.tensor:
    """What another block of the cluster has of a buffer or a barrier, or where pointers into a buffer point there.

    Raises
    ------
    ArgumentTypeError : neither a buffer in shared memory, one barrier nor pointers, or a place that is no number.
    MeshError : no mesh has said what the clusters are, or the mesh has no such member.
    """
    own = _checked(x)
    blocks = cluster_size("remote", "buffer, shard, mesh=mesh", mesh, semantic, generator)
    rank = semantic.cast(semantic.to_tensor(_rank(shard, mesh, blocks, semantic)), core.int32)
    if isinstance(own, core.tensor):
        return mapped_pointers(own, rank, blocks, semantic)
    return cluster_buffer(own, rank, blocks)


def group_along(mesh: device_mesh, axis: int, semantic: Any, generator: Any) -> cluster_group:
    """The blocks of the cluster that differ from this one along an axis alone.

    Raises
    ------
    MeshError : an axis of another level, or a part of the launch's mesh.
    """
    blocks = level_size(mesh, CLUSTER)
    if mesh.axes[axis].level != CLUSTER or mesh.axes[axis] not in mesh.launch_axes:
        raise MeshError(
            "tle.multicast_group: an axis of the launch's mesh, along blocks of a cluster",
            table=[Row("axis", f"of level `{CLUSTER}`, whole", str(mesh.axes[axis]))],
        )
    place = place_in_cluster(mesh, axis, semantic, generator)
    stride, pattern = ranks_along(mesh, axis)
    before = semantic.mul(place, semantic.to_tensor(stride), False)
    first = semantic.sub(rank_here(blocks, semantic), before, False)
    return cluster_group(mesh.shape[axis], place, semantic.shl(semantic.to_tensor(pattern), first))


def _checked(x: Any) -> Any:
    value = plain(x)
    if isinstance(value, cluster_buffer):
        raise ArgumentTypeError("tle.remote: it is another block's already")
    if isinstance(value, barrier) and not value.type.slots:
        return value
    if isinstance(value, core.tensor) and value.dtype.is_ptr():
        return value
    if not is_buffer(value):
        raise ArgumentTypeError(
            "tle.remote: what another block of the cluster has is a buffer, one barrier, or what pointers point to",
            table=[
                Row("x", "of tle.gpu.alloc, barriers[i], or pointers of tle.gpu.local_ptr", describe_value(x)),
            ],
        )
    check_in_shared_memory("remote", "x", check_buffer("remote", "x", value))
    return value


def _rank(shard: Any, mesh: device_mesh | None, blocks: int, semantic: Any) -> Any:
    """Of the member with a number in the mesh, or with these coordinates."""
    if mesh is None:
        return _checked_place("shard_id", plain(shard), blocks)
    first, strides = rank_strides(mesh)
    given = items(shard)
    if given is None:
        number = _checked_place("shard_id", plain(shard), mesh.size)
        given = _split(number, mesh.shape, semantic)
    elif len(given) != mesh.ndim:
        raise MeshError(
            "tle.remote: a place in a mesh is a number, or a coordinate for each axis",
            table=[Row("shard_id", f"{mesh.ndim}: {', '.join(mesh.dim_names)}", str(len(given)))],
        )
    total: Any = first
    for name, size, place, stride in zip(mesh.dim_names, mesh.shape, given, strides):
        place = _checked_place(name, place, size)
        if is_integer(place) and is_integer(total):
            total += place * stride
        elif stride:
            step = semantic.mul(semantic.to_tensor(place), semantic.to_tensor(stride), False)
            total = semantic.add(semantic.to_tensor(total), step, False)
    return total


def _split(number: Any, shape: tuple[int, ...], semantic: Any) -> list[Any]:
    if is_integer(number):
        return list(coordinates(shape, number))
    found = []
    for size in reversed(shape[1:]):
        found.append(semantic.mod(number, semantic.to_tensor(size)))
        number = semantic.floordiv(number, semantic.to_tensor(size))
    return [number, *reversed(found)]


def _checked_place(name: str, place: Any, size: int) -> Any:
    if is_integer(place):
        if not 0 <= place < size:
            raise MeshIndexError(
                "tle.remote: the mesh has no such member", table=[Row(name, f"0 to {size - 1}", str(place))]
            )
        return place
    if not is_scalar_integer(place):
        raise ArgumentTypeError(
            "tle.remote: a member of a mesh has a number",
            table=[Row(name, "an integer, or a scalar of integers", describe_value(place))],
        )
    return place


def _coordinate(number: core.tensor, place: Place, members: int, semantic: Any) -> core.tensor:
    value = semantic.cast(number, core.uint32)  # without a sign a division by a power of two is a shift
    if place.stride > 1:
        value = semantic.floordiv(value, semantic.full((), place.stride, core.uint32))
    if place.modulus * place.stride < members:
        value = semantic.mod(value, semantic.full((), place.modulus, core.uint32))
    value = semantic.cast(value, core.int32)
    if place.offset:
        value = semantic.sub(value, semantic.to_tensor(place.offset), False)
    if place.step != 1:
        value = semantic.floordiv(value, semantic.to_tensor(place.step))
    return value
