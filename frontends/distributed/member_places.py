"""Where a block stands along an axis of a mesh, as arithmetic on its number: divisions by constants.

A mesh may be a part of the launch's mesh, or its members in another shape. Its *members of a level* are numbered by the
launch's axes of that level alone, the last one running fastest: so the blocks of a cluster are neighbours wherever in
the mesh their axes stand.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NamedTuple

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.frontends.distributed.parts import coordinates

CLUSTER, BLOCK = "block_cluster", "block"


class Place(NamedTuple):
    """A coordinate is ``((number // stride) % modulus - offset) // step``."""

    stride: int
    modulus: int
    offset: int = 0
    step: int = 1

    def of(self, number: int) -> int:
        return ((number // self.stride) % self.modulus - self.offset) // self.step


def level_shape(mesh: device_mesh, level: str) -> tuple[int, ...]:
    """How many members of a level the mesh of the launch has along each of its axes."""
    return tuple(axis.size for axis in mesh.launch_axes if axis.level == level)


def level_size(mesh: device_mesh, level: str) -> int:
    """How many members of a level the mesh of the launch has."""
    return prod(level_shape(mesh, level))


def level_numbers(mesh: device_mesh, level: str) -> list[int]:
    """The number of each member of the mesh among those of a level."""
    axes = mesh.launch_axes
    shape = tuple(axis.size for axis in axes)
    found = []
    for member in mesh.physical_ids:
        number = 0
        for axis, place in zip(axes, coordinates(shape, member)):
            number = number * axis.size + place if axis.level == level else number
        found.append(number)
    return found


def place_along(mesh: device_mesh, axis: int) -> Place:
    """Where a member stands along an axis.

    Raises
    ------
    MeshError : an axis of several levels, or one of members that are in no order that divisions tell.
    """
    level, name, size = mesh.axes[axis].level, mesh.dim_names[axis], mesh.shape[axis]
    if not level:
        raise MeshError(f"axis `{name}` is made of several levels: what is along it is not told by one number")
    table: dict[int, int] = {}
    for member, number in enumerate(level_numbers(mesh, level)):
        if table.setdefault(number, coordinates(mesh.shape, member)[axis]) != coordinates(mesh.shape, member)[axis]:
            raise MeshError(f"axis `{name}` is not along one of level `{level}`")
    sizes = [each.size for each in mesh.launch_axes if each.level == level]
    total = prod(sizes)
    divisors = [divisor for divisor in range(1, total + 1) if total % divisor == 0]
    first = {place: number for number, place in reversed(table.items())}
    for stride, modulus in product(divisors, divisors):
        offset = first[0] // stride % modulus
        step = (first[1] // stride % modulus - offset if size > 1 else 1) or 1
        place = Place(stride, modulus, offset, step)
        if all(place.of(number) == wanted for number, wanted in table.items()):
            return place
    raise MeshError(
        f"the members of axis `{name}` are in no order that a division of their numbers tells",
        table=[Row(name, "a slice, or a shape, of the launch's mesh", repr(mesh))],
    )


def ranks_along(mesh: device_mesh, axis: int) -> tuple[int, int]:
    """How far ranks lie apart along an axis of the launch's clusters, and those of its first blocks, as bits."""
    own = mesh.launch_axes.index(mesh.axes[axis])
    stride = prod(each.size for each in mesh.launch_axes[own + 1 :] if each.level == CLUSTER)
    return stride, sum(1 << (number * stride) for number in range(mesh.shape[axis]))


def rank_strides(mesh: device_mesh) -> tuple[int, tuple[int, ...]]:
    """The rank in its cluster of a mesh's first member, and by how much it grows along each axis.

    Raises
    ------
    MeshError : a mesh that is not one of blocks of a cluster alone, or whose ranks do not grow evenly.
    """
    others = [axis.name for axis in mesh.axes if axis.level != CLUSTER]
    if others:
        raise MeshError(
            "the mesh has axes that are not along the blocks of a cluster",
            table=[Row("mesh", f"axes of level `{CLUSTER}`", ", ".join(map(str, mesh.axes)))],
            hint="take the part that is: mesh[0, :]",
        )
    ranks = level_numbers(mesh, CLUSTER)
    steps = [prod(mesh.shape[axis + 1 :]) for axis in range(mesh.ndim)]
    strides = tuple(ranks[step] - ranks[0] if size > 1 else 0 for step, size in zip(steps, mesh.shape))
    for member, rank in enumerate(ranks):
        if rank != ranks[0] + sum(c * s for c, s in zip(coordinates(mesh.shape, member), strides)):
            raise MeshError(
                "the ranks of the mesh's members do not grow evenly along its axes",
                table=[Row("mesh", "a slice, or a shape, of the launch's mesh", repr(mesh))],
            )
    return ranks[0], strides
