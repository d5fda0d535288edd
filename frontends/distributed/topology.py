"""What a mesh is made of: levels of the hardware, and at each one or several axes with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tle_raw.errors import MeshError, MeshTypeError, Row

# From the outermost to the innermost; a block cluster may also be called `cluster`.
LEVELS = ("node", "device", "chiplet", "block_cluster", "block")
ALIASES = {"cluster": "block_cluster"}

Axes = int | Sequence[tuple[str, int]]  # a size, for one axis that is named as its level, or names with sizes


@dataclass(frozen=True)
class Axis:
    """One axis of a mesh: its name, how many there are along it, and of which level they are."""

    name: str
    size: int
    level: str

    def __str__(self) -> str:
        return f"{self.name}={self.size}@{self.level}"


@dataclass(frozen=True, repr=False)
class MeshConfig:
    """The levels of a mesh by name, where a mapping is not wanted: ``MeshConfig(device=2, block_cluster=4)``.

    Each is a size, or a list of ``(name, size)``; a level that is None is not there.
    """

    node: Axes | None = None
    device: Axes | None = None
    chiplet: Axes | None = None
    block_cluster: Axes | None = None
    block: Axes | None = None

    def to_dict(self) -> dict[str, Axes]:
        """The levels that are there, from the outermost to the innermost."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def __repr__(self) -> str:
        return f"MeshConfig({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


def axes_of(topology: Mapping[str, Axes] | MeshConfig) -> tuple[Axis, ...]:
    """The axes of a topology, in its order.

    Raises
    ------
    MeshTypeError : what is no mapping of levels to sizes.
    MeshError : no axis, a level that is unknown, a size below 1, one name twice.
    """
    if isinstance(topology, MeshConfig):
        topology = topology.to_dict()
    if not isinstance(topology, Mapping):
        raise MeshTypeError(
            "a mesh is made of a mapping of levels to sizes, or of a MeshConfig",
            table=[Row("topology", '{"device": 2, "block_cluster": [("x", 2), ("y", 2)]}', repr(topology))],
        )
    axes = tuple(axis for level, given in topology.items() for axis in _axes_of_level(level, given))
    if not axes:
        raise MeshError("a mesh has an axis at least", table=[Row("topology", "levels with sizes", repr(topology))])
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise MeshError(f"two axes of a mesh are called `{name}`", table=[Row("axes", "other names", repr(names))])
    return axes


def _axes_of_level(level: Any, given: Any) -> list[Axis]:
    known = ALIASES.get(level, level)
    if known not in LEVELS:
        raise MeshError(f"`{level}` is no level of a mesh", table=[Row("level", ", ".join(LEVELS), repr(level))])
    if isinstance(given, int) and not isinstance(given, bool):
        return [Axis(str(level), _size(level, given), known)]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise _no_axes(level, given)
    if not given:
        raise MeshError(
            f"level `{level}` has no axis", table=[Row(level, "a size, or (name, size) pairs", repr(given))]
        )
    axes = []
    for pair in given:
        if not (isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], str) and pair[0]):
            raise _no_axes(level, given)
        axes.append(Axis(pair[0], _size(pair[0], pair[1]), known))
    return axes


def _size(name: str, size: Any) -> int:
    if not isinstance(size, int) or isinstance(size, bool):
        raise MeshTypeError(
            f"the size of axis `{name}` is no integer", table=[Row(name, "an integer from 1 on", repr(size))]
        )
    if size < 1:
        raise MeshError(f"axis `{name}` is empty", table=[Row(name, "a size from 1 on", str(size))])
    return size


def _no_axes(level: str, given: Any) -> MeshTypeError:
    return MeshTypeError(
        f"level `{level}` has a size, or axes with names and sizes",
        table=[Row(level, 'an integer, or [("x", 2), ("y", 4)]', repr(given))],
    )
