"""Scalars, pointers, elements and constants cross into a region, results come back."""

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
from tle_raw import Const, Element, In, InOut, Out, Pointer, Scalar, Tile

pytestmark = pytest.mark.gpu


@tle_raw.dialect(
    "cuda",
    source=r"""
template <typename T> __device__ void put(T* p, T value, int at) {
  if (threadIdx.x == 0) p[at] = value;
}
""",
)
def put(p: InOut[Pointer["T"]], value: Scalar["T"], at: Scalar["i32"]): ...


@triton.jit
def scalar_kernel(x_ptr, y_ptr, n):
    i = tl.program_id(0)
    put(y_ptr, tl.load(x_ptr + i), n - 1 - i)


@pytest.mark.parametrize("name", DTYPES)
def test_a_scalar_of_every_dtype_goes_in(name):
    x = random(name, (37,))
    y = poisoned(x)
    scalar_kernel[(37,)](x, y, 37)
    check_bits(y, bits(x)[::-1])


@tle_raw.dialect(
    "cuda",
    source=r"""
template <typename T> __device__ T pick(const T* p, int i, int n) { return p[(i * 7 + 3) % n]; }
""",
)
def pick(p: Pointer["T"], i: Scalar["i32"], n: Scalar["i32"]) -> Scalar["T"]: ...


@triton.jit
def result_kernel(x_ptr, y_ptr, n):
    i = tl.program_id(0)
    tl.store(y_ptr + i, pick(x_ptr, i, n))


@pytest.mark.parametrize("name", DTYPES)
def test_a_scalar_result_of_every_dtype_comes_back(name):
    x = random(name, (32,))
    y = poisoned(x)
    result_kernel[(32,)](x, y, 32)
    check_bits(y, bits(x)[(np.arange(32) * 7 + 3) % 32])


def test_python_numbers_are_scalars():
    @tle_raw.dialect(
        "cuda",
        source=r"""
    __device__ double fma3(int i, long long j, float x, bool minus) {
      const double v = double(i) * x + j;
      return minus ? -v : v;
    }
    """,
    )
    def fma3(i: Scalar["i32"], j: Scalar["i64"], x: Scalar["f32"], minus: Scalar["i1"]) -> Scalar["f64"]: ...

    @triton.jit
    def kernel(y_ptr, i, j, x, NEGATIVE: tl.constexpr):
        tl.store(y_ptr, fma3(i, j, x, NEGATIVE))
        tl.store(y_ptr + 1, fma3(3, 2**40, 0.5, not NEGATIVE))

    y = poisoned(random("f64", (2,)))
    kernel[(1,)](y, 7, 2**50, 1.25, True)
    check_close(y, np.array([-(7 * 1.25 + 2**50), 1.5 + 2**40]), 0)


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ int vote(tle::tile<const float, N> t, const float* limit) {
  int above = 0;
  for (int i = threadIdx.x; i < N; i += blockDim.x) above += t[i] > *limit;
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, above);
  __syncthreads();
  return total;
}
""",
)
def vote(t: In[Tile["f32", "N"]], limit: Pointer["f32"]) -> Scalar["i32"]: ...


@pytest.mark.parametrize("num_warps", [1, 4, 32])
def test_a_result_computed_by_the_whole_block(num_warps):
    @triton.jit
    def kernel(x_ptr, limit_ptr, y_ptr, N: tl.constexpr):
        pid = tl.program_id(0)
        x = tl.load(x_ptr + pid * N + tl.arange(0, N))
        count = vote(x, limit_ptr + pid)
        tl.store(y_ptr + pid, tl.where(count > N // 2, -count, count))

    x, limit = random("f32", (16, 512)), random("f32", (16,), seed=1)
    y = poisoned(random("i32", (16,)))
    kernel[(16,)](x, limit, y, 512, num_warps=num_warps)
    count = (numbers(x) > numbers(limit)[:, None]).sum(axis=1).astype(np.int32)
    check_integers(y, np.where(count > 256, -count, count))


@tle_raw.dialect(
    "cuda",
    source=r"""
template <typename T> __device__ void scatter(const T* x, T* y, int n, const int* order) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[order[i]] = x[i];
}
""",
)
def scatter(x: Pointer["T"], y: InOut[Pointer["T"]], n: Scalar["i32"], order: Pointer["i32"]): ...


@pytest.mark.parametrize("name", ["i8", "u16", "f8e4m3", "bf16", "f32", "f64", "i64"])
def test_pointers_to_global_memory_are_read_and_written(name):
    @triton.jit
    def kernel(x_ptr, y_ptr, n, order_ptr):
        scatter(x_ptr, y_ptr, n, order_ptr)

    x = random(name, (1001,))
    y = poisoned(x)
    permutation = np.random.default_rng(0).permutation(1001).astype(np.int32)
    order = random("i32", (1001,))
    order.copy_(order.new_tensor(permutation))
    kernel[(5,)](x, y, 1001, order)
    expected = np.empty_like(bits(x))
    expected[permutation] = bits(x)
    check_bits(y, expected)


def test_a_fragment_adds_atomically_to_global_memory():
    @tle_raw.dialect(
        "cuda",
        source=r"""
    template <int N> __device__ void add_all(tle::tile<const int, N> t, int* sum) {
      for (int i : t.indices()) atomicAdd(sum, t[i]);
    }
    """,
    )
    def add_all(t: In[Tile["i32", "N"]], sum: InOut[Pointer["i32"]]): ...

    @triton.jit
    def kernel(x_ptr, sum_ptr, N: tl.constexpr):
        add_all(tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N)), sum_ptr)

    x = random("i32", (50, 128))
    total = random("i32", (1,)).zero_()
    kernel[(50,)](x, total, 128)
    check_integers(total, integers(x).sum(dtype=np.int32)[None])


@tle_raw.dialect(
    "cuda",
    source=r"""
template <typename T> __device__ T combine(T x, T y) { return T(float(x) * 2.0f - float(y)); }
""",
)
def combine(x: Element["T"], y: Element["T"]) -> Element["T"]: ...


@tle_raw.dialect("cuda", source="__device__ double combine64(double x, double y) { return x * 2.0 - y; }")
def combine64(x: Element["f64"], y: Element["f64"]) -> Element["f64"]: ...


@tle_raw.dialect(
    "cuda",
    source=r"""
template <typename T> __device__ T combine_bits(T x, T y) { return T(x * T(3)) ^ y; }
""",
)
def combine_bits(x: Element["T"], y: Element["T"]) -> Element["T"]: ...


@triton.jit
def element_kernel(x_ptr, y_ptr, out_ptr, FRAGMENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offsets, FRAGMENT(tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)))


@pytest.mark.parametrize("name", FLOATS)
def test_elements_of_every_float_dtype(name):
    x, y = random(name, (32, 64)), random(name, (32, 64), seed=1)
    out = poisoned(x)
    element_kernel[(1,)](x, y, out, combine64 if name == "f64" else combine, 32, 64)
    check_close(out, numbers(x) * 2 - numbers(y), ROUNDING[name], ROUNDING[name])


@pytest.mark.parametrize("name", INTEGERS)
def test_elements_of_every_integer_dtype(name):
    x, y = random(name, (32, 64)), random(name, (32, 64), seed=1)
    out = poisoned(x)
    element_kernel[(1,)](x, y, out, combine_bits, 32, 64)
    values = integers(x)
    with np.errstate(over="ignore"):
        check_integers(out, (values * values.dtype.type(3)) ^ integers(y))


def test_an_element_function_broadcasts_and_reads_a_table():
    @tle_raw.dialect(
        "cuda",
        source=r"""
    __device__ float lookup(int row, int column, const float* table, float scale) {
      return table[(row * 5 + column) % 64] * scale;
    }
    """,
    )
    def lookup(
        row: Element["i32"], column: Element["i32"], table: Pointer["f32"], scale: Scalar["f32"]
    ) -> Element["f32"]: ...

    @triton.jit
    def kernel(table_ptr, y_ptr, scale, M: tl.constexpr, N: tl.constexpr):
        m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
        tl.store(y_ptr + m * N + n, lookup(m, n, table_ptr, scale))

    table = random("f32", (64,))
    y = poisoned(table, (16, 32))
    kernel[(1,)](table, y, 0.75, 16, 32)
    row, column = np.indices((16, 32))
    check_close(y, numbers(table)[(row * 5 + column) % 64] * 0.75, ROUNDING["f32"])


def test_an_element_is_updated_in_place():
    @tle_raw.dialect("cuda", source="__device__ void clamp(float& x, float low) { x = x < low ? low : x; }")
    def clamp(x: InOut[Element["f32"]], low: Scalar["f32"]): ...

    @triton.jit
    def kernel(x_ptr, y_ptr, low, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y_ptr + offsets, clamp(tl.load(x_ptr + offsets), low))

    x = random("f32", (256,))
    y = poisoned(x)
    kernel[(1,)](x, y, -0.25, 256)
    check_close(y, np.maximum(numbers(x), -0.25), 0)


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N, int K> __device__ void rotate(tle::tile<const short, N> x, tle::tile<short, N> y) {
  for (int i : y.indices()) y[i] = x[(i + K) % N];
}
""",
)
def rotate(x: In[Tile["i16", "N"]], y: Out[Tile["i16", "N"]], k: Const["K"]): ...


@pytest.mark.parametrize("k", [0, 1, 100])
def test_a_constant_is_a_template_argument(k):
    @triton.jit
    def kernel(x_ptr, y_ptr, N: tl.constexpr, K: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y_ptr + offsets, rotate(tl.load(x_ptr + offsets), K))

    x = random("i16", (256,))
    y = poisoned(x)
    kernel[(1,)](x, y, 256, k)
    check_bits(y, np.roll(bits(x), -k))


def test_code_written_for_a_two_dimensional_block():
    @tle_raw.dialect(
        "cuda",
        block=(16, 8),
        source=r"""
    template <int M, int N> __device__ void stamp(tle::tile<int, M, N> t) {
      for (int i = threadIdx.y; i < M; i += blockDim.y)
        for (int j = threadIdx.x; j < N; j += blockDim.x) t(i, j) += 100 * threadIdx.y + threadIdx.x;
    }
    """,
    )
    def stamp(t: InOut[Tile["i32", "M", "N"]]): ...

    @triton.jit
    def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
        offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
        tl.store(y_ptr + offsets, stamp(tl.load(x_ptr + offsets)))

    x = random("i32", (32, 64))
    y = poisoned(x)
    kernel[(1,)](x, y, 32, 64, num_warps=4)
    row, column = np.indices((32, 64))
    check_integers(y, integers(x) + (100 * (row % 8) + column % 16).astype(np.int32))
