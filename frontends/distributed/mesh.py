"""``tle.device_mesh``: who takes part in a kernel, by axes that have names."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

from tle_raw.errors import MeshError, MeshIndexError, MeshTypeError, Row
from tle_raw.frontends.distributed.topology import Axes, Axis, MeshConfig, axes_of


class device_mesh:
    """GPUs, clusters and blocks in axes that have names.

    Parameters
    ----------
    topology : levels (``node``, ``device``, ``chiplet``, ``block_cluster``, ``block``) and their sizes, as a mapping or
        a ``MeshConfig``. A size is an integer, for one axis that bears the level's name, or a list of ``(name, size)``.
        The first axis is the outermost: members are numbered with the last axis running fastest.

    ``mesh[i, :, ...]`` is a part of a mesh, as NumPy would take it: an integer leaves an axis out, a slice cuts it.
    Parts, and what ``flatten`` and ``reshape`` give, keep the mesh of the launch: ``launch_shape``,
    ``launch_dim_names``, and the numbers of their members in it, ``physical_ids``.

    Raises
    ------
    MeshTypeError, MeshError : see ``topology.axes_of``. MeshIndexError : an index beyond its axis, too many of them.
    """

    __slots__ = ("_axes", "_ids", "_launch")

    def __init__(self, topology: Mapping[str, Axes] | MeshConfig):
        axes = axes_of(topology)
        self._set(axes, tuple(range(prod(axis.size for axis in axes))), axes)

    def _set(self, axes: tuple[Axis, ...], ids: tuple[int, ...], launch: tuple[Axis, ...]) -> None:
        self._axes, self._ids, self._launch = axes, ids, launch

    def _part(self, axes: tuple[Axis, ...], ids: tuple[int, ...]) -> device_mesh:
        part = object.__new__(device_mesh)
        part._set(axes, ids, self._launch)
        return part

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, with the level of each."""
        return self._axes

    @property
    def launch_axes(self) -> tuple[Axis, ...]:
        """The axes of the mesh that this one is a part of."""
        return self._launch

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self._axes)

    @property
    def ndim(self) -> int:
        return len(self._axes)

    @property
    def size(self) -> int:
        """How many members it has."""
        return len(self._ids)

    @property
    def dim_names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self._axes)

    @property
    def physical_ids(self) -> tuple[int, ...]:
        """The numbers of its members in the mesh of the launch, the last axis running fastest."""
        return self._ids

    @property
    def launch_shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self._launch)

    @property
    def launch_dim_names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self._launch)

    def flatten(self) -> device_mesh:
        """The same members along one axis, ``flat``."""
        return self.reshape(self.size)._renamed(("flat",))

    def reshape(self, *shape: int | tuple[int, ...]) -> device_mesh:
        """The same members in another shape, of axes ``dim0``, ``dim1``, …; one size may be -1.

        The level of an axis is the one of all that it is made of, or ``""`` where they differ.
        """
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        found = _completed(tuple(sizes), self.size)
        levels = {axis.level for axis in self._axes}
        level = levels.pop() if len(levels) == 1 else ""
        return self._part(tuple(Axis(f"dim{i}", size, level) for i, size in enumerate(found)), self._ids)

    def _renamed(self, names: tuple[str, ...]) -> device_mesh:
        axes = tuple(Axis(name, axis.size, axis.level) for name, axis in zip(names, self._axes, strict=True))
        return self._part(axes, self._ids)

    def axis(self, which: str | int) -> int:
        """The number of an axis, by its name or by a number that may count from the end.

        Raises MeshError for a name that it does not have, MeshIndexError for a number beyond its axes.
        """
        return find_axis(self._axes, which)

    def __getitem__(self, index: Any) -> device_mesh:
        kept: list[Axis] = []
        taken: list[list[int]] = []
        for axis, one in zip(self._axes, _indices(index, self._axes), strict=True):
            if isinstance(one, slice):
                members = list(range(axis.size))[one]
                if not members:
                    raise MeshIndexError(
                        f"nothing of axis `{axis.name}` is left",
                        table=[Row(axis.name, f"members of {axis.size}", str(one))],
                    )
                kept.append(Axis(axis.name, len(members), axis.level))
            else:
                if not -axis.size <= one < axis.size:
                    raise MeshIndexError(
                        f"index {one} lies beyond axis `{axis.name}`",
                        table=[Row(axis.name, f"{-axis.size} to {axis.size - 1}", str(one))],
                    )
                members = [one % axis.size]
            taken.append(members)
        strides = [prod(self.shape[i + 1 :]) for i in range(self.ndim)]
        ids = (self._ids[sum(i * s for i, s in zip(place, strides, strict=True))] for place in product(*taken))
        return self._part(tuple(kept), tuple(ids))

    def _identity(self) -> tuple[Any, ...]:
        return self._axes, self._ids, self._launch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device_mesh) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        """All that tells two meshes apart: Triton's keys of kernels are made of what values print."""
        axes = ", ".join(map(str, self._axes))
        if self._axes == self._launch:
            return f"device_mesh({axes})"
        return f"device_mesh({axes}; members {list(self._ids)} of {', '.join(map(str, self._launch))})"


def find_axis(axes: tuple[Axis, ...], which: str | int) -> int:
    """The number of an axis, by its name or a number that may count from the end."""
    if isinstance(which, str):
        for number, axis in enumerate(axes):
            if axis.name == which:
                return number
        names = ", ".join(axis.name for axis in axes)
        raise MeshError(f"the mesh has no axis `{which}`", table=[Row("axis", names, which)])
    if not isinstance(which, int) or isinstance(which, bool):
        raise MeshTypeError("an axis is named, or a number", table=[Row("axis", "a name or an integer", repr(which))])
    if not -len(axes) <= which < len(axes):
        raise MeshIndexError(
            f"the mesh has {len(axes)} axes", table=[Row("axis", f"{-len(axes)} to {len(axes) - 1}", str(which))]
        )
    return which % len(axes)


def _indices(index: Any, axes: tuple[Axis, ...]) -> list[Any]:
    """One index for each axis."""
    given = list(index) if isinstance(index, tuple) else [index]
    for one in given:
        if not (one is Ellipsis or isinstance(one, slice) or (isinstance(one, int) and not isinstance(one, bool))):
            raise MeshTypeError(
                "a mesh is indexed by integers, slices and `...`",
                table=[Row("index", "mesh[0, :, 1:3, ...]", repr(one))],
            )
    rest = [number for number, one in enumerate(given) if one is Ellipsis]
    missing = len(axes) - (len(given) - len(rest))
    if missing < 0 or len(rest) > 1:
        raise MeshIndexError(
            "a mesh has one index for each axis, and one `...` at most",
            table=[Row("indices", ", ".join(axis.name for axis in axes), repr(index))],
        )
    at = rest[0] if rest else len(given)
    return given[:at] + [slice(None)] * missing + given[at + len(rest) :]


def _completed(sizes: tuple[Any, ...], members: int) -> tuple[int, ...]:
    if not sizes or not all(isinstance(s, int) and not isinstance(s, bool) and (s > 0 or s == -1) for s in sizes):
        raise MeshTypeError(
            "the shape of a mesh is integers", table=[Row("shape", "sizes from 1 on, one -1", repr(sizes))]
        )
    known = prod(s for s in sizes if s > 0)
    if sizes.count(-1) == 1 and members % known == 0:
        sizes = tuple(members // known if s == -1 else s for s in sizes)
    if -1 in sizes or prod(sizes) != members:
        raise MeshError(
            f"a mesh of {members} has no such shape", table=[Row("shape", f"sizes of {members}", repr(sizes))]
        )
    return sizes
