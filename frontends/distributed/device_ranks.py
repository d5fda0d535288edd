"""Which member of a context is where in a mesh, and whom it meets, as plain numbers.

The levels ``node``, ``device`` and ``chiplet`` of a mesh are its host part: its members are those of a context, with
the last axis running fastest. What lies within a device, clusters and blocks, runs faster still.
"""

from __future__ import annotations

from math import prod

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.mesh import device_mesh

HOST_LEVELS = ("node", "device", "chiplet")


def world_of(mesh: device_mesh) -> int:
    """How many members a context for kernels of this mesh has."""
    return prod(axis.size for axis in mesh.launch_axes if axis.level in HOST_LEVELS)


def nodes_of(mesh: device_mesh) -> int:
    """How many nodes the launch of a kernel with this mesh has."""
    return prod(axis.size for axis in mesh.launch_axes if axis.level == "node")


def coordinates(mesh: device_mesh, axis: str | int) -> list[int]:
    """Each member's place along an axis of the host part of a mesh; -1 of one that the mesh does not have.

    Raises MeshError where members of one device have several places.
    """
    number = mesh.axis(axis)
    inside = _members_of_a_device(mesh)
    stride, size = prod(mesh.shape[number + 1 :]), mesh.shape[number]
    found = [-1] * world_of(mesh)
    for place, member in enumerate(mesh.physical_ids):
        rank, coordinate = member // inside, place // stride % size
        if found[rank] not in (-1, coordinate):
            raise MeshError(
                f"axis `{mesh.dim_names[number]}` lies within devices",
                table=[Row("axis", "one of node, device and chiplet", mesh.dim_names[number])],
            )
        found[rank] = coordinate
    return found


def ranks_of(mesh: device_mesh) -> tuple[int, ...]:
    """The context's numbers of a mesh's devices, in the mesh's order.

    Raises MeshError for a mesh that has a device several times, by its blocks.
    """
    inside = _members_of_a_device(mesh)
    found = tuple(member // inside for member in mesh.physical_ids)
    if len(set(found)) != len(found):
        raise MeshError(
            "the mesh has blocks, and devices are meant",
            table=[Row("mesh", "axes of node, device and chiplet", ", ".join(mesh.dim_names))],
        )
    return found


def groups(mesh: device_mesh) -> list[int]:
    """For each member of a context the number of its group: those that a barrier over ``mesh`` makes meet.

    Of a mesh of the whole launch, and of its parts, all members are one group; -1 has nobody to meet.
    """
    inside = _members_of_a_device(mesh)
    taking_part = {member // inside for member in mesh.physical_ids}
    return [0 if rank in taking_part else -1 for rank in range(world_of(mesh))]


def groups_along(mesh: device_mesh, axes: tuple[str | int, ...]) -> list[int]:
    """The same of a barrier along these axes: members that differ in them alone are a group."""
    kept = {mesh.axis(axis) for axis in axes}
    others = [coordinates(mesh, axis) for axis in range(mesh.ndim) if axis not in kept and _is_of_hosts(mesh, axis)]
    places = [tuple(column[rank] for column in others) for rank in range(world_of(mesh))]
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return [-1 if group < 0 else numbers[place] for group, place in zip(groups(mesh), places, strict=True)]


def _is_of_hosts(mesh: device_mesh, axis: int) -> bool:
    return mesh.axes[axis].level not in ("block_cluster", "block")


def _members_of_a_device(mesh: device_mesh) -> int:
    """Blocks of one device that the mesh of the launch has.

    Raises MeshError where a level of hosts runs faster than one within a device.
    """
    levels = [axis.level in HOST_LEVELS for axis in mesh.launch_axes]
    if levels != sorted(levels, reverse=True):
        raise MeshError(
            "nodes and devices come before what lies within them",
            table=[Row("levels", "node, device, chiplet, block_cluster, block", ", ".join(mesh.launch_dim_names))],
        )
    return prod(axis.size for axis, is_host in zip(mesh.launch_axes, levels, strict=True) if not is_host)
