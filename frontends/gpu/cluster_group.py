"""``cluster_group``: the blocks of a cluster along one axis of a mesh, as a value of a kernel, and its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.frontends.gpu.composite import Parts, Whole


@dataclass(frozen=True)
class cluster_group_type(Parts, core.base_type):  # type: ignore[misc]
    """``members`` are how many blocks stand along the axis."""

    members: int

    def parts(self) -> Sequence[Any]:
        return (core.int32, core.int32)

    def of(self, parts: Sequence[Any]) -> cluster_group:
        return cluster_group(self.members, *parts)

    def mangle(self) -> str:
        return f"G{self.members}G"

    def __str__(self) -> str:
        return f"{self.members} blocks of a cluster"


class cluster_group(Whole):
    """Of ``tle.multicast_group``.

    Attributes
    ----------
    members : how many blocks; a constant.
    place : which of them this one is; a scalar.
    ranks : their numbers in the cluster, as bits of a scalar.
    """

    def __init__(self, members: int, place: core.tensor, ranks: core.tensor) -> None:
        self.members, self.place, self.ranks = members, place, ranks
        self.type = cluster_group_type(members)

    def parts(self) -> Sequence[Any]:
        return (self.place, self.ranks)

    def __repr__(self) -> str:
        return str(self.type)

    def _set_name(self, builder: Any, name: str) -> None:
        """Its parts keep the names of what they are."""
