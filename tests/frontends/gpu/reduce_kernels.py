"""Tiles that are combined with what global memory holds."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def combined(x_ptr, o_desc, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Every program combines its tile of x with the same tile behind the descriptor, which begins at row 2."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tile = tle.gpu.alloc([M, N], o_desc.dtype)
    tile.store(tl.load(x_ptr + tl.program_id(0) * M * N + rows[:, None] * N + columns[None, :]))
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[2, 0], reduce=KIND)


@triton.jit
def accumulated(x_ptr, o_desc, count, M: tl.constexpr, N: tl.constexpr):
    """Every program adds its tiles of x one by one, through one buffer, to the array behind the descriptor."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tle.gpu.alloc([M, N], o_desc.dtype)
    for i in range(count):
        tile.store(tl.load(x_ptr + (tl.program_id(0) * count + i) * M * N + at))
        tle.gpu.copy(tile, o_desc, [M, N], offsets=[0, 0], reduce="add")


@triton.jit
def loaded(x_desc, o_desc, M: tl.constexpr, N: tl.constexpr):
    """A tile that the copy engine brings is added to the array behind a descriptor of the same type."""
    full = tle.gpu.alloc_barrier(expect_bytes=M * N * 4)
    tile = tle.gpu.alloc([M, N], o_desc.dtype)
    tle.gpu.copy(x_desc, tile, [M, N], offsets=[0, 0], barrier=full)
    tle.gpu.barrier_wait(full, 0)
    tle.gpu.copy(tile, o_desc, [M, N], offsets=[2, 0], reduce="add")
