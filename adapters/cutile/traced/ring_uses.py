"""The how manieth use of each ring it is, counted along the kernel's loops.

Rings that are filled in the same bodies count together. In a loop the counts are carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.specialise.plan import Plan
from tle_raw.adapters.cutile.specialise.tile_rings import TileRing
from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.values import constant

Bodies = frozenset[int]


class RingUses:
    """Of one partition of the warps; all counts begin at zero."""

    def __init__(self, tracer: Tracer, plan: Plan) -> None:
        self._tracer = tracer
        self._groups: list[Bodies] = list(dict.fromkeys(ring.homes for ring in plan.rings if not ring.stays))
        self._counts = {group: constant(tracer, 0, core.int32) for group in self._groups}

    def of(self, ring: TileRing) -> core.tensor:
        """Of a ring whose tiles change."""
        return self._counts[ring.homes]

    def carried(self, loop: Operation) -> list[core.tensor]:
        """The counts that change in a loop."""
        return [self._counts[group] for group in self._of(loop)]

    def enter(self, loop: Operation, counts: Sequence[core.tensor]) -> None:
        """The same, from here on."""
        self._counts.update(zip(self._of(loop), counts))

    def advance(self, loop: Operation) -> None:
        """A turn of the loop's body is over."""
        one = constant(self._tracer, 1, core.int32)
        for group in self._groups:
            if id(loop.body) in group:
                self._counts[group] = self._tracer.make("create_add", core.int32, self._counts[group], one)

    def _of(self, loop: Operation) -> list[Bodies]:
        bodies = {id(loop.body), *_bodies(loop)}
        return [group for group in self._groups if group & bodies]


def _bodies(op: Any) -> set[int]:
    """The blocks within an operation."""
    found: set[int] = set()
    for block in op.nested_blocks:
        found.add(id(block))
        for inner in block:
            found |= _bodies(inner)
    return found
