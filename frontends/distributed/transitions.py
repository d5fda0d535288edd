"""What has to be moved for a tensor to change its sharding: one collective operation along one axis at a time.

======================  ====================  ======================================================================
from                    to                    operation
======================  ====================  ======================================================================
partial                 broadcast             ``all_reduce``: every member gets the sum
partial                 split                 ``reduce_scatter``: every member gets its part of the sum
split                   broadcast             ``all_gather``: every member gets all parts
split along a dim       split along another   ``all_to_all``: every member sends each other one a part of its part
broadcast               split                 ``slice``: every member keeps its part; nothing is sent
broadcast               partial               ``keep_first``: the first member keeps it, the others have zeros
split                   partial               ``pad``: every member's part among zeros; nothing is sent
======================  ====================  ======================================================================

The axes that split one dim are nested: only the innermost can be taken away, and a new one comes inside the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.sharding import Names, ShardingSpec

Operation = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "slice", "keep_first", "pad"]


@dataclass(frozen=True)
class Step:
    """One operation along one axis of the mesh.

    dim : of the tensor, which the axis splits after it, or before it for ``all_gather`` and ``pad``; None for others.
    from_dim : of ``all_to_all``, which the axis has split before.
    """

    operation: Operation
    axis: str
    dim: int | None = None
    from_dim: int | None = None


def transitions(before: ShardingSpec, after: ShardingSpec) -> list[Step]:
    """The operations that lead from one sharding to another one, in their order.

    Sums are moved as parts where they can be, and a part goes from one dim to another without being gathered.

    Raises
    ------
    MeshError : shardings of two meshes, or of tensors of two ranks.
    """
    if before.mesh != after.mesh:
        raise MeshError(
            "a tensor keeps its mesh when its sharding changes",
            table=[Row("mesh", repr(before.mesh), repr(after.mesh))],
        )
    rank = max(before.rank, after.rank)
    if {before.rank, after.rank} - {0, rank}:
        raise MeshError(
            "the two shardings are for tensors of two ranks",
            table=[Row("split", f"{before.rank} dims", f"{after.rank} dims")],
        )
    planner = _Planner(_dims(before, rank), _dims(after, rank), set(before.partial), set(after.partial))
    planner.unsplit()
    planner.split()
    planner.finish_sums(before.mesh.dim_names)
    return planner.steps


def _dims(spec: ShardingSpec, rank: int) -> list[Names]:
    return list(spec.split) or [()] * rank


class _Planner:
    """``now`` is how each dim is split after the steps so far."""

    def __init__(self, now: list[Names], wanted: list[Names], sums: set[str], sums_wanted: set[str]):
        self.now, self.wanted, self.sums, self.sums_wanted = now, wanted, sums, sums_wanted
        self.steps: list[Step] = []

    def unsplit(self) -> None:
        """Take the innermost axes away until what is left of each dim is how its wanted split begins."""
        while over := [dim for dim, names in enumerate(self.now) if names != self.wanted[dim][: len(names)]]:
            # First what goes on to another dim at once: gathered, it would be sent whole and cut again.
            moves = [(dim, self._next_dim(self.now[dim][-1], dim)) for dim in over]
            dim, to = next((move for move in moves if move[1] is not None), moves[0])
            axis = self.now[dim][-1]
            self.now[dim] = self.now[dim][:-1]
            if to is not None:
                self.now[to] = (*self.now[to], axis)
                self.steps.append(Step("all_to_all", axis, to, dim))
            elif axis in self.sums_wanted:
                self.sums.add(axis)
                self.steps.append(Step("pad", axis, dim))
            else:
                self.steps.append(Step("all_gather", axis, dim))

    def _next_dim(self, axis: str, but: int) -> int | None:
        """The dim that this axis is the next one to split."""
        for dim, names in enumerate(self.now):
            if dim != but and self.wanted[dim][: len(names) + 1] == (*names, axis):
                return dim
        return None

    def split(self) -> None:
        for dim, names in enumerate(self.wanted):
            for axis in names[len(self.now[dim]) :]:
                self.steps.append(Step("reduce_scatter" if axis in self.sums else "slice", axis, dim))
                self.sums.discard(axis)
            self.now[dim] = names

    def finish_sums(self, axes: Names) -> None:
        self.steps += [Step("all_reduce", axis) for axis in axes if axis in self.sums - self.sums_wanted]
        self.steps += [Step("keep_first", axis) for axis in axes if axis in self.sums_wanted - self.sums]
