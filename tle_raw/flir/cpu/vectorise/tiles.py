"""How the iterations of a tile are spread over loops and the lanes of a vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Chunk:
    """One dimension: ``count`` chunks of ``lanes`` iterations each, from ``start`` on."""

    start: int
    lanes: int
    count: int

    @property
    def stop(self) -> int:
        return self.start + self.lanes * self.count


@dataclass(frozen=True)
class VectorTile:
    """Which iterations one pass of the body works on; lanes run through the dimensions row by row."""

    dims: tuple[Chunk, ...]

    @property
    def lanes(self) -> int:
        return math.prod(chunk.lanes for chunk in self.dims)

    def steps(self, dim: int) -> tuple[int, ...]:
        """By how much a dimension's index in each lane differs from that in lane 0."""
        return tuple(point[dim] for point in itertools.product(*(range(chunk.lanes) for chunk in self.dims)))


def along(shape: Sequence[int], dim: int, most: int) -> tuple[int, ...]:
    """Lanes per dimension when the vector runs along one of them."""
    return tuple(_power_of_two(min(size, most)) if d == dim else 1 for d, size in enumerate(shape))


def across_rows(shape: Sequence[int], most: int) -> tuple[int, ...]:
    """Lanes per dimension when the vector covers whole rows of the innermost dimensions, and a part of one more."""
    lanes = [1] * len(shape)
    for dim in reversed(range(len(shape))):
        lanes[dim] = _power_of_two(min(shape[dim], most))
        if lanes[dim] != shape[dim]:
            break
        most //= shape[dim]
    return tuple(lanes)


def block(shape: Sequence[int], row: int, column: int, most: int) -> tuple[int, ...] | None:
    """Lanes per dimension when the vector covers a square block, as a transposition wants it."""
    side = 1 << (most.bit_length() // 2)
    if shape[row] % side or shape[column] % (most // side):
        return None
    return tuple(side if d == row else most // side if d == column else 1 for d in range(len(shape)))


def covering(shape: Sequence[int], lanes: Sequence[int]) -> VectorTile:
    """One tile over all iterations, and beyond the end where the lanes do not divide a dimension."""
    return VectorTile(tuple(Chunk(0, width, -(-size // width)) for size, width in zip(shape, lanes)))


def split(shape: Sequence[int], lanes: Sequence[int], unroll: int = 1) -> list[VectorTile]:
    """Tiles that together cover all iterations.

    What is left of a dimension is covered by shorter and shorter vectors. Up to ``unroll`` chunks are written out one
    by one rather than as a loop.
    """
    parts = [list(_chunks(size, width, unroll)) for size, width in zip(shape, lanes)]
    return [VectorTile(dims) for dims in itertools.product(*parts)]


def _chunks(size: int, lanes: int, unroll: int) -> list[Chunk]:
    if lanes == 1:
        return [Chunk(0, 1, size)]
    chunks = []
    start = 0
    while start < size:
        count = (size - start) // lanes
        if count > unroll:
            chunks.append(Chunk(start, lanes, count))
        else:
            chunks += [Chunk(start + i * lanes, lanes, 1) for i in range(count)]
        start += count * lanes
        lanes //= 2
    return chunks


def _power_of_two(size: int) -> int:
    return 1 << (size.bit_length() - 1)
