"""Tiles that another warp copies: slots in shared memory, and for each of them two barriers.

One barrier tells that a tile has arrived, the other that all products have read it. Tiles that stay for the whole loop
have one slot, and no second barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.traced.tile_loads import Load
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.regions.structure import Structure


@dataclass(frozen=True, eq=False)
class Ring:
    """The tiles of one copy."""

    load: Load
    slots: int
    tiles: Any
    full: Any
    empty: Any

    @property
    def stays(self) -> bool:
        """Whether it is filled once."""
        return self.empty is None

    @property
    def values(self) -> list[Any]:
        """What a worker captures of it."""
        return [self.tiles, self.full] if self.stays else [self.tiles, self.full, self.empty]

    def captured(self, given: Iterator[Any]) -> Ring:
        """The same in a worker, from the captured values."""
        tiles, full = next(given), next(given)
        return replace(self, tiles=tiles, full=full, empty=None if self.stays else next(given))


@dataclass(frozen=True, eq=False)
class Turn:
    """One turn of the loop: the how manieth use of the rings it is, and which tiles are known to be there."""

    use: core.tensor
    arrived: set[str]


class Rings:
    """All rings of a loop, and what is done with their slots where the tracer stands."""

    def __init__(self, tracer: Tracer, structure: Structure, resident: Sequence[Load], moving: Sequence[Load]) -> None:
        self._tracer, self._structure, self._slots = tracer, structure, 0
        self._resident, self._moving = resident, moving
        self.every: list[Ring] = []

    def allocate(self, slots: int) -> None:
        """In the loads' order: those that stay, then the loop's."""
        self.every = [*(self._made(load, 1, True) for load in self._resident)]
        self.every += [self._made(load, slots, False) for load in self._moving]

    def _made(self, load: Load, slots: int, stays: bool) -> Ring:
        structure = self._structure
        tiles = structure.buffer(slots, load.tile, self._tracer.dtype(load.target.dtype))
        full = structure.barriers(slots, expect_bytes=load.bytes)
        return Ring(load, slots, tiles, full, None if stays else structure.barriers(slots, ready=True))

    def of(self, memory: Any) -> Ring | None:
        """The ring that stands for a shared buffer."""
        return next((r for r in self.every if r.load.target.data.same_as(memory)), None)

    def await_resident(self) -> None:
        """Wait for the tiles that stay."""
        for ring in self.every:
            if ring.stays:
                self._structure.wait(ring.full, 0, 0)

    def tile(self, ring: Ring, turn: Turn, turned: bool) -> Any:
        """The tile of a turn, which has arrived."""
        number = 0 if ring.stays else self._number(ring, turn.use)
        if not ring.stays and ring.load.descriptor not in turn.arrived:
            turn.arrived.add(ring.load.descriptor)
            self._structure.wait(ring.full, number, self._round(ring, turn.use))
        tile = self._structure.slot(ring.tiles, number)
        return self._structure.turned(tile) if turned else tile

    def free(self, ring: Ring, use: core.tensor) -> None:
        """Everybody has read a turn's tile."""
        self._structure.arrive(ring.empty, self._number(ring, use), self._round(ring, use))

    def fill(self, ring: Ring, use: core.tensor | None, descriptor: Any, place: Sequence[core.tensor]) -> None:
        """Copy a tile into its slot, when that is free."""
        number: Any = 0
        if use is not None:
            number = self._number(ring, use)
            self._structure.wait(ring.empty, number, self._round(ring, use))
        self._structure.copy(descriptor, self._structure.slot(ring.tiles, number), place, ring.full, number)

    def _number(self, ring: Ring, use: core.tensor) -> core.tensor:
        return self._tracer.semantic.mod(use, self._tracer.number(ring.slots, core.int32))

    def _round(self, ring: Ring, use: core.tensor) -> core.tensor:
        return self._tracer.semantic.floordiv(use, self._tracer.number(ring.slots, core.int32))
