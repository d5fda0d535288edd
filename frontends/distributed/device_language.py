"""What ``tle.shard_id``, ``tle.distributed_barrier`` and ``tle.remote`` are where a mesh's members are devices."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.errors import ArgumentTypeError, MeshError, Row
from tle_raw.frontends.distributed.device_barrier import meet
from tle_raw.frontends.distributed.device_memory import rank_of
from tle_raw.frontends.distributed.device_ranks import coordinates, groups, groups_along, nodes_of, ranks_of, world_of
from tle_raw.frontends.distributed.existing_peer import own_pointer, pointer_of_peer
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.node_transfers import reached_pointer
from tle_raw.frontends.distributed.traced_call import (
    calls_nvshmem,
    checked_context,
    has_nodes,
    place_of_call,
    scalar_integer,
)
from tle_raw.frontends.lite.arguments import describe_value, items
from tle_raw.frontends.lite.traced_call import call_kernel_function

KINDS = {"sync": (True, True), "arrive": (True, False), "wait": (False, True)}  # whether it arrives, whether it waits
_MOST_IN_GROUPS = 63  # members of a mesh of which only some meet


def device_shard_id(mesh: device_mesh, axis: str | int, context: Any, semantic: Any, generator: Any) -> core.tensor:
    """This device's place along an axis of the mesh, i32; -1 where the mesh does not have it."""
    context = _checked_nodes("shard_id", mesh, checked_context("shard_id", context))
    places = coordinates(mesh, axis)
    rank = call_kernel_function(rank_of, context, semantic=semantic, generator=generator)
    for stride in range(1, len(places) + 1):
        size = max(places) + 1
        if places == [member // stride % size for member in range(len(places))]:
            return call_kernel_function(_digit, rank, stride, size, semantic=semantic, generator=generator)
    return call_kernel_function(_looked_up, rank, tuple(places), semantic=semantic, generator=generator)


def device_barrier(
    mesh: device_mesh, context: Any, kind: str, more: dict[str, Any], semantic: Any, generator: Any
) -> None:
    """The devices of a mesh meet, or with ``axes`` those along some of its axes: programs of one number of each launch.

    Raises MeshError for a mesh of more than 63 devices of which only some meet.
    """
    axes = tuple(items(more.pop("axes", ())) or ())
    _check_no_more("distributed_barrier", more)
    context = _checked_nodes("distributed_barrier", mesh, checked_context("distributed_barrier", context))
    world = world_of(mesh)
    found = groups_along(mesh, axes) if axes else groups(mesh)
    lanes = triton.next_power_of_2(world)
    traced = {"semantic": semantic, "generator": generator}
    if set(found) == {0}:
        others = call_kernel_function(_all_others, context, world, lanes, **traced)
    else:
        if world > _MOST_IN_GROUPS:
            raise MeshError(
                "tle.distributed_barrier: only some of so many devices cannot meet",
                table=[Row("devices of the mesh", f"{_MOST_IN_GROUPS} at most", str(world))],
            )
        others = call_kernel_function(_others_of_group, context, _masks(found), lanes, **traced)
    arrives, waits = KINDS[kind]
    per_node = world // nodes_of(mesh) if has_nodes(context) else 0
    by_nvshmem = calls_nvshmem(context, generator)
    place = place_of_call(semantic, generator)
    call_kernel_function(meet, context, others, world, per_node, arrives, waits, by_nvshmem, place, **traced)


def device_remote(x: Any, shard: Any, context: Any, more: dict[str, Any], semantic: Any, generator: Any) -> core.tensor:
    """Where another device has what the pointers ``x`` point to here.

    ``shard`` is its number in the context; with ``mesh`` its number there, or a tuple of its place along each axis.
    """
    context = checked_context("remote", context)
    mesh = more.pop("mesh", None)
    _check_no_more("remote", more)
    if not (isinstance(x, core.tensor) and x.dtype.is_ptr()):
        raise ArgumentTypeError(
            "tle.remote: of another device's memory there are pointers",
            table=[Row("x", "a pointer, or a tensor of pointers, into the context's tensors", describe_value(x))],
        )
    rank = peer_number("remote", "shard_id", shard, mesh, semantic, generator)
    if has_nodes(context):
        x, place = own_pointer(x, context, semantic, generator), place_of_call(semantic, generator)
        return call_kernel_function(reached_pointer, x, rank, context, place, semantic=semantic, generator=generator)
    return pointer_of_peer(x, rank, context, semantic, generator)


def _checked_nodes(function: str, mesh: device_mesh, context: core.tensor) -> core.tensor:
    """The context, which has nodes where the mesh has some; raises MeshError where it has none."""
    if nodes_of(mesh) > 1 and not has_nodes(context):
        raise MeshError(
            f"tle.{function}: the mesh has nodes, and the context reaches the GPUs of one host",
            table=[Row("nodes", str(nodes_of(mesh)), "1")],
            hint='tle_raw.distributed.context(..., memory="nvshmem") reaches other nodes, as does simulate(mesh); '
            "axes of one host are of the level `device`",
        )
    return context


def peer_number(
    function: str, parameter: str, shard: Any, mesh: device_mesh | None, semantic: Any, generator: Any
) -> core.tensor:
    """The number in the context of a device that is named by its number or its place in a mesh."""
    places = items(shard)
    if places is None:
        number = scalar_integer(function, parameter, shard, semantic)
    else:
        if mesh is None or len(places) != mesh.ndim:
            axes = ", ".join(mesh.dim_names) if mesh is not None else "those of `mesh`, which is not given"
            raise MeshError(
                f"tle.{function}: a tuple has a place for each axis of a mesh",
                table=[Row(parameter, axes, f"{len(places)} places")],
            )
        number = semantic.scalar_constant(0, core.int32)
        for place, size in zip(places, mesh.shape, strict=True):
            one = scalar_integer(function, parameter, place, semantic)
            number = semantic.add(semantic.mul(number, semantic.scalar_constant(size, core.int32), False), one, False)
    if mesh is None:
        return number
    ranks = ranks_of(mesh)
    if ranks == tuple(range(len(ranks))):
        return number
    return call_kernel_function(_looked_up, number, ranks, semantic=semantic, generator=generator)


def _check_no_more(function: str, more: dict[str, Any]) -> None:
    if more:
        raise ArgumentTypeError(
            f"tle.{function}: unknown keywords with a context",
            table=[Row("keywords", "axes" if function == "distributed_barrier" else "mesh", ", ".join(more))],
        )


def _masks(numbers: list[int]) -> tuple[int, ...]:
    """For each member the bits of all that are in its group."""
    return tuple(
        sum(1 << other for other, its in enumerate(numbers) if its == own) if own >= 0 else 0 for own in numbers
    )


@triton.jit  # type: ignore[untyped-decorator]
def _digit(rank, stride: tl.constexpr, size: tl.constexpr):  # type: ignore[no-untyped-def]
    return rank // stride % size


@triton.jit  # type: ignore[untyped-decorator]
def _looked_up(rank, places: tl.constexpr):  # type: ignore[no-untyped-def]
    found = rank * 0 - 1
    for member in tl.static_range(len(places)):
        found = tl.where(rank == member, places[member], found)
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _all_others(context, world: tl.constexpr, lanes: tl.constexpr):  # type: ignore[no-untyped-def]
    peers = tl.arange(0, lanes)
    return (peers < world) & (peers != rank_of(context))


@triton.jit  # type: ignore[untyped-decorator]
def _others_of_group(context, masks: tl.constexpr, lanes: tl.constexpr):  # type: ignore[no-untyped-def]
    rank, peers = rank_of(context), tl.arange(0, lanes)
    mask = tl.full([], 0, tl.int64)
    for member in tl.static_range(len(masks)):
        mask = tl.where(rank == member, masks[member], mask)
    return (((mask >> peers) & 1) != 0) & (peers != rank)
