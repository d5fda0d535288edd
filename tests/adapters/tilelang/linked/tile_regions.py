"""Triton kernels whose own block tensors go into linked TileLang regions, for tests with a GPU and without."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw
from tests.adapters.tilelang.linked import kernels


def linked(prim_func, *tiles, **grid):
    return tle_raw.fragment(prim_func, tiles=list(tiles), route="linked", grid=grid)


softmax = linked(kernels.softmax(N=64), "X", "Y")
product = linked(kernels.gemm(), "C", bx="column", by="row")
through_shared = linked(kernels.tile_product(), "X", "Y")
scaled = linked(kernels.scale_columns(), "X", "Y")
accumulated = linked(kernels.accumulate(), "Y")
guarded = linked(kernels.guarded_copy(), "X", "Y")
picked = linked(kernels.heads(), "Q", "O")
called = tle_raw.fragment(kernels.foreign_call(), tiles=["A", "B"])


@triton.jit
def with_softmax(x, y):
    at = tl.program_id(0) * 256 + tl.arange(0, 4)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(y + at, softmax(tl.load(x + at) * 2) + 1.0)


@triton.jit
def with_product(a, b, c):
    for number in range(tl.program_id(0), 16, tl.num_programs(0)):
        tile = product(a, b, number % 4, number // 4).to(tl.float32)
        rows = (number // 4) * 128 + tl.arange(0, 128)[:, None]
        tl.store(c + rows * 512 + (number % 4) * 128 + tl.arange(0, 128)[None, :], tile * 2)


@triton.jit
def with_shared(x, w, y):
    at = tl.program_id(0) * 4096 + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(y + at, through_shared(tl.load(x + at), w))


@triton.jit
def with_scaled(x, w, y):
    column = tl.arange(0, 64)[None, :]
    at = (tl.program_id(0) * 8 + tl.arange(0, 8)[:, None]) * 48 + column
    tl.store(y + at, scaled(tl.load(x + at, mask=column < 48), w), mask=column < 48)


@triton.jit
def with_accumulated(x, y):
    at = (tl.program_id(1) * 16 + tl.arange(0, 16)[:, None]) * 64 + tl.program_id(0) * 32 + tl.arange(0, 32)[None, :]
    tl.store(y + at, accumulated(x, tl.load(y + at)))


@triton.jit
def with_guarded(x, y, n):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(y + at, guarded(tl.load(x + at), n))


@triton.jit
def with_picked(q, o, m):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(o + at, picked(tl.load(q + at), m))


@triton.jit
def with_call(a, b):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(b + at, called(tl.load(a + at)))
