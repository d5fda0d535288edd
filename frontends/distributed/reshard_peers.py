"""Who is read while a tensor is resharded: own coordinates, and what a member at other ones has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triton.language import core

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.cluster_place import block_of_cluster, place_in_cluster
from tle_raw.frontends.distributed.device_language import device_remote, device_shard_id
from tle_raw.frontends.distributed.device_ranks import HOST_LEVELS
from tle_raw.frontends.distributed.member_places import CLUSTER
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.reshard_plan import Plan


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
    """The own coordinate along each axis of devices, or without a context along each one of blocks of a cluster."""
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
    return device_remote(pointer, _places(mesh, places, semantic), context, {"mesh": mesh}, semantic, generator)


def buffer_of(mesh: device_mesh, places: Mapping[str, Any], buffer: Any, semantic: Any, generator: Any) -> Any:
    """The buffer of the block at these coordinates of its cluster."""
    return block_of_cluster(buffer, _places(mesh, places, semantic), mesh, semantic, generator)


def _places(mesh: device_mesh, places: Mapping[str, Any], semantic: Any) -> core.tuple:
    """One for each axis. All blocks of a device have the same memory: any place will do along their axes."""
    return core.tuple([semantic.to_tensor(places.get(name, 0)) for name in mesh.dim_names])
