"""Static shared memory that is more than the 48 KiB of CUDA's own limit, and lies in dynamic memory instead."""

import pytest
import torch
import triton

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE

pytestmark = pytest.mark.gpu

SOURCE = """
__global__ void turn(const float* x, float* y, int n) {
  __shared__ float small[32];
  __shared__ float whole[16000];
  const float* row = x + (size_t)blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) whole[i] = row[i];
  if (threadIdx.x < 32) small[threadIdx.x] = 3.0f * threadIdx.x;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[(size_t)blockIdx.x * n + i] = whole[(i + 12345) % n] + small[i % 32];
}
"""
ROWS, COLUMNS = 301, 15_999

turn = tle_raw.fragment(SOURCE, dialect="cuda", symbol="turn")


@triton.jit
def turn_kernel(x, y, n):
    turn(x, y, n)


@pytest.mark.parametrize(
    "launched", [turn.as_kernel(block=256)[(ROWS,)], turn_kernel[(ROWS,)]], ids=["whole", "region"]
)
def test_static_shared_memory_above_the_limit_holds_what_was_written(launched):
    x = torch.randn(ROWS, COLUMNS, device=DEVICE)
    y = torch.empty_like(x)
    launched(x, y, COLUMNS)
    if COMPILE_ONLY:
        return
    added = 3.0 * (torch.arange(COLUMNS, device=DEVICE) % 32)
    expected = torch.roll(x.double(), -12345, dims=1) + added
    torch.testing.assert_close(y.double(), expected, rtol=1e-6, atol=1e-6)
