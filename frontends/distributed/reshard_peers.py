"""Who is read while a tensor is resharded: own coordinates, and what a member at other ones has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.cluster_place import block_of_cluster, place_in_cluster
from tle_raw.frontends.distributed.device_language import device_remote, device_shard_id
from tle_raw.frontends.distributed.device_ranks import HOST_LEVELS, members_of_a_device
from tle_raw.frontends.distributed.folding import Folding
from tle_raw.frontends.distributed.member_places import CLUSTER
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.parts import coordinates
from tle_raw.frontends.distributed.reshard_plan import Plan
from tle_raw.frontends.distributed.traced_call import call_kernel_function


def check_levels(plan: Plan, levels: Sequence[str], what: str) -> None:
    """Every axis that a sharding names is of a level that reaches ``what``.

    Raises
    ------
    MeshError : another one is split, or added over.
    """
    mesh = plan.before.mesh
    for name in mesh.dim_names:
        axis = mesh.axes[mesh.axis(name)]
        used = plan.before.axis_state(name) != "B" or plan.after.axis_state(name) != "B"
        if used and axis.level not in levels:
            raise MeshError(
                f"tle.reshard: {what} does not reach along axis `{name}`",
                table=[Row(name, f"of level {' or '.join(levels)}", str(axis))],
            )


def own_places(mesh: device_mesh, context: Any, semantic: Any, generator: Any) -> dict[str, Any]:
    """The own coordinate along each axis of the devices of a mesh, or of the blocks of its clusters without a context."""
    found = {}
    for number, axis in enumerate(mesh.axes):
        if context is not None and axis.level in HOST_LEVELS:
            found[axis.name] = device_shard_id(mesh, number, context, semantic, generator)
        elif context is None and axis.level == CLUSTER:
            found[axis.name] = place_in_cluster(mesh, number, semantic, generator)
    return found


def pointer_of(
    mesh: device_mesh, places: Mapping[str, Any], pointer: core.tensor, context: Any, semantic: Any, generator: Any
) -> core.tensor:
    """Where the device at these coordinates has what ``pointer`` points to here."""
    rank = _rank(mesh, places, semantic, generator)
    return device_remote(pointer, rank, context, semantic, generator)


def buffer_of(mesh: device_mesh, places: Mapping[str, Any], buffer: Any, semantic: Any, generator: Any) -> Any:
    """The buffer of the block at these coordinates of its cluster."""
    shard = core.tuple([semantic.to_tensor(places[name]) for name in mesh.dim_names])
    return block_of_cluster(buffer, shard, mesh, semantic, generator)


def _rank(mesh: device_mesh, places: Mapping[str, Any], semantic: Any, generator: Any) -> Any:
    """The number in its context of the device at these coordinates."""
    folding, inside = Folding(semantic), members_of_a_device(mesh)
    shape = [axis.size if axis.name in places else 1 for axis in mesh.axes]
    numbers = {}
    for member, physical in enumerate(mesh.physical_ids):
        numbers.setdefault(_outer(mesh, member, places), physical // inside)
    ranks = list(numbers.values())
    place, steps, step = 0, {}, 1
    for axis, size in zip(reversed(mesh.axes), reversed(shape), strict=True):
        if axis.name in places:
            place = folding.add(place, folding.multiply(places[axis.name], step))
            steps[axis.name] = (step, size)
            step *= size
    strides = {name: ranks[at] - ranks[0] if size > 1 else 0 for name, (at, size) in steps.items()}
    if all(
        rank == ranks[0] + sum(strides[name] * (member // at % size) for name, (at, size) in steps.items())
        for member, rank in enumerate(ranks)
    ):
        rank = ranks[0]
        for name, stride in strides.items():
            rank = folding.add(rank, folding.multiply(places[name], stride))
        return rank
    return call_kernel_function(_nth, folding.tensor(place), tuple(ranks), semantic=semantic, generator=generator)


def _outer(mesh: device_mesh, member: int, places: Mapping[str, Any]) -> tuple[int, ...]:
    found = coordinates(mesh.shape, member)
    return tuple(place for axis, place in zip(mesh.axes, found, strict=True) if axis.name in places)


@triton.jit
def _nth(place, ranks: tl.constexpr):  # type: ignore[no-untyped-def]
    found = place * 0
    for member in tl.static_range(len(ranks)):
        found = tl.where(place == member, ranks[member], found)
    return found
