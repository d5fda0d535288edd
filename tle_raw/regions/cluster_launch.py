"""What a launch of a kernel has to be, as the functions of ``clusters`` in it say: for the metadata of every target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import lcm
from typing import Any

from tle_raw.errors import MeshError, Row
from tle_raw.regions.clusters import COUNTED, GRID_BARRIER, PROGRAM


@dataclass
class ClusterLaunch:
    """What is known so far.

    Attributes
    ----------
    cluster : how many blocks a cluster has; 0 without clusters.
    programs : the grid's first axis, in blocks, is a multiple of each of these.
    exactly : so many blocks meet; 0 where any number may.
    meets : all blocks run at a time.
    counted : the grid counts clusters, that have so many blocks along each of its axes.
    """

    cluster: int = 0
    programs: list[int] = field(default_factory=list)
    exactly: int = 0
    meets: bool = False
    counted: list[int] = field(default_factory=list)

    def note(self, symbol: str, record: Mapping[str, Any]) -> None:
        """One of the functions, with its record; raises MeshError where clusters of another size were noted before."""
        blocks = record.get("cluster", 0)
        if blocks:
            if self.cluster and self.cluster != blocks:
                raise MeshError(
                    "two meshes of a kernel say how many blocks a cluster has, and differ",
                    table=[Row("blocks of the cluster", str(self.cluster), str(blocks))],
                )
            self.cluster = blocks
            self.counted = record.get(COUNTED, self.counted)
            self.programs.append(self.counted[0] if self.counted else blocks)
        if symbol == PROGRAM:
            self.programs.append(record["programs"])
        if symbol == GRID_BARRIER:
            self.meets = True
            self.exactly = record["programs"] or self.exactly

    @property
    def dims(self) -> list[int]:
        """A cluster's blocks along the axes of the grid; empty without clusters."""
        return cluster_dims(self.described()) if self.cluster else []

    def described(self) -> dict[str, Any]:
        """What ``targets/check_launch`` reads."""
        found = {"cluster": self.cluster, "programs": lcm(*self.programs), "exactly": self.exactly}
        return found | ({COUNTED: self.counted} if self.counted else {})


def cluster_dims(described: Mapping[str, Any]) -> list[int]:
    """A cluster's blocks along the axes of the grid, as kernels tell them that FlagTree compiles."""
    return list(described.get(COUNTED) or [described["cluster"] or 1, 1, 1])
