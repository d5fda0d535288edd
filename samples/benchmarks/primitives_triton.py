"""The kernels of ``primitives_speed.py`` in Triton's own functions."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def scan(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    tl.store(y_ptr + at, tl.cumsum(tl.load(x_ptr + at)))


@triton.jit
def row_scan(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * (M * N) + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + at, tl.cumsum(tl.load(x_ptr + at), axis=1))


@triton.jit
def reduce(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    tl.store(y_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + at)))


@triton.jit
def row_reduce(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * (M * N) + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + tl.program_id(0) * M + tl.arange(0, M), tl.sum(tl.load(x_ptr + at), axis=1))


@triton.jit
def sort(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def row_sort(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * (M * N) + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at), dim=1))


@triton.jit
def topk(x_ptr, y_ptr, N: tl.constexpr, KEPT: tl.constexpr):
    """Values alone: Triton's function knows no places."""
    x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * N + tl.arange(0, N))
    tl.store(y_ptr + tl.program_id(0) * KEPT + tl.arange(0, KEPT), tl.topk(x, KEPT))


@triton.jit
def histogram(x_ptr, y_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)).to(tl.int32)
    tl.store(y_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def convert(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(y_ptr.dtype.element_ty))


@triton.jit
def random(y_ptr, seed, N: tl.constexpr):
    """The four numbers of a counter lie N / 4 apart: no shuffle between them."""
    i = tl.arange(0, N // 4)
    at = y_ptr + tl.program_id(0).to(tl.int64) * N + i
    a, b, c, d = tl.rand4x(seed, tl.program_id(0) * (N // 4) + i)
    tl.store(at, a)
    tl.store(at + N // 4, b)
    tl.store(at + N // 2, c)
    tl.store(at + 3 * N // 4, d)
