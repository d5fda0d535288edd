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
    programs : the grid's first axis is a multiple of each of these.
    exactly : so many blocks meet; 0 where any number may.
    meets : all blocks run at a time.
    counts_clusters : the grid's first axis counts clusters.
    """

    cluster: int = 0
    programs: list[int] = field(default_factory=list)
    exactly: int = 0
    meets: bool = False
    counts_clusters: bool = False

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
            self.programs.append(blocks)
            self.counts_clusters |= record.get(COUNTED, False)
        if symbol == PROGRAM:
            self.programs.append(record["programs"])
        if symbol == GRID_BARRIER:
            self.meets = True
            self.exactly = record["programs"] or self.exactly

    def described(self) -> dict[str, int]:
        """What ``targets/check_launch`` reads."""
        found = {"cluster": self.cluster, "programs": lcm(*self.programs), "exactly": self.exactly}
        return found | ({COUNTED: 1} if self.counts_clusters else {})


def cluster_dims(described: Mapping[str, int]) -> list[int]:
    """A cluster's blocks along the axes of the grid, as kernels tell them that FlagTree compiles."""
    return [described["cluster"] or 1, 1, 1]
