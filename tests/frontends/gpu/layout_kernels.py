"""Tensors in layouts that the kernel says."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def laid_out(x, y, L: tl.constexpr, N: tl.constexpr):
    """x * x + 1, with x in a layout."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    value = tle.gpu.set_layout(tl.load(x + at), L)
    tl.store(y + at, value * value + 1)


@triton.jit
def summed_at_once(x, y, L: tl.constexpr, AXIS: tl.constexpr, N: tl.constexpr):
    """The sums along an axis of x, which is in a layout."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + tl.arange(0, N), tl.sum(tle.gpu.set_layout(tl.load(x + at), L), AXIS))


@triton.jit
def summed(x, y, L: tl.constexpr, R: tl.constexpr, N: tl.constexpr):
    """The rows' sums of x * x, with x in a layout, times the columns' numbers, in another."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    value = tle.gpu.set_layout(tl.load(x + at), L)
    sums = tle.gpu.set_layout(tl.sum(value * value, 1), R)
    tl.store(y + tl.arange(0, N), sums * tl.arange(0, N))
