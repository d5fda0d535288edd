"""Arrays of a thread live in registers, as nvcc has them: the loops over them are unrolled."""

import re

import numpy as np
import pytest

import tle_raw
from tle_raw.adapters.cpp.command import optimiser_flags, without_unswitching
from tle_raw.linker.machine_code.sass import read_cubin

pytestmark = pytest.mark.one_triton

MATMUL = r"""
__global__ void __launch_bounds__(256) matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[128][32], bs[128][32];
  const int row = threadIdx.x % 16 * 8, column = threadIdx.x / 16 * 8;
  float vals[8][8] = {};
  for (int k = 0; k < n; k += 32) {
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += 256)
      as[i / 32][i % 32] = a[i / 32 * n + k + i % 32], bs[i / 32][i % 32] = b[i / 32 * n + k + i % 32];
    __syncthreads();
    for (int at = 0; at < 32; at += 4) {
      float4 right[8];
      for (int j = 0; j < 8; ++j) right[j] = *(const float4*)&bs[column + j][at];
      for (int i = 0; i < 8; ++i) {
        const float4 left = *(const float4*)&as[row + i][at];
        for (int j = 0; j < 8; ++j) {
          vals[i][j] += left.x * right[j].x;
          vals[i][j] += left.y * right[j].y;
          vals[i][j] += left.z * right[j].z;
          vals[i][j] += left.w * right[j].w;
        }
      }
    }
  }
  for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) c[(row + i) * 128 + column + j] = vals[i][j];
}
"""


def compiled(*flags):
    fragment = tle_raw.fragment(MATMUL, dialect="cuda", symbol="matmul", flags=flags)
    return fragment.as_kernel(block=256).compile("cuda:90")


def test_a_register_tile_has_no_local_memory():
    kernel = compiled()
    assert ".local" not in kernel.asm["ptx"]
    facts = read_cubin(kernel.asm["cubin"])
    if facts.reason:
        pytest.skip(facts.reason)
    assert (facts.local_loads, facts.local_stores, facts.stack) == (0, 0, 0)


def test_sums_are_not_packed_into_vectors_that_no_gpu_has():
    text = compiled().asm["llir"]
    assert not re.search(r"<(?:8|16|32|64) x float>", text)
    # Code generation makes no wide stores under what kept them apart.
    assert not re.search(r"^attributes .*noimplicitfloat", text, re.MULTILINE)


# Short numbers side by side, each thread's own.
MOVE = r"""
__global__ void move_on(const short* __restrict__ from, short* __restrict__ to, int count) {
  for (int i = 0; i < count; ++i) to[threadIdx.x * count + i] = from[threadIdx.x * count + i] + 1;
}
"""


def test_loops_are_not_divided_for_vectors():
    def loops(*flags):
        fragment = tle_raw.fragment(MOVE, dialect="cuda", symbol="move_on", flags=flags)
        return fragment.as_kernel(block=64).compile("cuda:90").asm["llir"]

    assert "llvm.loop.isvectorized" not in loops() and "llvm.loop.isvectorized" in loops("-fvectorize")


def test_the_users_own_flags_win():
    assert ".local" in compiled("-mllvm", "-unroll-threshold=300").asm["ptx"]


def test_llvm_is_told_each_thing_once():
    aliasing, scalar, *told = optimiser_flags((), True, True)
    assert (aliasing, scalar) == ("-fno-strict-aliasing", "-fno-vectorize")
    assert scalar not in optimiser_flags(("-fvectorize",), True, True)
    assert told[:4] == ["-mllvm", "-inline-threshold=100000", "-mllvm", "-unroll-threshold=1000"]
    assert optimiser_flags(("-mllvm", "-inline-threshold=5"), True, True) == (aliasing, scalar, *told[2:])
    assert "-unroll-threshold=2000" in optimiser_flags((), True, True, has_arrays=True)
    users = optimiser_flags(("-mllvm", "--unroll-threshold=9"), False, True, has_arrays=True)
    assert users == (aliasing, *told[4:-4])
    assert without_unswitching((aliasing, *told)) == (aliasing, *told[:-4])
    assert optimiser_flags(("-Os",), False, True) == optimiser_flags((), False, False) == (aliasing,)
    assert optimiser_flags(("-fstrict-aliasing",), False, False) == ()


def test_a_register_tile_has_the_right_numbers_on_the_cpu():
    a, b, c = np.random.rand(128, 64).astype("f4"), np.random.rand(128, 64).astype("f4"), np.zeros((128, 128), "f4")
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        tle_raw.fragment(MATMUL, dialect="cuda", symbol="matmul").as_kernel(block=256)[(1,)](a, b, c, 64)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.T, rtol=1e-5)


HALVES = """
#include <cuda_fp16.h>
__global__ void widen(const half* x, float* o, int n) {
#pragma unroll 4
  for (int i = threadIdx.x; i < n; i += 128) o[i] = __half2float(x[i]);
}
"""


def test_loops_with_arithmetic_of_halves_are_unrolled():
    """CUDA's headers spell it as assembly, which clang takes for code that warps run together."""
    text = tle_raw.fragment(HALVES, dialect="cuda", symbol="widen").as_kernel(block=128).compile("cuda:90").asm["ptx"]
    assert text.count("cvt.f32.f16") >= 4


LIMITED = """
struct Short {
  unsigned char bits;
  __host__ __device__ operator float() const { return bits * 2.0f; }
};
namespace std { template <> struct numeric_limits<Short> { static constexpr bool is_specialized = true; }; }
__global__ void limit(float* x, Short most) { x[threadIdx.x] = fmax(fmin(x[threadIdx.x], most), 0.5f); }
"""


def test_numbers_that_convert_to_float_are_compared_in_float():
    text = tle_raw.fragment(LIMITED, dialect="cuda", symbol="limit").as_kernel(block=32).compile("cuda:90").asm["ptx"]
    assert "min" in text and "f64" not in text
