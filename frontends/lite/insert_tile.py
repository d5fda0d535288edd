"""``tle.insert_tile``: a block tensor with one of its tiles replaced."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.lite.arguments import check_block
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.select import select
from tle_raw.frontends.lite.tile_grid import AxisPlace, TileGrid, find_tile, make_grid
from tle_raw.regions.shapes import shape_of
from tle_raw.triton_types import Semantic


@kernel_function
def insert_tile(x: Any, tile: Any, index: Any, _semantic: Any = None, _generator: Any = None) -> Any:
    """A block tensor with one tile replaced; also a method, ``x.insert_tile(y, index=[0, 0])``.

    ``tile`` makes a grid of equal tiles of ``x``. The result is a new tensor: that tile at ``index``, and ``x``
    elsewhere, bit for bit. ``x`` keeps its value.

    On every target each element is chosen by its place; on a GPU only the tile moves between threads.

    Parameters
    ----------
    x : a block tensor of any rank and dtype, pointers included.
    tile : a block tensor of the same rank and dtype, whose dims divide those of ``x``.
    index : as for ``tle.extract_tile``: in tiles, one integer for each axis or one in all, constant or at run time.

    Raises
    ------
    ShapeError : the tile's shape does not fit the tensor.
    TileIndexError : a constant index beyond the grid, or of another rank.
    ArgumentTypeError : another dtype, no block tensor, or an index that is no integer.
    """
    x, tile = check_block("insert_tile", "x", x), check_block("insert_tile", "tile", tile)
    grid = make_grid("insert_tile", shape_of(x), shape_of(tile))
    if x.dtype != tile.dtype:
        raise ArgumentTypeError(
            "tle.insert_tile: the tile has another dtype than the tensor",
            table=[Row("tile", str(x.dtype), str(tile.dtype))],
            hint=f"convert it: tile.to({x.dtype})" if not x.dtype.is_ptr() else "",
        )
    places = find_tile("insert_tile", grid, index, _semantic)
    if grid.shape == grid.tile:
        return tile
    return _insert(x, tile, grid, places, _semantic)


def _insert(
    x: core.tensor, tile: core.tensor, grid: TileGrid, places: list[AxisPlace], semantic: Semantic
) -> core.tensor:
    """With an axis that counts tiles before each axis that has several."""
    cut: list[int] = []
    counting: dict[int, AxisPlace] = {}
    for count, size, place in zip(grid.counts, grid.tile, places):
        if count > 1:
            counting[len(cut)] = place
            cut.append(count)
        cut.append(size)
    for axis in counting:
        tile = semantic.expand_dims(tile, axis)
    chosen = None
    for axis, place in counting.items():
        number = semantic.arange(0, cut[axis])
        here = semantic.equal(number, place.number(semantic, cut[axis]))
        for other in range(len(cut)):
            here = here if other == axis else semantic.expand_dims(here, other)
        here = semantic.broadcast_impl_shape(here, cut)
        chosen = here if chosen is None else semantic.and_(chosen, here)
    new = semantic.broadcast_impl_shape(tile, cut)
    whole = select(semantic, chosen, new, semantic.reshape(x, cut, False))
    return semantic.reshape(whole, list(grid.shape), False)
