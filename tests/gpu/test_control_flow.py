"""Regions in loops, branches and helper functions."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import check_integers, integers, poisoned, random
from tle_raw import In, Out, Scalar, Tile

pytestmark = pytest.mark.gpu
N = 256


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ void step(tle::tile<const int, N> x, tle::tile<int, N> y, int i) {
  for (int k : y.indices()) y[k] = x[(k + 1) % N] * 3 + i;     // reads what other threads wrote
}
""",
)
def step(x: In[Tile["i32", "N"]], y: Out[Tile["i32", "N"]], i: Scalar["i32"]): ...


def stepped(x: np.ndarray, i: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        return (np.roll(x, -1) * np.int32(3) + np.int32(i)).astype(np.int32)


def run(kernel, *arguments, **options) -> tuple[np.ndarray, object]:
    x = random("i32", (N,))
    y = poisoned(x)
    kernel[(1,)](x, y, *arguments, **options)
    return integers(x), y


@pytest.mark.parametrize("count", [0, 1, 7])
def test_in_a_loop_that_carries_the_tile(count):
    @triton.jit
    def kernel(x_ptr, y_ptr, count, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        for i in range(count):
            x = step(x, i)
        tl.store(y_ptr + tl.arange(0, N), x)

    expected, y = run(kernel, count, N)
    for i in range(count):
        expected = stepped(expected, i)
    check_integers(y, expected)


def test_in_nested_loops():
    @triton.jit
    def kernel(x_ptr, y_ptr, count, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        for i in range(count):
            for j in range(i):
                x = step(x, i * 10 + j)
            x = step(x + 1, -i)
        tl.store(y_ptr + tl.arange(0, N), x)

    expected, y = run(kernel, 4, N)
    for i in range(4):
        for j in range(i):
            expected = stepped(expected, i * 10 + j)
        expected = stepped(expected + np.int32(1), -i)
    check_integers(y, expected)


def test_in_a_static_range():
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        for i in tl.static_range(5):
            x = step(x, i * i)
        tl.store(y_ptr + tl.arange(0, N), x)

    expected, y = run(kernel, N)
    for i in range(5):
        expected = stepped(expected, i * i)
    check_integers(y, expected)


@pytest.mark.parametrize("count", [3, 4, 9])
def test_in_a_loop_that_triton_unrolls(count):
    @triton.jit
    def kernel(x_ptr, y_ptr, count, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        for i in tl.range(0, count, loop_unroll_factor=4):
            x = step(x, i)
        tl.store(y_ptr + tl.arange(0, N), x)

    expected, y = run(kernel, count, N)
    for i in range(count):
        expected = stepped(expected, i)
    check_integers(y, expected)


@pytest.mark.parametrize("flag", [0, 1])
def test_in_both_branches_of_an_if(flag):
    @triton.jit
    def kernel(x_ptr, y_ptr, flag, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        if flag > 0:
            x = step(x, 11)
            x = step(x, 12)
        else:
            x = step(x, -5) * 2
        tl.store(y_ptr + tl.arange(0, N), x)

    expected, y = run(kernel, flag, N, num_warps=8)
    expected = stepped(stepped(expected, 11), 12) if flag else stepped(expected, -5) * np.int32(2)
    check_integers(y, expected)


def test_in_an_if_inside_a_loop():
    @triton.jit
    def kernel(x_ptr, y_ptr, count, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        for i in range(count):
            if i % 3 == 1:
                x = step(x, i)
            x += i
        tl.store(y_ptr + tl.arange(0, N), x)

    expected, y = run(kernel, 8, N)
    for i in range(8):
        if i % 3 == 1:
            expected = stepped(expected, i)
        expected = expected + np.int32(i)
    check_integers(y, expected)


def test_in_a_while():
    @triton.jit
    def kernel(x_ptr, y_ptr, n, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        while n > 1:
            x = step(x, n)
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
        tl.store(y_ptr + tl.arange(0, N), x)

    expected, y = run(kernel, 7, N)
    n = 7
    while n > 1:
        expected = stepped(expected, n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    check_integers(y, expected)


@triton.jit
def twice(x, i):
    return step(step(x, i), i + 1)


@triton.jit
def thrice(x, i):
    return twice(step(x, i), i + 100)


def test_in_helper_functions():
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        tl.store(y_ptr + tl.arange(0, N), twice(x, 5) + thrice(x, -3))

    x, y = run(kernel, N)
    first = stepped(stepped(x, 5), 6)
    second = stepped(stepped(stepped(x, -3), 97), 98)
    check_integers(y, first + second)


def test_a_grid_larger_than_the_chip():
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr):
        pid = tl.program_id(0)
        offsets = pid * N + tl.arange(0, N)
        x = tl.load(x_ptr + offsets)
        for i in range(pid % 5):
            x = step(x, pid + i)
        tl.store(y_ptr + offsets, x)

    x = random("i32", (3000, 64))
    y = poisoned(x)
    kernel[(3000,)](x, y, 64)
    expected = integers(x).copy()
    for pid in range(3000):
        for i in range(pid % 5):
            expected[pid] = stepped(expected[pid], pid + i)
    check_integers(y, expected)
