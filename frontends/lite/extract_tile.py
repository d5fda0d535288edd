"""``tle.extract_tile``: one tile of the grid that a tile's shape makes of a block tensor."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentCountError
from tle_raw.frontends.lite.arguments import check_block
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.select import select
from tle_raw.frontends.lite.tile_grid import find_tile, make_grid
from tle_raw.regions.shapes import shape_of
from tle_raw.triton_types import Semantic


@kernel_function
def extract_tile(
    x: Any, index: Any, tile_shape: Any = None, shape: Any = None, _semantic: Any = None, _generator: Any = None
) -> Any:
    """One tile of a block tensor; also a method, ``x.extract_tile(index=[0, 0], shape=[2, 2])``.

    The tile's shape makes a grid of equal tiles of ``x``; the result is tile number ``index`` of it, bit for bit.

    On every target it is made of ``tl.reshape``, ``tl.permute`` and ``tl.split``. On a GPU a tile whose elements lie
    in the registers of the same threads is free, as whole rows of a block that was loaded do; otherwise Triton moves
    the elements through shared memory.

    Parameters
    ----------
    x : a block tensor of any rank and dtype, pointers included.
    index : in tiles, not in elements: one integer for each axis, or one integer that counts the tiles row by row.
        Each is a constant or a scalar of the kernel. A run-time index beyond the grid wraps round. (Triton makes a
        constant of an argument that is 1.)
    tile_shape, shape : the tile's dims, by either name: constants, powers of two that divide those of ``x``.

    Raises
    ------
    ShapeError : the tile's shape does not fit the tensor.
    TileIndexError : a constant index beyond the grid, or of another rank.
    ArgumentTypeError : ``x`` is no block tensor, or the index no integer.
    """
    if (tile_shape is None) == (shape is None):
        raise ArgumentCountError("tle.extract_tile takes the tile's shape once, as tile_shape= or shape=")
    x = check_block("extract_tile", "x", x)
    grid = make_grid("extract_tile", shape_of(x), shape if tile_shape is None else tile_shape)
    places = find_tile("extract_tile", grid, index, _semantic)
    for axis, (count, place) in enumerate(zip(grid.counts, places)):
        for bit in reversed(range(count.bit_length() - 1)):
            low, high = _halves(x, axis, _semantic)
            chosen = place.bit(_semantic, bit)
            x = (high if chosen else low) if isinstance(chosen, bool) else select(_semantic, chosen, high, low)
    return x


def _halves(x: core.tensor, axis: int, semantic: Semantic) -> tuple[core.tensor, core.tensor]:
    """The lower and the upper half of a tensor along an axis."""
    shape = list(shape_of(x))
    cut = semantic.reshape(x, [*shape[:axis], 2, shape[axis] // 2, *shape[axis + 1 :]], False)
    last = [*range(axis), *range(axis + 1, len(shape) + 1), axis]
    low, high = semantic.split(semantic.permute(cut, last))
    return low, high
