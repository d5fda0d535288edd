"""Several regions in one kernel: on one tile, on one another's results, with names in common."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import bits, check_bits, check_close, check_integers, integers, numbers, poisoned, random
from tle_raw import In, InOut, Out, Scalar, Tile

pytestmark = pytest.mark.gpu
M, N = 32, 64


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N> __device__ void swap_rows(tle::tile<int, M, N> t) {
  for (int i = threadIdx.x; i < M / 2 * N; i += blockDim.x) {
    const int row = i / N, column = i % N, other = M - 1 - row;
    const int value = t(row, column);
    t(row, column) = t(other, column) + column;
    t(other, column) = value - row;
  }
}
""",
)
def swap_rows(t: InOut[Tile["i32", "M", "N"]]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N> __device__ void turn_columns(tle::tile<int, M, N> t, int by) {
  for (int i = threadIdx.x; i < M; i += blockDim.x) {
    const int first = t(i, 0);
    for (int j = 0; j + 1 < N; ++j) t(i, j) = t(i, j + 1) * by;
    t(i, N - 1) = first;
  }
}
""",
)
def turn_columns(t: InOut[Tile["i32", "M", "N"]], by: Scalar["i32"]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N>
__device__ void product(tle::tile<const int, M, N> x, tle::tile<const int, M, N> y, tle::tile<int, M, N> z) {
  for (int i : z.indices()) z[i] = x[i] * y[M * N - 1 - i];
}
""",
)
def product(x: In[Tile["i32", "M", "N"]], y: In[Tile["i32", "M", "N"]], z: Out[Tile["i32", "M", "N"]]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int M, int N> __device__ void add_into(tle::tile<int, M, N> x, tle::tile<const int, M, N> y) {
  for (int i : x.indices()) x[i] = 2 * x[i] + y[(i + 1) % (M * N)];
}
""",
)
def add_into(x: InOut[Tile["i32", "M", "N"]], y: In[Tile["i32", "M", "N"]]): ...


def rows_swapped(x: np.ndarray) -> np.ndarray:
    y = x[::-1].copy()
    y[: M // 2] += np.arange(N, dtype=np.int32)
    y[M // 2 :] -= np.arange(M // 2, dtype=np.int32)[::-1, None]
    return y


def columns_turned(x: np.ndarray, by: int) -> np.ndarray:
    return np.concatenate([x[:, 1:] * np.int32(by), x[:, :1]], axis=1)


@triton.jit
def offsets_of(M: tl.constexpr, N: tl.constexpr):
    return tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]


def run(kernel, **options):
    x = random("i32", (M, N))
    y = poisoned(x)
    kernel[(1,)](x, y, M, N, **options)
    return integers(x), y


@pytest.mark.parametrize("num_warps", [1, 4, 16])
def test_consecutive_regions_on_one_tile(num_warps):
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        x = tl.load(x_ptr + offsets_of(M, N))
        x = swap_rows(x)
        x = turn_columns(x, 3)
        x = swap_rows(x)
        x = turn_columns(x, -1)
        tl.store(y_ptr + offsets_of(M, N), x)

    x, y = run(kernel, num_warps=num_warps)
    check_integers(y, columns_turned(rows_swapped(columns_turned(rows_swapped(x), 3)), -1))


def test_a_tile_that_was_updated_keeps_its_old_value_for_others():
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        x = tl.load(x_ptr + offsets_of(M, N))
        once = swap_rows(x)
        other = turn_columns(x, 5)
        again = swap_rows(once)
        tl.store(y_ptr + offsets_of(M, N), x + 3 * once + 7 * other + 11 * again + 13 * turn_columns(once, 2))

    x, y = run(kernel)
    once = rows_swapped(x)
    expected = x + 3 * once + 7 * columns_turned(x, 5) + 11 * rows_swapped(once) + 13 * columns_turned(once, 2)
    check_integers(y, expected)


def test_one_tile_in_two_ports():
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        x = tl.load(x_ptr + offsets_of(M, N))
        tl.store(y_ptr + offsets_of(M, N), product(x, x))

    x, y = run(kernel)
    check_integers(y, x * x.reshape(-1)[::-1].reshape(M, N))


def test_one_tile_read_and_updated_in_one_call():
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        x = tl.load(x_ptr + offsets_of(M, N))
        tl.store(y_ptr + offsets_of(M, N), add_into(x, x) + x)

    x, y = run(kernel)
    check_integers(y, 3 * x + np.roll(x.reshape(-1), -1).reshape(M, N))


def test_results_of_regions_meet_in_another():
    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        x = tl.load(x_ptr + offsets_of(M, N))
        a, b = swap_rows(x), turn_columns(x, 3)
        c = product(a, b)
        tl.store(y_ptr + offsets_of(M, N), add_into(c, a) - product(c, b))

    x, y = run(kernel)
    a, b = rows_swapped(x), columns_turned(x, 3)
    c = a * b.reshape(-1)[::-1].reshape(M, N)
    expected = 2 * c + np.roll(a.reshape(-1), -1).reshape(M, N) - c * b.reshape(-1)[::-1].reshape(M, N)
    check_integers(y, expected)


@tle_raw.dialect(
    "cuda",
    source=r"""
__shared__ float scratch[64];
__device__ float helper(float x) { return 2 * x + 1; }
struct Table { __device__ float at(int i) const { return i; } };
template <int N> __device__ void first(tle::tile<float, N> t) {
  for (int i = threadIdx.x; i < 64; i += blockDim.x) scratch[i] = helper(t[i]) + Table().at(i);
  __syncthreads();
  for (int i : t.indices()) t[i] += scratch[63 - i % 64];
}
""",
)
def first(t: InOut[Tile["f32", "N"]]): ...


@tle_raw.dialect(
    "cuda",
    source=r"""
__shared__ float scratch[64];
__device__ float helper(float x) { return x * x; }
struct Table { __device__ float at(int i) const { return 100 * i; } };
template <int N> __device__ void second(tle::tile<float, N> t) {
  for (int i = threadIdx.x; i < 64; i += blockDim.x) scratch[i] = helper(t[i + 64]) - Table().at(i);
  __syncthreads();
  for (int i : t.indices()) t[i] -= scratch[(i + 7) % 64];
}
""",
)
def second(t: InOut[Tile["f32", "N"]]): ...


def test_equal_names_in_two_fragments_stay_apart():
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        tl.store(y_ptr + tl.arange(0, N), second(first(second(x))))

    x = random("f32", (256,))
    y = poisoned(x)
    kernel[(1,)](x, y, 256)
    e, at = numbers(x), np.arange(256)
    for step in ("second", "first", "second"):
        scratch = 2 * e[:64] + 1 + at[:64] if step == "first" else e[64:128] ** 2 - 100 * at[:64]
        e = e + scratch[63 - at % 64] if step == "first" else e - scratch[(at + 7) % 64]
    check_close(y, e, 1e-4, 1e-3)


def test_a_large_fragment_with_calls_of_its_own_is_right_too():
    """What is not inlined (noinline functions, inline=False) gives the same numbers."""

    @tle_raw.dialect(
        "cuda",
        inline=False,
        source=r"""
    __device__ __noinline__ int mixed(int x, int k) { for (int i = 0; i < k; ++i) x = x * 31 + i; return x; }
    template <int M, int N> __device__ void mix(tle::tile<int, M, N> t) {
      for (int i : t.indices()) t[i] = mixed(t[i], i % 5);
    }
    """,
    )
    def mix(t: InOut[Tile["i32", "M", "N"]]): ...

    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        x = tl.load(x_ptr + offsets_of(M, N))
        tl.store(y_ptr + offsets_of(M, N), mix(swap_rows(mix(x))))

    def mixed(x: np.ndarray) -> np.ndarray:
        rounds = np.arange(M * N).reshape(M, N) % 5
        for i in range(4):
            x = np.where(i < rounds, x * np.int32(31) + np.int32(i), x)
        return x

    x, y = run(kernel)
    with np.errstate(over="ignore"):
        check_integers(y, mixed(rows_swapped(mixed(x))))


@pytest.mark.parametrize("n", [512, 2048])
def test_many_tiles_at_once(n):
    @tle_raw.dialect(
        "cuda",
        source=r"""
    template <typename T, int N>
    __device__ void pick(tle::tile<const T, N> a, tle::tile<const T, N> b, tle::tile<const T, N> c,
                         tle::tile<T, N> x, tle::tile<T, N> y) {
      for (int i : x.indices()) { x[i] = i % 3 == 0 ? a[i] : i % 3 == 1 ? b[N - 1 - i] : c[i ^ 1]; y[i] = b[i ^ 2]; }
    }
    """,
    )
    def pick(
        a: In[Tile["T", "N"]],
        b: In[Tile["T", "N"]],
        c: In[Tile["T", "N"]],
        x: Out[Tile["T", "N"]],
        y: Out[Tile["T", "N"]],
    ): ...

    @triton.jit
    def kernel(in_ptr, out_ptr, N: tl.constexpr):
        at = tl.arange(0, N)
        x, y = pick(tl.load(in_ptr + at), tl.load(in_ptr + N + at), tl.load(in_ptr + 2 * N + at))
        tl.store(out_ptr + at, x)
        tl.store(out_ptr + N + at, y)

    source = random("i16", (3, n))
    out = poisoned(source, (2, n))
    kernel[(1,)](source, out, n)
    a, b, c = bits(source)
    i = np.arange(n)
    x = np.where(i % 3 == 0, a, np.where(i % 3 == 1, b[::-1], c[i ^ 1]))
    check_bits(out, np.stack([x, b[i ^ 2]]))
