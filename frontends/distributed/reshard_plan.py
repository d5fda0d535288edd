"""What a change of sharding asks of a kernel: from which members each member reads, and what it adds.

A member's new part is read from those that have it, all axes at once: the operations of ``transitions`` one after the
other would move the same data several times. Along each axis of the mesh the members that are read have

* the own coordinate, where nothing changes along it, or the tensor is the same for all;
* every coordinate, where sums are wanted: they are added in the order of the mesh, the last axis running fastest, so
  that all members get the same bits;
* the coordinate that follows from the place in the tensor, where its parts change hands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import gcd, prod
from typing import Any

from tle_raw.errors import MeshError, Row
from tle_raw.frontends.distributed.sharding import Names, ShardingSpec
from tle_raw.frontends.distributed.transitions import transitions


@dataclass(frozen=True)
class Plan:
    """From ``before`` to ``after``, for a tensor of ``rank`` dims."""

    before: ShardingSpec
    after: ShardingSpec
    rank: int

    def sizes(self, names: Names) -> tuple[int, ...]:
        """Of axes of the mesh."""
        mesh = self.before.mesh
        return tuple(mesh.shape[mesh.axis(name)] for name in names)

    def split(self, spec: ShardingSpec, dim: int) -> Names:
        """The axes that split a dim, the outermost first."""
        return spec.split[dim] if spec.split else ()

    @cached_property
    def sums(self) -> Names:
        """The axes over whose members is added."""
        return self._in_order(set(self.before.partial) - set(self.after.partial))

    @cached_property
    def firsts(self) -> Names:
        """The axes whose first member keeps the tensor, where the others get zeros."""
        return self._in_order(set(self.after.partial) & set(self.before.broadcast))

    @cached_property
    def pads(self) -> Names:
        """The axes whose members keep their parts among zeros."""
        return self._in_order(set(self.after.partial) - set(self.firsts) - set(self.before.partial))

    @cached_property
    def copies(self) -> Names:
        """The axes over which is added, and whose members all get the sum: each can add a part for all of them."""
        return tuple(name for name in self.sums if name in self.after.broadcast)

    @cached_property
    def searched(self) -> tuple[Names, ...]:
        """For each dim the axes whose coordinate follows from the place in the tensor."""
        found = []
        for dim in range(self.rank):
            old, new = self.split(self.before, dim), self.split(self.after, dim)
            kept = 0
            while kept < min(len(old), len(new)) and old[kept] == new[kept]:
                kept += 1
            found.append(tuple(name for name in old[kept:] if name not in self.pads))
        return tuple(found)

    @cached_property
    def pieces(self) -> int:
        """How many members a new part may come from, not counting those whose tensors are added."""
        return prod(size for names in self.searched for size in self.sizes(names))

    @cached_property
    def changed(self) -> Names:
        """The axes along which members read from each other."""
        return self._in_order({*self.sums, *(name for names in self.searched for name in names)})

    def summands(self) -> list[dict[str, int]]:
        """The coordinates of those whose tensors are added, in the order of the sum."""
        ranges = (range(size) for size in self.sizes(self.sums))
        return [dict(zip(self.sums, place, strict=True)) for place in product(*ranges)]

    def piece(self, number: int) -> list[dict[str, int]]:
        """Piece ``number``: for each dim the coordinates that are searched."""
        found = []
        for names in reversed(self.searched):
            place = {}
            for name, size in zip(reversed(names), reversed(self.sizes(names)), strict=True):
                place[name], number = number % size, number // size
            found.append(place)
        return found[::-1]

    def alignment(self, shape: Sequence[Any]) -> int:
        """A power of two, 16 at most, that divides where rows, and parts of rows, begin; 1 where no size is known."""
        last = self.rank - 1
        if last < 0 or not isinstance(shape[last], int):
            return 1
        found = gcd(16, shape[last])
        for spec in (self.before, self.after):
            length = shape[last]
            for size in self.sizes(self.split(spec, last)):
                length = -(-length // size)
                found = gcd(found, length)
        return found

    def _in_order(self, names: set[str]) -> Names:
        return tuple(name for name in self.before.mesh.dim_names if name in names)


def plan(before: ShardingSpec, after: ShardingSpec, rank: int) -> Plan:
    """How a tensor of ``rank`` dims gets another sharding.

    Raises
    ------
    MeshError : shardings of two meshes, or for tensors of another rank.
    """
    transitions(before, after)  # checks both against each other
    for what, spec in (("before", before), ("after", after)):
        if spec.rank not in (0, rank):
            raise MeshError(
                "the tensor has another rank than its sharding",
                table=[Row(f"split {what}", f"{rank} dims", f"{spec.rank}: {list(map(list, spec.split))}")],
            )
    return Plan(before, after, rank)
