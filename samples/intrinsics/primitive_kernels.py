"""Triton kernels around a function of the library each, for checks and benchmarks: a program has one tile."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def first_of(x_ptr, at, i, n, fill):
    """The elements ``at``, with ``fill`` from number ``n`` of the tile on; all of them where n is None."""
    if n is None:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=i < n, other=fill)
    return x


def in_place(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n, fill, N: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, N)
        at = tl.program_id(0).to(tl.int64) * N + i
        x = first_of(x_ptr, at, i, n, fill)
        tl.store(y_ptr + at, function(32 * num_warps, x))

    return kernel


def in_place_rows(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n, fill, M: tl.constexpr, N: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        at = tl.program_id(0).to(tl.int64) * (M * N) + i
        x = first_of(x_ptr, at, i, n, fill)
        tl.store(y_ptr + at, function(32 * num_warps, x))

    return kernel


def prefix(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, total_ptr, n, fill, N: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, N)
        at = tl.program_id(0).to(tl.int64) * N + i
        before, total = function(32 * num_warps, first_of(x_ptr, at, i, n, fill))
        tl.store(y_ptr + at, before)
        tl.store(total_ptr + tl.program_id(0), total)

    return kernel


def reduced(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n, fill, N: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, N)
        at = tl.program_id(0).to(tl.int64) * N + i
        tl.store(y_ptr + tl.program_id(0), function(32 * num_warps, first_of(x_ptr, at, i, n, fill)))

    return kernel


def reduced_rows(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n, fill, M: tl.constexpr, N: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        at = tl.program_id(0).to(tl.int64) * (M * N) + i
        x = first_of(x_ptr, at, i, n, fill)
        tl.store(y_ptr + tl.program_id(0) * M + tl.arange(0, M), function(32 * num_warps, x))

    return kernel


def sorted_keys(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, DESCENDING: tl.constexpr, N: tl.constexpr, num_warps: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
        tl.store(y_ptr + at, function(32 * num_warps, DESCENDING, tl.load(x_ptr + at)))

    return kernel


def sorted_pairs(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, v_ptr, y_ptr, w_ptr, DESCENDING: tl.constexpr, N: tl.constexpr, num_warps: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
        y, w = function(32 * num_warps, DESCENDING, tl.load(x_ptr + at), tl.load(v_ptr + at))
        tl.store(y_ptr + at, y)
        tl.store(w_ptr + at, w)

    return kernel


def sorted_rows(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, DESCENDING: tl.constexpr, M: tl.constexpr, N: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        at = tl.program_id(0).to(tl.int64) * (M * N) + i
        tl.store(y_ptr + at, function(32 * num_warps, DESCENDING, tl.load(x_ptr + at)))

    return kernel


def sorted_row_pairs(function: Any) -> Any:
    @triton.jit
    def kernel(
        x_ptr, v_ptr, y_ptr, w_ptr, DESCENDING: tl.constexpr, M: tl.constexpr, N: tl.constexpr, num_warps: tl.constexpr
    ):
        i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        at = tl.program_id(0).to(tl.int64) * (M * N) + i
        y, w = function(32 * num_warps, DESCENDING, tl.load(x_ptr + at), tl.load(v_ptr + at))
        tl.store(y_ptr + at, y)
        tl.store(w_ptr + at, w)

    return kernel


def selected(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, w_ptr, n, fill, N: tl.constexpr, KEPT: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, N)
        x = first_of(x_ptr, tl.program_id(0).to(tl.int64) * N + i, i, n, fill)
        y, w = function(32 * num_warps, x, K=KEPT)
        to = tl.program_id(0) * KEPT + tl.arange(0, KEPT)
        tl.store(y_ptr + to, y)
        tl.store(w_ptr + to, w)

    return kernel


def counted(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n, fill, N: tl.constexpr, BINS: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, N)
        x = first_of(x_ptr, tl.program_id(0).to(tl.int64) * N + i, i, n, fill)
        tl.store(y_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS), function(32 * num_warps, x, B=BINS))

    return kernel


def counted_in_memory(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n: tl.constexpr, N: tl.constexpr, BINS: tl.constexpr, num_warps: tl.constexpr):
        x = x_ptr + tl.program_id(0).to(tl.int64) * N
        counts = function(32 * num_warps, x, n, B=BINS)
        tl.store(y_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS), counts)

    return kernel


def counted_on_in_memory(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n, N: tl.constexpr, BINS: tl.constexpr, num_warps: tl.constexpr):
        x = x_ptr + tl.program_id(0).to(tl.int64) * N
        to = y_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS)
        tl.store(to, function(32 * num_warps, x, n, tl.load(to)))

    return kernel


def counted_on(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, n, fill, N: tl.constexpr, BINS: tl.constexpr, num_warps: tl.constexpr):
        i = tl.arange(0, N)
        x = first_of(x_ptr, tl.program_id(0).to(tl.int64) * N + i, i, n, fill)
        to = y_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS)
        tl.store(to, function(32 * num_warps, x, tl.load(to)))

    return kernel


def counted_evenly(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, low, high, N: tl.constexpr, BINS: tl.constexpr, num_warps: tl.constexpr):
        x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * N + tl.arange(0, N))
        to = y_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS)
        bounds: tl.constexpr = tl.float64 if x.dtype == tl.float64 else tl.float32
        tl.store(to, function(32 * num_warps, x, low.to(bounds), high.to(bounds), B=BINS))

    return kernel


def converted(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr, L: tl.constexpr, Q: tl.constexpr, num_warps: tl.constexpr):
        x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * N + tl.arange(0, N))
        to = y_ptr + tl.program_id(0).to(tl.int64) * L + tl.arange(0, L)
        tl.store(to, function(32 * num_warps, x, Q=Q))

    return kernel


def converted_to_half(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr, L: tl.constexpr, Q: tl.constexpr, num_warps: tl.constexpr):
        x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * N + tl.arange(0, N))
        to = y_ptr + tl.program_id(0).to(tl.int64) * L + tl.arange(0, L)
        tl.store(to, function(32 * num_warps, x, Q=Q, L=L))

    return kernel


def converted_back(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr, L: tl.constexpr, num_warps: tl.constexpr):
        x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * L + tl.arange(0, L))
        to = y_ptr + tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
        tl.store(to, function(32 * num_warps, x, T=y_ptr.dtype.element_ty))

    return kernel


def converted_back_from_half(function: Any) -> Any:
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr, L: tl.constexpr, num_warps: tl.constexpr):
        x = tl.load(x_ptr + tl.program_id(0).to(tl.int64) * L + tl.arange(0, L))
        to = y_ptr + tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
        tl.store(to, function(32 * num_warps, x, T=y_ptr.dtype.element_ty, N=N))

    return kernel


def packed(pack: Any, low: Any, high: Any) -> Any:
    """Two numbers to a word and back."""

    @triton.jit
    def kernel(x_ptr, word_ptr, y_ptr, N: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        word = pack(tl.load(x_ptr + 2 * i), tl.load(x_ptr + 2 * i + 1))
        tl.store(word_ptr + i, word)
        tl.store(y_ptr + 2 * i, low(word))
        tl.store(y_ptr + 2 * i + 1, high(word))

    return kernel


def drawn(function: Any) -> Any:
    """Four numbers for each counter."""

    @triton.jit
    def kernel(y_ptr, seed, first, N: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        for word in tl.static_range(4):
            tl.store(y_ptr + 4 * i + word, function(word, seed.to(tl.uint64), (first + i).to(tl.uint32)))

    return kernel


def filled(function: Any) -> Any:
    @triton.jit
    def kernel(y_ptr, seed, first, N: tl.constexpr, num_warps: tl.constexpr):
        start = tl.program_id(0) * N
        numbers = function(
            32 * num_warps, seed.to(tl.uint64), (first + start // 4).to(tl.uint32), N=N, T=y_ptr.dtype.element_ty
        )
        tl.store(y_ptr + start + tl.arange(0, N), numbers)

    return kernel


def filled_memory(function: Any) -> Any:
    @triton.jit
    def kernel(y_ptr, seed, first, n: tl.constexpr, N: tl.constexpr, num_warps: tl.constexpr):
        start = tl.program_id(0) * N
        function(32 * num_warps, seed.to(tl.uint64), (first + start // 4).to(tl.uint32), y_ptr + start, n)

    return kernel


def filled_words(function: Any) -> Any:
    @triton.jit
    def kernel(y_ptr, seed, first, N: tl.constexpr, num_warps: tl.constexpr):
        start = tl.program_id(0) * N
        words = function(32 * num_warps, seed.to(tl.uint64), (first + start // 4).to(tl.uint32), N=N)
        tl.store(y_ptr + start + tl.arange(0, N), words)

    return kernel
