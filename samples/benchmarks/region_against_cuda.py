"""A region against the same algorithm as one CUDA kernel that nvcc compiled: same function, grid, block and inputs.

Both sides stage a tile in shared memory, run the same device function on it and write the result. The CUDA kernel
moves 16 bytes a thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import compile_only
import measure
import standalone
import torch
import triton
import triton.language as tl

import tle_raw
from tle_raw import In, InOut, Out, Pointer, Scalar, Tile

BUFFERS = 4
GOAL = 1.03

COPY = r"""
template <int BYTES> __device__ void move(void* to, const void* from) {
  for (int i = threadIdx.x; i < BYTES / 16; i += blockDim.x) ((uint4*)to)[i] = ((const uint4*)from)[i];
}
"""

# --- scale by a vector, add the block's maximum ---------------------------------------------------------------

SCALE = r"""
#include <tle_raw/tile.h>
template <int M, int N> __device__ void scale_max(tle::tile<float, M, N> t, const float* s, int n) {
  __shared__ float part[32];
  float top = -1e30f;
  for (int i : t.indices()) top = fmaxf(top, t[i] = t[i] * s[i % N] + n);
  for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = top;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) top = fmaxf(top, part[w]);
  for (int i : t.indices()) t[i] += top;
}
"""


@tle_raw.dialect("cuda", source=SCALE)
def scale_max(t: InOut[Tile["f32", "M", "N"]], s: Pointer["f32"], n: Scalar["i32"]): ...


@triton.jit
def scale_kernel(x_ptr, s_ptr, y_ptr, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B * B + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    y = scale_max(tl.load(x_ptr + offsets), s_ptr, n)
    tl.store(y_ptr + offsets, y * 2.0)


SCALE_CUDA = (
    SCALE
    + COPY
    + r"""
extern "C" __global__ void kernel(const float* x, const float* s, float* y, int n) {
  __shared__ alignas(16) float tile[64 * 64];
  const long first = blockIdx.x * 4096L;
  move<64 * 64 * 4>(tile, x + first);
  __syncthreads();
  scale_max<64, 64>(tle::tile<float, 64, 64>(tile), s, n);
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
    float4 v = ((float4*)tile)[i];
    ((float4*)(y + first))[i] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
  }
}
"""
)

# --- softmax of a row -----------------------------------------------------------------------------------------

SOFTMAX = r"""
#include <tle_raw/tile.h>
__device__ float over_block(float value, bool sum, float* part) {
  for (int o = 16; o; o >>= 1) {
    const float other = __shfl_xor_sync(0xffffffffu, value, o);
    value = sum ? value + other : fmaxf(value, other);
  }
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  value = part[0];
  for (int w = 1; w < blockDim.x / 32; ++w) value = sum ? value + part[w] : fmaxf(value, part[w]);
  return value;
}
template <int N> __device__ void softmax(tle::tile<float, N> t) {
  __shared__ float tops[32], sums[32];
  float top = -1e30f, sum = 0;
  for (int i : t.indices()) top = fmaxf(top, t[i]);
  top = over_block(top, false, tops);
  for (int i : t.indices()) sum += t[i] = __expf(t[i] - top);
  const float factor = 1 / over_block(sum, true, sums);
  for (int i : t.indices()) t[i] *= factor;
}
"""


@tle_raw.dialect("cuda", source=SOFTMAX)
def softmax(t: InOut[Tile["f32", "N"]]): ...


@triton.jit
def softmax_kernel(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    tl.store(y_ptr + offsets, softmax(tl.load(x_ptr + offsets)))


SOFTMAX_CUDA = (
    SOFTMAX
    + COPY
    + r"""
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(16) float tile[4096];
  const long first = blockIdx.x * 4096L;
  move<4096 * 4>(tile, x + first);
  __syncthreads();
  softmax<4096>(tle::tile<float, 4096>(tile));
  __syncthreads();
  move<4096 * 4>(y + first, tile);
}
"""
)

# --- fp8 quantisation of groups of 128 ------------------------------------------------------------------------

QUANTISE = r"""
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <tle_raw/tile.h>
template <int G, int N>
__device__ void quantise(tle::tile<const __nv_bfloat16, G, N> x, tle::tile<__nv_fp8_e4m3, G, N> q,
                         tle::tile<float, G> scales) {
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  for (int g = threadIdx.x / 32; g < G; g += warps) {
    float v[N / 32], top = 0;
    for (int k = 0; k < N / 32; k += 2) {
      const float2 pair = __bfloat1622float2(*(const __nv_bfloat162*)(x.data() + g * N + lane * (N / 32) + k));
      v[k] = pair.x, v[k + 1] = pair.y;
      top = fmaxf(top, fmaxf(fabsf(pair.x), fabsf(pair.y)));
    }
    for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
    const float scale = fmaxf(top, 1e-10f) / 448.0f, factor = 1 / scale;
    for (int k = 0; k < N / 32; ++k) q(g, lane * (N / 32) + k) = __nv_fp8_e4m3(v[k] * factor);
    if (lane == 0) scales[g] = scale;
  }
}
"""


@tle_raw.dialect("cuda", source=QUANTISE)
def quantise(x: In[Tile["bf16", "G", "N"]], q: Out[Tile["f8e4m3", "G", "N"]], scales: Out[Tile["f32", "G"]]): ...


@triton.jit
def quantise_kernel(x_ptr, q_ptr, s_ptr, G: tl.constexpr, N: tl.constexpr):
    groups = tl.program_id(0) * G + tl.arange(0, G)
    offsets = groups[:, None] * N + tl.arange(0, N)[None, :]
    q, scales = quantise(tl.load(x_ptr + offsets))
    tl.store(q_ptr + offsets, q)
    tl.store(s_ptr + groups, scales)


QUANTISE_CUDA = (
    QUANTISE
    + COPY
    + r"""
extern "C" __global__ void kernel(const __nv_bfloat16* x, __nv_fp8_e4m3* q, float* s) {
  __shared__ alignas(16) unsigned short tile[64 * 128];
  __shared__ alignas(16) unsigned char out[64 * 128];
  __shared__ alignas(16) float scales[64];
  const long first = blockIdx.x * 8192L;
  move<64 * 128 * 2>(tile, x + first);
  __syncthreads();
  quantise<64, 128>(tle::tile<const __nv_bfloat16, 64, 128>((const __nv_bfloat16*)tile),
                    tle::tile<__nv_fp8_e4m3, 64, 128>((__nv_fp8_e4m3*)out), tle::tile<float, 64>(scales));
  __syncthreads();
  move<64 * 128>(q + first, out);
  move<64 * 4>(s + blockIdx.x * 64L, scales);
}
"""
)

# --- CUB's block sort -----------------------------------------------------------------------------------------

SORT = r"""
#include <cub/block/block_radix_sort.cuh>
#include <tle_raw/tile.h>
template <int N> __device__ void sort(tle::tile<unsigned, N> t) {
  constexpr int THREADS = 256, ITEMS = N / THREADS;
  using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS>;
  __shared__ typename Sort::TempStorage storage;
  unsigned keys[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) keys[k] = t[threadIdx.x * ITEMS + k];
  Sort(storage).Sort(keys);
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) t[threadIdx.x * ITEMS + k] = keys[k];
}
"""


@tle_raw.dialect("cuda", source=SORT, block=(256,))
def sort(t: InOut[Tile["u32", "N"]]): ...


@triton.jit
def sort_kernel(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + offsets, sort(tl.load(x_ptr + offsets)))


SORT_CUDA = (
    SORT
    + COPY
    + r"""
extern "C" __global__ void kernel(const unsigned* x, unsigned* y) {
  __shared__ alignas(16) unsigned tile[2048];
  const long first = blockIdx.x * 2048L;
  move<2048 * 4>(tile, x + first);
  __syncthreads();
  sort<2048>(tle::tile<unsigned, 2048>(tile));
  __syncthreads();
  move<2048 * 4>(y + first, tile);
}
"""
)

# --- a matrix product whose accumulators are an array of 8x8 in each thread -----------------------------------

MATMUL = r"""
extern "C" __global__ void __launch_bounds__(256) kernel(const float* a, const float* b, float* c, int n) {
  __shared__ alignas(16) float as[128][36], bs[128][36];  // b is transposed: n x k
  const int row = threadIdx.x / 16, column = threadIdx.x % 16, blocks = n / 128;
  const float* from_a = a + (long)(blockIdx.x / blocks * 128) * n;
  const float* from_b = b + (long)(blockIdx.x % blocks * 128) * n;
  float vals[8][8] = {};
  for (int k = 0; k < n; k += 32) {
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 256) {
      const int line = i / 8, at = i % 8 * 4;
      *(float4*)&as[line][at] = *(const float4*)&from_a[(long)line * n + k + at];
      *(float4*)&bs[line][at] = *(const float4*)&from_b[(long)line * n + k + at];
    }
    __syncthreads();
    for (int at = 0; at < 32; at += 4) {
      float4 right[8];
      for (int j = 0; j < 8; ++j) right[j] = *(const float4*)&bs[column + 16 * j][at];
      for (int i = 0; i < 8; ++i) {
        const float4 left = *(const float4*)&as[row + 16 * i][at];
        for (int j = 0; j < 8; ++j) {
          vals[i][j] += left.x * right[j].x;
          vals[i][j] += left.y * right[j].y;
          vals[i][j] += left.z * right[j].z;
          vals[i][j] += left.w * right[j].w;
        }
      }
    }
  }
  float* to = c + (long)(blockIdx.x / blocks * 128 + row) * n + blockIdx.x % blocks * 128 + column;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) to[(long)i * 16 * n + j * 16] = vals[i][j];
}
"""
matmul = tle_raw.fragment(MATMUL, dialect="cuda", symbol="kernel").as_kernel(block=256)


@dataclass
class Case:
    """``region`` and ``cuda`` write to their own outputs; ``right`` compares one buffer set's outputs."""

    name: str
    region: Callable[[int], Any]
    cuda: Callable[[int], Any]
    right: Callable[[int], None]
    source: str = ""


def tensors(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> list[torch.Tensor]:
    if dtype == torch.uint32:
        return [
            torch.randint(-(2**31), 2**31, shape, dtype=torch.int32, device=device).view(dtype) for _ in range(BUFFERS)
        ]
    return [torch.randn(shape, device=device).to(dtype) for _ in range(BUFFERS)]


def empties(like: list[torch.Tensor], shape: Any = None, dtype: Any = None) -> list[torch.Tensor]:
    return [torch.empty(shape or x.shape, dtype=dtype or x.dtype, device=x.device) for x in like]


def scale_case(device: str, tiles: int, make: Callable[[str], Any], warps: int) -> Case:
    x, s = tensors((tiles, 64, 64), torch.float32, device), torch.randn(64, device=device)
    region, cuda = empties(x), empties(x)
    kernel = make(SCALE_CUDA)

    def right(b: int) -> None:
        e = x[b].double() * s.double() + 3
        e = 2 * (e + e.amax(dim=(1, 2), keepdim=True))
        measure.check("scale and max, region", region[b], e, 1e-6)
        measure.check("scale and max, CUDA", cuda[b], e, 1e-6)

    return Case(
        f"scale and block maximum, 64x64 f32, {warps} warps",
        lambda b: scale_kernel[(tiles,)](x[b], s, region[b], 3, 64, num_warps=warps),
        lambda b: kernel(tiles, 32 * warps, x[b], s, cuda[b], 3),
        right,
    )


def softmax_case(device: str, rows: int, make: Callable[[str], Any], warps: int) -> Case:
    x = tensors((rows, 4096), torch.float32, device)
    region, cuda = empties(x), empties(x)
    kernel = make(SOFTMAX_CUDA)

    def right(b: int) -> None:
        e = torch.softmax(x[b].double(), dim=1)
        measure.check("softmax, region", region[b], e, 1e-5)
        measure.check("softmax, CUDA", cuda[b], e, 1e-5)

    return Case(
        f"softmax of rows of 4096 f32, {warps} warps",
        lambda b: softmax_kernel[(rows,)](x[b], region[b], 4096, num_warps=warps),
        lambda b: kernel(rows, 32 * warps, x[b], cuda[b]),
        right,
    )


def quantise_case(device: str, blocks: int, make: Callable[[str], Any], warps: int) -> Case:
    x = tensors((blocks * 64, 128), torch.bfloat16, device)
    q = [empties(x, dtype=torch.float8_e4m3fn) for _ in range(2)]
    s = [empties(x, (blocks * 64,), torch.float32) for _ in range(2)]
    kernel = make(QUANTISE_CUDA)

    def right(b: int) -> None:
        scales = x[b].double().abs().amax(dim=1) / 448
        for side in (0, 1):
            measure.check("scales of fp8 groups", s[side][b], scales, 1e-6)
            measure.check("fp8 groups", q[side][b].double() * s[side][b].double()[:, None], x[b], 0.04)
        if not torch.equal(q[0][b].view(torch.uint8), q[1][b].view(torch.uint8)):
            different = (q[0][b].view(torch.uint8) != q[1][b].view(torch.uint8)).double().mean().item()
            if different > 1e-4:
                raise SystemExit(f"fp8 groups: {different:.2%} of the bytes differ between region and CUDA")

    return Case(
        f"fp8 quantisation, groups of 128 bf16, {warps} warps",
        lambda b: quantise_kernel[(blocks,)](x[b], q[0][b], s[0][b], 64, 128, num_warps=warps),
        lambda b: kernel(blocks, 32 * warps, x[b], q[1][b], s[1][b]),
        right,
    )


def sort_case(device: str, tiles: int, make: Callable[[str], Any], warps: int) -> Case:
    x = tensors((tiles, 2048), torch.uint32, device)
    region, cuda = empties(x), empties(x)
    kernel = make(SORT_CUDA)

    def right(b: int) -> None:
        e = (x[b].view(torch.int32).long() & 0xFFFFFFFF).sort(dim=1).values
        for name, got in (("region", region[b]), ("CUDA", cuda[b])):
            if not torch.equal(got.view(torch.int32).long() & 0xFFFFFFFF, e):
                raise SystemExit(f"sort, {name}: the keys are not sorted")

    return Case(
        f"CUB sort of 2048 u32, {warps} warps",
        lambda b: sort_kernel[(tiles,)](x[b], region[b], 2048, num_warps=warps),
        lambda b: kernel(tiles, 32 * warps, x[b], cuda[b]),
        right,
    )


def matmul_case(device: str, n: int, make: Callable[[str], Any]) -> Case:
    a, b = tensors((n, n), torch.float32, device), torch.randn((n, n), device=device)
    region, cuda = empties(a), empties(a)
    kernel, blocks = make(MATMUL), (n // 128) ** 2

    def right(i: int) -> None:
        e = a[i].double() @ b.double().T
        measure.check("register-tiled matmul, region", region[i], e, 1e-5)
        measure.check("register-tiled matmul, CUDA", cuda[i], e, 1e-5)

    return Case(
        f"register-tiled matmul of {n} x {n} f32, 8 warps",
        lambda i: matmul[(blocks,)](a[i], b, region[i], n),
        lambda i: kernel(blocks, 256, a[i], b, cuda[i], n),
        right,
    )


def cases(device: str, size: int, make: Callable[[str], Any]) -> list[Callable[[], Case]]:
    """``size`` bytes is about what one buffer set's input has."""
    return [
        lambda: scale_case(device, size >> 14, make, 4),
        lambda: scale_case(device, size >> 14, make, 8),
        lambda: softmax_case(device, size >> 14, make, 4),
        lambda: softmax_case(device, size >> 14, make, 8),
        lambda: quantise_case(device, size >> 14, make, 4),
        lambda: quantise_case(device, size >> 14, make, 8),
        lambda: sort_case(device, size >> 15, make, 8),
        lambda: matmul_case(device, max(128, math.isqrt(size >> 4)), make),
    ]


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    torch.manual_seed(0)
    if options.compile_only:
        compile_only.install()
        for make_case in cases("cpu", 1 << 16, standalone.compile_with_nvcc if standalone.nvcc() else str):
            case = make_case()
            print(f"{case.name}\n{tle_raw.report(case.region(0))}", flush=True)
        return
    rows = []
    made: dict[str, standalone.Kernel] = {}

    def make(source: str) -> standalone.Kernel:
        if source not in made:
            made[source] = standalone.Kernel(source, "kernel")
        return made[source]

    for make_case in cases("cuda", 1 << 28, make):
        case = make_case()
        found = tle_raw.report(case.region(0))
        for b in range(BUFFERS):
            case.region(b)
            case.cuda(b)
            torch.cuda.synchronize()
            case.right(b)
        times, noise = measure.compare({"region": case.region, "CUDA": case.cuda}, BUFFERS, options.quick)
        sides = {"region ms": times["region"], "CUDA ms": times["CUDA"]}
        calls = "?" if found.sass_calls is None else len(found.sass_calls)
        note = f"{found.registers} registers, {found.spills} spills, {calls} SASS calls"
        rows.append(measure.Row(case.name, times["region"] / times["CUDA"], "x", GOAL, False, sides, noise, note))
        del case
        torch.cuda.empty_cache()
    measure.report("region against one CUDA kernel", rows, options)


if __name__ == "__main__":
    main()
