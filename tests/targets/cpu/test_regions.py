"""CUDA fragments in kernels that run on the CPU: every kind of port, loops, several regions, failures."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tle_raw import Const, Element, In, InOut, Out, Pointer, Scalar, Tile
from tle_raw.errors import KernelFailed

pytestmark = pytest.mark.every_triton(2)


@tle_raw.dialect(
    "cuda",
    source=r"""
#include <tle_raw/tile.h>
template <int M, int N>
__device__ float scale_rows(tle::tile<float, M, N> t, tle::tile<float, M> sums, const float* by, int add) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  for (int i = threadIdx.x; i < t.size(); i += blockDim.x) t[i] = t[i] * by[i % N] + add;
  __syncthreads();
  for (int row = threadIdx.x; row < M; row += blockDim.x) {
    float sum = 0;
    for (int column = 0; column < N; ++column) sum += t(row, column);
    sums[row] = sum;
    atomicAdd(&total, sum);
  }
  __syncthreads();
  return total;
}
""",
)
def scale_rows(
    t: InOut[Tile["f32", "M", "N"]], sums: Out[Tile["f32", "M"]], by: Pointer["f32"], add: Scalar["i32"]
) -> Scalar["f32"]: ...


@tle_raw.dialect("cuda", source="__device__ float cubed(float x) { return x * x * x; }")
def cubed(x: In[Element["f32"]]) -> Element["f32"]: ...


@tle_raw.dialect(
    "cuda",
    source=r"""
#include <tle_raw/tile.h>
template <int N, int STEP> __device__ void rotate(tle::tile<float, N> t) {
  const int i = threadIdx.x;
  const float mine = i < N ? t[(i + STEP) % N] : 0;
  __syncthreads();
  if (i < N) t[i] = mine;
}
""",
)
def rotate(t: InOut[Tile["f32", "N"]], step: Const["STEP"]): ...  # noqa: F821


@tle_raw.dialect(
    "cuda",
    source=r"""
#include <tle_raw/tile.h>
template <int N> __device__ void beyond(tle::tile<float, N> t) {
  if (threadIdx.x == 3) t[N] = 1;  // the line that is meant
}
""",
)
def beyond(t: InOut[Tile["f32", "N"]]): ...


@triton.jit
def all_ports(x, by, sums, total, add, M: tl.constexpr, N: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * M * N + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    before = tl.load(x + at)
    after, row_sums, whole = scale_rows(before, by, add)
    tl.store(x + at, after + cubed(before))
    tl.store(sums + pid * M + tl.arange(0, M), row_sums)
    tl.store(total + pid, whole)


@pytest.mark.parametrize(("m", "n", "num_warps"), [(4, 32, 1), (16, 64, 4), (64, 8, 8)])
def test_every_kind_of_port(m, n, num_warps):
    rng = np.random.default_rng(m)
    programs = 5
    x = rng.standard_normal((programs, m, n), dtype=np.float32)
    by = rng.standard_normal(n, dtype=np.float32)
    sums, total = np.zeros((programs, m), np.float32), np.zeros(programs, np.float32)
    before = x.astype(np.float64)
    all_ports[(programs,)](x, by, sums, total, 3, M=m, N=n, num_warps=num_warps)
    after = before * by + 3
    np.testing.assert_allclose(x, after + before**3, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sums, after.sum(2), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(total, after.sum((1, 2)), rtol=1e-4, atol=1e-2)


@triton.jit
def in_a_loop(x, out, times, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = tl.load(x + i)
    kept = tile
    for n in range(times):
        tile = rotate(tile, 1)
        if n % 2 == 0:
            tile = rotate(tile, 2) + 1.0
    tl.store(out + i, tile - kept)


@pytest.mark.parametrize("times", [0, 1, 2, 7])
def test_regions_in_loops_and_branches(times):
    x = np.random.default_rng(times).standard_normal(64, dtype=np.float32)
    out = np.zeros_like(x)
    in_a_loop[(1,)](x, out, times, N=64)
    want = x
    for n in range(times):
        want = np.roll(want, -1)
        if n % 2 == 0:
            want = np.roll(want, -2) + np.float32(1)
    np.testing.assert_array_equal(out, want - x)


@triton.jit
def fails(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, beyond(tl.load(x + i)))


def test_a_failing_fragment_names_its_line():
    with tle_raw.knobs.scope():
        tle_raw.knobs.debug = True
        with pytest.raises(KernelFailed, match="index 64 is outside of the tile") as caught:
            fails[(2,)](np.zeros(64, np.float32), N=64)
        assert caught.value.kind == "out_of_bounds"
        assert "the line that is meant" in str(caught.value)
        # The next launch starts afresh.
        x = np.ones(64, np.float32)
        in_a_loop[(1,)](x, x.copy(), 1, N=64)


@tle_raw.dialect(
    "cuda", source="__device__ void count_threads(int* t) { atomicAdd(t, 1); if (!threadIdx.x) t[1] = blockDim.x; }"
)
def count_threads(t: InOut[Pointer["i32"]]): ...


@triton.jit
def counts_threads(t):
    count_threads(t)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_every_thread_of_the_block_runs_a_region(num_warps):
    counts = np.zeros(2, np.int32)
    counts_threads[(1,)](counts, num_warps=num_warps)
    assert counts.tolist() == [32 * num_warps] * 2
