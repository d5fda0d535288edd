"""CUDA kernels alone, to PTX: halves that a thread loads if it has any stay words."""

import re

import pytest

import tle_raw

pytestmark = pytest.mark.every_triton(2)

HALVES = """
__global__ void halves(const uint4* x, uint4* y, float* sums, int n) {
  short own[8] = {};
  if (threadIdx.x < n) *reinterpret_cast<uint4*>(own) = x[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += own[i] * 0.5f;
  sums[threadIdx.x] = sum;
  y[threadIdx.x] = *reinterpret_cast<uint4*>(own);
}
"""


def ptx_of(text, symbol):
    return tle_raw.fragment(text, dialect="cuda", symbol=symbol).as_kernel(block=64).compile("cuda:90").asm["ptx"]


def test_halves_that_a_thread_may_not_have_are_words():
    ptx = ptx_of(HALVES, "halves")
    assert not re.search(r"mov\.b16\s+%rs\d+, (?:0|%rs)", ptx)
    assert re.search(r"mov\.b32\s+\{%rs\d+, %rs\d+\}", ptx[ptx.index("ld.global") :])
