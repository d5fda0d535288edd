"""The grid of equal tiles that a tile's shape makes of a block tensor, and the place of one tile in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, TileIndexError
from tle_raw.frontends.lite.arguments import describe_value, is_integer, is_scalar_integer, items, plain
from tle_raw.triton_types import Semantic


@dataclass(frozen=True)
class TileGrid:
    """``counts[a]`` tiles of ``tile[a]`` elements along axis ``a``; all are powers of two, as Triton's blocks are."""

    shape: tuple[int, ...]
    tile: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tiles lie along each axis."""
        return tuple(whole // part for whole, part in zip(self.shape, self.tile))

    def __str__(self) -> str:
        return f"{list(self.counts)} tiles of {list(self.tile)} in {list(self.shape)}"


@dataclass(frozen=True)
class AxisPlace:
    """Which tile along one axis: a constant, or the bits of a run-time i32 from ``shift`` on.

    As many bits count as the number of tiles has: a run-time index beyond the grid wraps round.
    """

    value: int | core.tensor
    shift: int = 0

    def bit(self, semantic: Semantic, bit: int) -> bool | core.tensor:
        """One bit of the place, as a bool or as a scalar i1."""
        if isinstance(self.value, int):
            return bool(self.value >> bit & 1)
        mask = semantic.scalar_constant(1 << (bit + self.shift), core.int32)
        return semantic.not_equal(semantic.and_(self.value, mask), semantic.scalar_constant(0, core.int32))

    def number(self, semantic: Semantic, count: int) -> core.tensor:
        """The place as a scalar i32."""
        if isinstance(self.value, int):
            return semantic.scalar_constant(self.value, core.int32)
        shifted = self.value
        if self.shift:
            shifted = semantic.lshr(shifted, semantic.scalar_constant(self.shift, core.int32))
        return semantic.and_(shifted, semantic.scalar_constant(count - 1, core.int32))


def make_grid(function: str, shape: tuple[int, ...], tile: Any) -> TileGrid:
    """The grid that a tile's shape makes.

    Raises
    ------
    ShapeError : no list of compile-time integers, another rank, or dims that do not divide the tensor's.
    """
    dims = items(tile)
    if dims is None and is_integer(plain(tile)):
        dims = [plain(tile)]
    if dims is None or not all(map(is_integer, dims)):
        raise ShapeError(
            f"tle.{function}: the shape of a tile is a list of compile-time integers",
            table=[Row("shape", "e.g. [16, 16]", describe_value(tile))],
        )
    if len(dims) != len(shape):
        raise ShapeError(
            f"tle.{function}: the tile has rank {len(dims)}, the tensor rank {len(shape)}",
            table=[Row("shape", f"{len(shape)} dims, for a tensor of {list(shape)}", str(dims))],
        )
    for axis, (whole, part) in enumerate(zip(shape, dims)):
        if part < 1 or part & (part - 1):
            raise ShapeError(
                f"tle.{function}: dims of a tile are powers of two",
                table=[Row(f"dim {axis} of the tile", "a power of two", str(part))],
            )
        if part > whole:
            raise ShapeError(
                f"tle.{function}: the tile is larger than the tensor",
                table=[Row(f"dim {axis} of the tile", f"at most {whole}", str(part))],
            )
    return TileGrid(shape, tuple(dims))


def find_tile(function: str, grid: TileGrid, index: Any, semantic: Semantic) -> list[AxisPlace]:
    """Where a tile lies along each axis.

    ``index`` is one integer for each axis, in tiles, or one integer that counts the tiles row by row. Each of them is
    a constant or a scalar of the kernel.

    Raises
    ------
    TileIndexError : a constant beyond the grid, or another number of integers than the tensor's rank.
    ArgumentTypeError : something else than integers.
    """
    each = items(index)
    if each is None:
        return _linear(function, grid, plain(index), semantic)
    if len(each) != len(grid.shape):
        raise TileIndexError(
            f"tle.{function}: the index has {len(each)} entries, the tensor rank {len(grid.shape)}",
            table=[Row("index", f"{len(grid.shape)} integers, or one that counts row by row", describe_value(index))],
        )
    return [
        AxisPlace(_place(function, grid, f"index[{axis}]", value, count, semantic))
        for axis, (value, count) in enumerate(zip(each, grid.counts))
    ]


def _linear(function: str, grid: TileGrid, index: Any, semantic: Semantic) -> list[AxisPlace]:
    place = _place(function, grid, "index", index, math.prod(grid.counts), semantic)
    places: list[AxisPlace] = []
    shift = 0
    for count in reversed(grid.counts):
        places.append(AxisPlace(place >> shift & (count - 1)) if isinstance(place, int) else AxisPlace(place, shift))
        shift += count.bit_length() - 1
    return places[::-1]


def _place(function: str, grid: TileGrid, name: str, value: Any, count: int, semantic: Semantic) -> int | core.tensor:
    if is_integer(value):
        if not 0 <= value < count:
            raise TileIndexError(
                f"tle.{function}: no such tile: there are {grid}",
                table=[Row(name, f"0 to {count - 1}", str(value))],
            )
        return value
    if is_scalar_integer(value):
        return semantic.cast(value, core.int32)
    raise ArgumentTypeError(
        f"tle.{function}: an index is an integer, constant or a scalar of the kernel, or a list of such",
        table=[Row(name, "an integer", describe_value(value))],
    )
