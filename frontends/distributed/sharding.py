"""``tle.sharding``: what each member of a mesh has of a tensor.

Along each axis of the mesh a tensor is in one of three states, as in JAX's and torch's shardings: *split* (each member
has a part of one of its dims), *partial* (each has a tensor, and their sum is meant) or *broadcast* (each has it all).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import MeshError, MeshTypeError, Row
from tle_raw.frontends.distributed.mesh import device_mesh

Names = tuple[str, ...]


@dataclass(frozen=True)
class S:
    """A dim of a tensor is split along an axis of the mesh, or along several, the first one outermost."""

    axis: str | Sequence[str]


@dataclass(frozen=True)
class P:
    """A tensor is a sum over the members along an axis of the mesh, or along several."""

    axis: str | Sequence[str]


class _Broadcast:
    """A dim that is not split: every member has all of it."""

    def __repr__(self) -> str:
        return "B"


B = _Broadcast()


@dataclass(frozen=True)
class ShardingSpec:
    """Which axes of ``mesh`` split each dim of a tensor, and over which it is a sum.

    split : for each dim of the tensor the axes that split it, the outermost first; () for a dim that is whole.
    partial : the axes over which the tensors of the members are added.
    broadcast : all other axes of the mesh, in its order.
    """

    mesh: device_mesh
    split: tuple[Names, ...]
    partial: Names
    broadcast: Names

    @property
    def rank(self) -> int:
        """Of the tensors that it describes; 0 where no dim is told of, which fits every tensor."""
        return len(self.split)

    def axis_state(self, axis: str | int) -> str:
        """ "S", "P" or "B": what holds along an axis of the mesh. MeshError for one that it does not have."""
        name = self.mesh.dim_names[self.mesh.axis(axis)]
        if name in self.partial:
            return "P"
        return "B" if name in self.broadcast else "S"

    def split_dim(self, axis: str | int) -> int | None:
        """The dim of the tensor that an axis splits; None where it splits none."""
        name = self.mesh.dim_names[self.mesh.axis(axis)]
        return next((dim for dim, names in enumerate(self.split) if name in names), None)

    def parts(self) -> tuple[int, ...]:
        """Into how many parts each dim is split."""
        sizes = dict(zip(self.mesh.dim_names, self.mesh.shape, strict=True))
        found = []
        for names in self.split:
            count = 1
            for name in names:
                count *= sizes[name]
            found.append(count)
        return tuple(found)


def sharding(mesh: device_mesh, split: Any = None, partial: Any = None) -> ShardingSpec:
    """What each member of ``mesh`` has of a tensor.

    Parameters
    ----------
    mesh : a ``device_mesh``.
    split : for each dim of the tensor an axis of the mesh, several (the outermost first), or None, ``()`` or ``B`` for
        a dim that is whole; ``S(axis)`` is the axis. None: no dim is split.
    partial : an axis, or several, over which the members' tensors are added; ``P(axis)`` is the axis.

    What is named by neither is broadcast.

    Raises
    ------
    MeshTypeError : what is no mesh, or no name. MeshError : an axis that the mesh does not have, or that is used twice.
    """
    if not isinstance(mesh, device_mesh):
        raise MeshTypeError("a sharding belongs to a mesh", table=[Row("mesh", "tle.device_mesh(…)", repr(mesh))])
    if split is not None and (isinstance(split, str | S) or not isinstance(split, Sequence)):
        raise MeshTypeError(
            "`split` names axes for each dim of the tensor", table=[Row("split", '["x", None]', repr(split))]
        )
    dims = tuple(_names(one, S, "split") for one in split or ())
    sums = _names(partial, P, "partial")
    used = [name for names in (*dims, sums) for name in names]
    for name in used:
        mesh.axis(name)
        if used.count(name) > 1:
            raise MeshError(
                f"axis `{name}` of the mesh is used twice",
                table=[
                    Row("split", "an axis once, in split or in partial", repr(split)),
                    Row("partial", "", repr(partial)),
                ],
            )
    return ShardingSpec(mesh, dims, sums, tuple(name for name in mesh.dim_names if name not in used))


def _names(given: Any, state: type[S] | type[P], what: str) -> Names:
    if isinstance(given, state):
        given = given.axis
    if given is None or given is B:
        return ()
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Sequence):
        return tuple(name for one in given for name in _names(one, state, what))
    raise MeshTypeError(f"`{what}` names axes of the mesh", table=[Row(what, 'a name, or ["x", "y"]', repr(given))])


@dataclass(frozen=True)
class ShardedTensor:
    """A member's own tensor or pointer, and the sharding that says what it is of the whole.

    shape : of the whole tensor; None where it is not told.
    """

    handle: Any
    sharding: ShardingSpec
    shape: tuple[int, ...] | None = None


def make_sharded_tensor(handle: Any, sharding: ShardingSpec, shape: Sequence[int] | None = None) -> ShardedTensor:
    """A member's tensor with its sharding.

    Parameters
    ----------
    handle : what the member has: a tensor, a block tensor, a pointer.
    sharding : a ``ShardingSpec``.
    shape : of the whole tensor, with one size for each dim of the sharding.

    Raises
    ------
    MeshTypeError : a sharding or a shape of another kind. MeshError : a shape of another rank than the sharding.
    """
    if not isinstance(sharding, ShardingSpec):
        raise MeshTypeError(
            "a sharded tensor has a sharding", table=[Row("sharding", "tle.sharding(…)", repr(sharding))]
        )
    if shape is None:
        return ShardedTensor(handle, sharding)
    sizes = tuple(shape)
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
        raise MeshTypeError("the shape of a tensor is integers", table=[Row("shape", "sizes from 0 on", repr(shape))])
    if sharding.split and len(sizes) != sharding.rank:
        raise MeshError(
            "the tensor has another rank than its sharding",
            table=[Row("shape", f"{sharding.rank} sizes, for split={list(map(list, sharding.split))}", repr(sizes))],
        )
    return ShardedTensor(handle, sharding, sizes)
