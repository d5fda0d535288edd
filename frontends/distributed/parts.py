"""Which part of a tensor a member of a mesh has: sizes and places, for sizes that the members do not divide, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.sharding import ShardingSpec


def chunk(size: int, members: int, member: int) -> tuple[int, int]:
    """Where the part of a member begins and ends: parts of ``ceil(size / members)``, the last ones smaller or empty.

    As ``torch.chunk`` and DTensor divide.
    """
    length = -(-size // members)
    return min(member * length, size), min((member + 1) * length, size)


def local_box(spec: ShardingSpec, shape: Sequence[int], member: int) -> tuple[slice, ...]:
    """The part of a tensor of ``shape`` that member number ``member`` of the mesh has, one slice for each dim.

    An axis that splits a dim further cuts the part that the axes before it have left.

    Raises
    ------
    MeshError : a shape of another rank than the sharding, a member that is not there.
    """
    if spec.split and len(shape) != spec.rank:
        raise MeshError(
            "the tensor has another rank than its sharding", table=[Row("shape", f"{spec.rank} sizes", repr(shape))]
        )
    places = coordinates(spec.mesh.shape, member)
    box = []
    for dim, size in enumerate(shape):
        begin, end = 0, size
        for name in spec.split[dim] if spec.split else ():
            axis = spec.mesh.axis(name)
            first, last = chunk(end - begin, spec.mesh.shape[axis], places[axis])
            begin, end = begin + first, begin + last
        box.append(slice(begin, end))
    return tuple(box)


def largest_part(spec: ShardingSpec, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of the first member's part, which no other one exceeds: all members' rows are that long in memory."""
    sizes = []
    for dim, size in enumerate(shape):
        for name in spec.split[dim] if spec.split else ():
            size = -(-size // spec.mesh.shape[spec.mesh.axis(name)])
        sizes.append(size)
    return tuple(sizes)


def own_part(array: Any, spec: ShardingSpec, shape: Sequence[int], member: int) -> Any:
    """The elements of a member's part that are the tensor's, of an array that is as large as the largest part."""
    box = local_box(spec, shape, member)
    return array[tuple(slice(0, max(0, one.stop - one.start)) for one in box)]


def coordinates(shape: Sequence[int], member: int) -> tuple[int, ...]:
    """The place of a member along each axis; the last axis runs fastest."""
    total = 1
    for size in shape:
        total *= size
    if not 0 <= member < total:
        raise MeshError("the mesh has no such member", table=[Row("member", f"0 to {total - 1}", str(member))])
    found = []
    for size in reversed(shape):
        found.append(member % size)
        member //= size
    return tuple(reversed(found))
