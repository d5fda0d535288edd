"""Whole tiles cross in and out of a region: every dtype, rank, effect and block size."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import (
    DTYPES,
    FLOATS,
    INTEGERS,
    ROUNDING,
    bits,
    check_bits,
    check_close,
    check_integers,
    integers,
    numbers,
    poisoned,
    random,
)
from tle_raw import In, InOut, Out, Tile

pytestmark = pytest.mark.gpu

# out[c] = in[source of c]: each coordinate is reversed and shifted by the one before it, so that no order of the
# elements but row-major gives the right answer.
MIRROR = r"""
#include <tle_raw/tile.h>
template <typename T, DIMS>
__device__ void mirror(tle::tile<const T, NAMES> x, tle::tile<T, NAMES> y) {
  constexpr int rank = tle::tile<T, NAMES>::rank();
  for (int i : y.indices()) {
    int at[rank], from[rank], rest = i;
    for (int k = rank - 1; k >= 0; --k) { at[k] = rest % y.dim(k); rest /= y.dim(k); }
    for (int k = 0; k < rank; ++k) from[k] = (y.dim(k) - 1 - at[k] + 3 * (k ? at[k - 1] : 0)) % y.dim(k);
    y(COORDINATES) = x(FROM);
  }
}
"""


def mirror_source(rank: int) -> str:
    names = "ABCD"[:rank]
    return (
        MIRROR.replace("DIMS", ", ".join(f"int {n}" for n in names))
        .replace("NAMES", ", ".join(names))
        .replace("COORDINATES", ", ".join(f"at[{k}]" for k in range(rank)))
        .replace("FROM", ", ".join(f"from[{k}]" for k in range(rank)))
    )


@tle_raw.dialect("cuda", source=mirror_source(1), symbol="mirror")
def mirror_1(x: In[Tile["T", "A"]], y: Out[Tile["T", "A"]]): ...


@tle_raw.dialect("cuda", source=mirror_source(2), symbol="mirror")
def mirror_2(x: In[Tile["T", "A", "B"]], y: Out[Tile["T", "A", "B"]]): ...


@tle_raw.dialect("cuda", source=mirror_source(3), symbol="mirror")
def mirror_3(x: In[Tile["T", "A", "B", "C"]], y: Out[Tile["T", "A", "B", "C"]]): ...


@tle_raw.dialect("cuda", source=mirror_source(4), symbol="mirror")
def mirror_4(x: In[Tile["T", "A", "B", "C", "D"]], y: Out[Tile["T", "A", "B", "C", "D"]]): ...


MIRRORS = {1: mirror_1, 2: mirror_2, 3: mirror_3, 4: mirror_4}
SHAPES = {1: (512,), 2: (16, 32), 3: (4, 16, 8), 4: (8, 2, 4, 16)}


@triton.jit
def mirror_kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr, SHAPE: tl.constexpr, SIZE: tl.constexpr):
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    y = FRAGMENT(tl.reshape(tl.load(x_ptr + offsets), SHAPE))
    tl.store(y_ptr + offsets, tl.reshape(y, (SIZE,)))


def mirrored(x: np.ndarray) -> np.ndarray:
    """The reference, over the last dims; dim 0 counts programs."""
    at = np.indices(x.shape[1:])
    dims = x.shape[1:]
    source = [(dims[k] - 1 - at[k] + 3 * (at[k - 1] if k else 0)) % dims[k] for k in range(len(dims))]
    return x[(slice(None), *source)]


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_and_rank_crosses_bit_by_bit(name, rank):
    shape = SHAPES[rank]
    x = random(name, (3, *shape), seed=rank)
    y = poisoned(x)
    mirror_kernel[(3,)](x, y, MIRRORS[rank], shape, int(np.prod(shape)))
    check_bits(y, mirrored(bits(x)))


@tle_raw.dialect(
    "cuda",
    source=r"""
template <typename T, int M, int N>
__device__ void weighted(tle::tile<T, M, N> t) {
  for (int i : t.indices()) t[i] = T(t[i] * T(3) + T(5 * (i / N) + i % N));
}
""",
)
def weighted(t: InOut[Tile["T", "M", "N"]]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <typename T, int M, int N>
__device__ void weighted_float(tle::tile<T, M, N> t) {
  for (int i : t.indices()) t[i] = T(float(t[i]) * 1.5f + 0.125f * float(i % N - i / N));
}
""",
)
def weighted_float(t: InOut[Tile["T", "M", "N"]]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N>
__device__ void weighted_double(tle::tile<double, M, N> t) {
  for (int i : t.indices()) t[i] = t[i] * 1.5 + 0.125 * (i % N - i / N);
}
""",
)
def weighted_double(t: InOut[Tile["f64", "M", "N"]]): ...


@triton.jit
def update_kernel(x_ptr, y_ptr, FRAGMENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + offsets, FRAGMENT(tl.load(x_ptr + offsets)))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_updated_in_place_with_wraparound(name):
    x = random(name, (32, 16))
    y = poisoned(x)
    update_kernel[(1,)](x, y, weighted, 32, 16)
    values = integers(x)
    row, column = np.indices(values.shape)
    weights = (5 * row + column).astype(values.dtype)
    with np.errstate(over="ignore"):
        check_integers(y, (values * values.dtype.type(3) + weights).astype(values.dtype))


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_updated_in_place(name):
    x = random(name, (32, 16))
    y = poisoned(x)
    update_kernel[(1,)](x, y, weighted_double if name == "f64" else weighted_float, 32, 16)
    row, column = np.indices((32, 16))
    check_close(y, numbers(x) * 1.5 + 0.125 * (column - row), ROUNDING[name], ROUNDING[name])


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N>
__device__ void flip(tle::tile<bool, M, N> t) {
  for (int i : t.indices()) t[i] = (i / N + i) % 3 == 0 ? !t[i] : t[i];
}
""",
)
def flip(t: InOut[Tile["i1", "M", "N"]]): ...


def test_bools_are_updated_in_place():
    x = random("i1", (64, 8))
    y = poisoned(x)
    update_kernel[(1,)](x, y, flip, 64, 8)
    row, column = np.indices((64, 8))
    check_bits(y, bits(x) ^ ((row + row * 8 + column) % 3 == 0))


def test_a_bool_made_by_a_comparison_crosses_as_0_or_1():
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        positive = flip(tl.load(x_ptr + offsets) > 0)
        tl.store(y_ptr + offsets, tl.where(positive, 7, -7))

    x = random("f32", (64, 8))
    y = poisoned(random("i32", (64, 8)))
    kernel[(1,)](x, y, 64, 8)
    row, column = np.indices((64, 8))
    expected = (numbers(x) > 0) ^ ((row + row * 8 + column) % 3 == 0)
    check_integers(y, np.where(expected, 7, -7).astype(np.int32))


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("shape", [(64, 32), (2, 4), (1, 1), (128, 64)])
def test_every_block_size_and_tiles_smaller_than_the_block(shape, num_warps):
    x = random("f32", (2, *shape))
    y = poisoned(x)
    mirror_kernel[(2,)](x, y, mirror_2, shape, shape[0] * shape[1], num_warps=num_warps)
    check_bits(y, mirrored(bits(x)))


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ void count(tle::tile<int, N> t) {
  if (threadIdx.x < N) atomicAdd(&t[threadIdx.x], 1);       // once a thread: a repeated call would add twice
}
""",
)
def count(t: InOut[Tile["i32", "N"]]): ...


@pytest.mark.parametrize("num_warps", [1, 4, 16])
def test_a_region_runs_once_although_a_small_tile_has_copies(num_warps):
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y_ptr + offsets, count(tl.load(x_ptr + offsets)))

    x = random("i32", (8,))
    y = poisoned(x)
    kernel[(1,)](x, y, 8, num_warps=num_warps)
    check_integers(y, integers(x) + np.int32(1))


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N>
__device__ void split(tle::tile<const float, M, N> x, tle::tile<float, N, M> turned, tle::tile<int, M> signs,
                      tle::tile<__half, M, N> halves) {
  for (int i : x.indices()) turned(i % N, i / N) = x[i];
  for (int i : signs.indices()) {
    int negative = 0;
    for (int j = 0; j < N; ++j) negative += x(i, j) < 0;
    signs[i] = negative;
  }
  for (int i : halves.indices()) halves[i] = __float2half_rn(2 * x[i]);
}
""",
)
def split(
    x: In[Tile["f32", "M", "N"]],
    turned: Out[Tile["f32", "N", "M"]],
    signs: Out[Tile["i32", "M"]],
    halves: Out[Tile["f16", "M", "N"]],
): ...


def test_several_outputs_of_different_shape_and_dtype():
    @triton.jit
    def kernel(x_ptr, turned_ptr, signs_ptr, halves_ptr, M: tl.constexpr, N: tl.constexpr):
        m, n = tl.arange(0, M), tl.arange(0, N)
        x = tl.load(x_ptr + m[:, None] * N + n[None, :])
        turned, signs, halves = split(x)
        tl.store(turned_ptr + n[:, None] * M + m[None, :], turned)
        tl.store(signs_ptr + m, signs)
        tl.store(halves_ptr + m[:, None] * N + n[None, :], halves)

    x = random("f32", (64, 16))
    turned, halves = poisoned(x, (16, 64)), poisoned(random("f16", (64, 16)))
    signs = poisoned(random("i32", (64,)))
    kernel[(1,)](x, turned, signs, halves, 64, 16)
    check_bits(turned, bits(x).T)
    check_integers(signs, (numbers(x) < 0).sum(axis=1).astype(np.int32))
    check_close(halves, 2 * numbers(x), ROUNDING["f16"], 1e-7)


@tle_raw.dialect(
    "cuda",
    source=r"""
extern "C" __device__ void iota(int* t, int start) {
  for (int i = threadIdx.x; i < TLE_N; i += blockDim.x) t[i] = start + i * i;
}
""",
)
def iota(t: Out[Tile["i32", "N"]], start: tle_raw.Scalar["i32"]): ...


def test_an_output_whose_shape_is_given_at_the_call():
    @triton.jit
    def kernel(y_ptr, start, N: tl.constexpr):
        tl.store(y_ptr + tl.arange(0, N), iota(start, shape=(N,)))

    y = poisoned(random("i32", (256,)))
    kernel[(1,)](y, 41, 256)
    check_integers(y, (41 + np.arange(256) ** 2).astype(np.int32))


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_the_tiles_layout_in_registers_does_not_matter(order):
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr):
        m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
        if ROWS:
            x = tl.load(x_ptr + m * N + n)
        else:
            x = tl.trans(tl.load(x_ptr + tl.arange(0, N)[:, None] + tl.arange(0, M)[None, :] * N))
        tl.store(y_ptr + m * N + n, mirror_2(x))

    x = random("bf16", (1, 32, 64))
    y = poisoned(x)
    kernel[(1,)](x, y, 32, 64, order == "rows")
    check_bits(y, mirrored(bits(x)))
