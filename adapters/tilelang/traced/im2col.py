"""``T.im2col``: the pixels under a filter as rows of a matrix, zeros beyond the picture."""

from __future__ import annotations

from tle_raw.adapters.tilelang.regions import region_of
from tle_raw.adapters.tilelang.tir_types import Call
from tle_raw.adapters.tilelang.traced import access, boxes
from tle_raw.adapters.tilelang.traced.tracer import Tracer


def im2col(tracer: Tracer, call: Call) -> None:
    """Rows are output pixels, columns are the filter's height, width and channels; pictures are N, H, W, C."""
    picture, matrix = region_of(call.args[0]).buffer, region_of(call.args[1])
    row_step, column_step = call.args[2], call.args[3]
    size, stride, dilation, edge = (tracer.size(a, "a filter") for a in call.args[4:8])
    rows, columns = boxes.sizes(tracer, matrix)
    _, height, width, channels = picture.shape
    reach = dilation * (size - 1) + 1
    high, wide = ((n + 2 * edge - reach) // stride + 1 for n in (height, width))
    with boxes.walking(tracer, [rows, columns]) as (i, j):
        pixel, place = row_step * rows + i, column_step * columns + j
        y = pixel % (high * wide) // wide * stride + place // (size * channels) * dilation - edge
        x = pixel % wide * stride + place // channels % size * dilation - edge
        inside = place < size * size * channels
        with tracer.guarded(None if tracer.proves(inside) else tracer.evaluate(inside)):
            value = access.load(tracer, picture, [pixel // (high * wide), y, x, place % channels])
        access.store(tracer, matrix.buffer, boxes.indices(matrix, [i, j], (0, 1)), value)
