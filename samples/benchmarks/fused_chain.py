"""One fused kernel against three launches (Triton, CUDA, Triton) on a chain that only moves memory.

gate: y = silu(x) * g, both read; scan: running sum of each row, in CUDA; finish: out = r + scale * z.
"""

from __future__ import annotations

import compile_only
import measure
import standalone
import torch
import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Tile

BUFFERS = 3
N, WARPS = 4096, 8
GOAL = 1.5

SCAN = r"""
#include <tle_raw/tile.h>
template <int N> __device__ void scan(tle::tile<float, N> t) {
  __shared__ float sums[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float carry = 0;
  for (int first = 0; first < N; first += blockDim.x) {
    float value = t[first + threadIdx.x];
    for (int o = 1; o < 32; o *= 2) {
      const float before = __shfl_up_sync(0xffffffffu, value, o);
      if (lane >= o) value += before;
    }
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    for (int w = 0; w < warps; ++w) {
      if (w == warp) value += carry;
      carry += sums[w];
    }
    t[first + threadIdx.x] = value;
    __syncthreads();
  }
}
"""


@tle_raw.dialect("cuda", source=SCAN)
def scan(t: InOut[Tile["f32", "N"]]): ...


SCAN_CUDA = (
    SCAN
    + r"""
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(16) float tile[4096];
  const long first = blockIdx.x * 4096L;
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) ((float4*)tile)[i] = ((const float4*)(x + first))[i];
  __syncthreads();
  scan<4096>(tle::tile<float, 4096>(tile));
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) ((float4*)(y + first))[i] = ((float4*)tile)[i];
}
"""
)


@triton.jit
def gate_kernel(x_ptr, g_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x * tl.sigmoid(x) * tl.load(g_ptr + offsets))


@triton.jit
def finish_kernel(z_ptr, r_ptr, out_ptr, scale, N: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(r_ptr + offsets) + scale * tl.load(z_ptr + offsets))


@triton.jit
def fused_kernel(x_ptr, g_ptr, r_ptr, out_ptr, scale, N: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    z = scan(x * tl.sigmoid(x) * tl.load(g_ptr + offsets))
    tl.store(out_ptr + offsets, tl.load(r_ptr + offsets) + scale * z)


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    torch.manual_seed(0)
    device, rows = ("cpu", 4) if options.compile_only else ("cuda", 16384)
    if options.compile_only:
        compile_only.install()
    x, g, r = ([torch.randn(rows, N, device=device) for _ in range(BUFFERS)] for _ in range(3))
    y, z, apart, fused = ([torch.empty_like(t) for t in x] for _ in range(4))

    def one(b: int) -> object:
        return fused_kernel[(rows,)](x[b], g[b], r[b], fused[b], 0.25, N, num_warps=WARPS)

    if options.compile_only:
        gate_kernel[(rows,)](x[0], g[0], y[0], N, num_warps=WARPS)
        finish_kernel[(rows,)](z[0], r[0], apart[0], 0.25, N, num_warps=WARPS)
        if standalone.nvcc():
            standalone.compile_with_nvcc(SCAN_CUDA)
        print(tle_raw.report(one(0)))
        return
    scan_cuda = standalone.Kernel(SCAN_CUDA, "kernel")

    def three(b: int) -> None:
        gate_kernel[(rows,)](x[b], g[b], y[b], N, num_warps=WARPS)
        scan_cuda(rows, 32 * WARPS, y[b], z[b])
        finish_kernel[(rows,)](z[b], r[b], apart[b], 0.25, N, num_warps=WARPS)

    for b in range(BUFFERS):
        one(b), three(b)
        torch.cuda.synchronize()
        e = r[b].double() + 0.25 * torch.cumsum(torch.nn.functional.silu(x[b].double()) * g[b].double(), dim=1)
        measure.check("one kernel", fused[b], e, 1e-5)
        measure.check("three kernels", apart[b], e, 1e-5)
    times, noise = measure.compare({"one": one, "three": three}, BUFFERS, options.quick)
    moved = 4 * rows * N * 4 / times["one"] / 1e9  # three tiles in, one out, in TB/s
    rows_ = [
        measure.Row(
            "gate, scan, residual: three launches over one",
            times["three"] / times["one"],
            "x",
            GOAL,
            True,
            {"one ms": times["one"], "three ms": times["three"]},
            noise,
            f"one kernel moves {moved:.2f} TB/s",
        )
    ]
    measure.report("one fused kernel against three", rows_, options)


if __name__ == "__main__":
    main()
