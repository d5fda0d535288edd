"""Tiles that go through a buffer from any place of an array to any other."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def moved(x_desc, o_desc, row, column, to_row, to_column, M: tl.constexpr, N: tl.constexpr):
    tile = tle.gpu.alloc([M, N], x_desc.dtype)
    tle.gpu.copy(x_desc, tile, [M, N], offsets=[row, column])
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[to_row, to_column])
