"""Where a tile of an array lies in the array's matrix, the rows and columns that the copy engine counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.tilelang.traced.tile_loads import Load
from tle_raw.adapters.tilelang.traced.tracer import Tracer

_ELEMENTS = 8  # of sixteen bits: a multiple of them begins a tile along the columns


def place_of(tracer: Tracer, load: Load) -> tuple[Any, Any]:
    """Row and column, expressions of the program's.

    What lies beyond the matrix is read as zeros, as TileLang reads what lies beyond an array. But a tile that went over
    the end of an inner dim would hold elements of the next row or column of the array.

    Raises
    ------
    UntraceableError : such a tile, or one that the copy engine does not take, cannot be ruled out.
    """
    box, shape = load.source, list(load.source.buffer.shape)
    edges = {d for d in (load.split - 1, len(shape) - 1) if d in (0, load.split)}  # the outermost of their part
    for dim, (origin, extent, size) in enumerate(zip(box.origin, box.extents, shape)):
        origin = tracer.simplify(origin)
        if dim not in edges and not (tracer.proves(origin >= 0) and tracer.proves(origin + extent <= size)):
            raise tracer.fail(f"a tile of `{load.array}` that may go over the end of a dim, by another warp")
    parts = range(load.split), range(load.split, len(shape))
    row, column = (tracer.simplify(_number([box.origin[d] for d in p], [shape[d] for d in p])) for p in parts)
    if not tracer.proves(column % _ELEMENTS == 0):
        raise tracer.fail(f"a tile of `{load.array}` that may begin between multiples of 16 bytes, by another warp")
    return row, column


def _number(origins: Sequence[Any], shape: Sequence[Any]) -> Any:
    """Of an element, counted row by row."""
    number: Any = 0
    for origin, size in zip(origins, shape):
        number = number * size + origin
    return number
