"""Tiles that another warp copies: slots in shared memory, and for each of them two barriers.

One barrier tells that a tile has arrived, the other that all products have read it. Tiles that stay for the whole loop
have one slot, and no second barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from triton.language import core

from tle_raw.regions.structure import Structure
from tle_raw.triton_types import Semantic


class Load(Protocol):
    """A copy of tiles into a ring."""

    @property
    def descriptor(self) -> str:
        """What tells the copies of a turn apart."""

    @property
    def tile(self) -> tuple[int, ...]:
        """The shape of a tile."""

    @property
    def bytes(self) -> int:
        """Of one tile."""


@dataclass(frozen=True, eq=False)
class Ring:
    """The tiles of one copy."""

    load: Any
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
    """All rings of a program, and what is done with their slots where ``semantic`` writes."""

    def __init__(self, semantic: Semantic, structure: Structure) -> None:
        self._semantic, self._structure = semantic, structure
        self.every: list[Ring] = []

    def add(self, load: Load, dtype: core.dtype, slots: int, stays: bool = False) -> Ring:
        """A ring for a copy's tiles; with one slot for a tile that ``stays``."""
        structure, slots = self._structure, 1 if stays else slots
        tiles = structure.buffer(slots, load.tile, dtype)
        full = structure.barriers(slots, expect_bytes=load.bytes)
        self.every.append(Ring(load, slots, tiles, full, None if stays else structure.barriers(slots, ready=True)))
        return self.every[-1]

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
        return self._semantic.mod(use, self._semantic.scalar_constant(ring.slots, core.int32))

    def _round(self, ring: Ring, use: core.tensor) -> core.tensor:
        return self._semantic.floordiv(use, self._semantic.scalar_constant(ring.slots, core.int32))
