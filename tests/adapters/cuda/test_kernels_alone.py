"""A kernel that is one region alone: its launch bounds, its indices, and no barriers around what nothing is beside."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel

pytestmark = pytest.mark.every_triton(2)

ROWS = """
__global__ void __launch_bounds__(128, 8) rows(const float* __restrict__ x, float* __restrict__ y, int from) {
  __shared__ float tile[4][32];
  const int i = blockIdx.y * 32 + threadIdx.x;
  float sums[8] = {};
  for (int k = from; k < 1000; k += 7)
    for (int j0 = 0; j0 < 32; j0 += 4) {
      const int j = j0 + threadIdx.y;
      sums[j0 / 4] += x[k * 8192 + j * 128 + i];
    }
  tile[threadIdx.y][threadIdx.x] = sums[0];
  __syncthreads();
  for (int j = 0; j < 8; ++j) y[j * 32 + threadIdx.x] = sums[j] + tile[3 - threadIdx.y][threadIdx.x];
}
"""

SUMS = """
__global__ void sums(const float* __restrict__ x, double* __restrict__ y, long n) {
  double sum = 0.0, most = 0.0;
  long others = 0;
  for (long i = threadIdx.x; i < n; i += 128) {
    const double v = x[i];
    if (isnan(v)) {
      ++others;
      continue;
    }
    if (!isinf(v)) sum += v;
    most = fmax(most, v);
  }
  y[threadIdx.x * 3] = sum;
  y[threadIdx.x * 3 + 1] = most;
  y[threadIdx.x * 3 + 2] = others;
}
"""


@triton.jit
def beside(x, y, out, region: tl.constexpr):
    tle_raw.call(region, [x, y, 0])
    tl.store(out, tl.load(y))


def test_what_ptxas_is_told():
    ptx = tle_raw.fragment(ROWS, dialect="cuda", symbol="rows").as_kernel(block=(32, 4)).compile("cuda:90").asm["ptx"]
    assert re.search(r"^\.minnctapersm 8$", ptx, re.MULTILINE)
    assert ptx.count("bar.sync") == 1
    # eight rows that lie apart by a constant are one address
    assert {512 * 4 * n for n in range(1, 8)} <= {
        int(n) for n in re.findall(r"ld\.global\S* \s*\S+ \[%rd\d+\+(\d+)\]", ptx)
    }


def test_a_limit_of_the_launch_is_the_only_one():
    kernel = tle_raw.fragment(ROWS, dialect="cuda", symbol="rows").as_kernel(block=(32, 4))
    ptx = kernel.compile("cuda:90", maxnreg=64).asm["ptx"]
    assert ".maxnreg 64" in ptx and "minnctapersm" not in ptx


def test_beside_other_code_barriers_stand_and_blocks_are_the_kernels():
    region = tle_raw.fragment(ROWS, dialect="cuda", symbol="rows", block=(32, 4))
    kernel = compile_kernel(beside, {"x": "*fp32", "y": "*fp32", "out": "*fp32"}, {"region": region}, num_warps=4)
    assert kernel.asm["ptx"].count("bar.sync") >= 2 and "minnctapersm" not in kernel.asm["ptx"]


def test_a_turn_of_four_begins_with_its_loads():
    ptx = tle_raw.fragment(SUMS, dialect="cuda", symbol="sums").as_kernel(block=128).compile("cuda:90").asm["ptx"]
    code = [line for line in map(str.strip, ptx.split("\n")) if line and not line.startswith((".loc", "//", "$L__tmp"))]
    runs = re.findall("l+", "".join("l" if line.startswith("ld.global.nc.b32") else "." for line in code))
    assert max(map(len, runs)) == 4


ROWS_OF_GRID = """
__global__ void copy(const float* __restrict__ x, float* __restrict__ y, long rows, long tiles, long across,
                     long step) {
  const long i = blockIdx.x * 128L + threadIdx.x;
  for (long row = blockIdx.y; row < rows; row += gridDim.y)
    for (long tile = blockIdx.z; tile < tiles; tile += gridDim.z)
      y[(tile * rows + row) * across + i] = x[tile * step + row * across + i];
}
"""


def test_loops_over_the_grid_prepare_no_addresses():
    ptx = (
        tle_raw.fragment(ROWS_OF_GRID, dialect="cuda", symbol="copy").as_kernel(block=128).compile("cuda:90").asm["ptx"]
    )
    begin = ptx.index("Inner Loop Header")
    inner = ptx[begin : ptx.index("bra", begin)]
    assert (
        inner.count("mul.lo.s64") + inner.count("mad.lo.s64") >= 2
    )  # products of the tile's number are made in its turn
