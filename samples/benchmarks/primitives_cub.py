"""CUDA kernels around CUB's block and warp primitives: what the kernels of ``primitives_speed.py`` stand beside."""

from __future__ import annotations

HEAD = """
#include <cub/cub.cuh>
constexpr int THREADS = {threads}, N = {n}, ITEMS = N / THREADS;
using T = {type};
"""

# A block loads, works and stores; arrangements are CUB's own for the work.
SCAN = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, T* y) {{
  using Load = cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_{move}>;
  using Store = cub::BlockStore<T, THREADS, ITEMS, cub::BLOCK_STORE_{move}>;
  using Scan = cub::BlockScan<T, THREADS>;
  __shared__ union {{ typename Load::TempStorage load; typename Store::TempStorage store; typename Scan::TempStorage scan; }} s;
  const long first = blockIdx.x * long(N);
  T items[ITEMS];
  Load(s.load).Load(x + first, items);
  __syncthreads();
  Scan(s.scan).{what}Sum(items, items);
  __syncthreads();
  Store(s.store).Store(y + first, items);
}}
"""

REDUCE = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, T* y) {{
  using Load = cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_VECTORIZE>;
  using Reduce = cub::BlockReduce<T, THREADS>;
  __shared__ union {{ typename Load::TempStorage load; typename Reduce::TempStorage reduce; }} s;
  T items[ITEMS];
  Load(s.load).Load(x + blockIdx.x * long(N), items);
  __syncthreads();
  const T sum = Reduce(s.reduce).Sum(items);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}}
"""

# Rows of 128 floats, four to a lane.
ROW_SCAN = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const float4* x, float4* y) {{
  using Scan = cub::WarpScan<float>;
  __shared__ typename Scan::TempStorage s[THREADS / 32];
  const int warp = threadIdx.x / 32;
  for (int row = warp; row < N / 128; row += THREADS / 32) {{
    const long at = blockIdx.x * long(N / 4) + row * 32 + threadIdx.x % 32;
    float4 v = x[at];
    v.y += v.x, v.z += v.y, v.w += v.z;
    float before;
    Scan(s[warp]).ExclusiveSum(v.w, before);
    y[at] = make_float4(before + v.x, before + v.y, before + v.z, before + v.w);
  }}
}}
"""

ROW_REDUCE = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const float4* x, float* y) {{
  using Reduce = cub::WarpReduce<float>;
  __shared__ typename Reduce::TempStorage s[THREADS / 32];
  const int warp = threadIdx.x / 32;
  for (int row = warp; row < N / 128; row += THREADS / 32) {{
    const float4 v = x[blockIdx.x * long(N / 4) + row * 32 + threadIdx.x % 32];
    const float sum = Reduce(s[warp]).Sum(v.x + v.y + v.z + v.w);
    if (threadIdx.x % 32 == 0) y[blockIdx.x * (N / 128) + row] = sum;
  }}
}}
"""

SORT = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, T* y) {{
  using Sort = cub::BlockRadixSort<T, THREADS, ITEMS>;
  __shared__ typename Sort::TempStorage s;
  T items[ITEMS];
  cub::LoadDirectStriped<THREADS>(threadIdx.x, x + blockIdx.x * long(N), items);
  Sort(s).SortBlockedToStriped(items);
  cub::StoreDirectStriped<THREADS>(threadIdx.x, y + blockIdx.x * long(N), items);
}}
"""

SORT_PAIRS = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, const int* v, T* y, int* w) {{
  using Sort = cub::BlockRadixSort<T, THREADS, ITEMS, int>;
  using Keys = cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Values = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  __shared__ union {{ typename Sort::TempStorage sort; typename Keys::TempStorage keys; typename Values::TempStorage values; }} s;
  T items[ITEMS];
  int values[ITEMS];
  Keys(s.keys).Load(x + blockIdx.x * long(N), items);
  __syncthreads();
  Values(s.values).Load(v + blockIdx.x * long(N), values);
  __syncthreads();
  Sort(s.sort).SortBlockedToStriped(items, values);
  cub::StoreDirectStriped<THREADS>(threadIdx.x, y + blockIdx.x * long(N), items);
  cub::StoreDirectStriped<THREADS>(threadIdx.x, w + blockIdx.x * long(N), values);
}}
"""

# CUB has no top-k of a block in CUDA 13.0: a sort of all, of which the first are stored.
TOPK = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, T* y, int* w) {{
  using Sort = cub::BlockRadixSort<T, THREADS, ITEMS, int>;
  using Keys = cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  __shared__ union {{ typename Sort::TempStorage sort; typename Keys::TempStorage keys; }} s;
  T items[ITEMS];
  int places[ITEMS];
  Keys(s.keys).Load(x + blockIdx.x * long(N), items);
  for (int i = 0; i < ITEMS; ++i) places[i] = threadIdx.x * ITEMS + i;
  __syncthreads();
  Sort(s.sort).SortDescendingBlockedToStriped(items, places);
  if (threadIdx.x < {kept}) y[blockIdx.x * {kept} + threadIdx.x] = items[0], w[blockIdx.x * {kept} + threadIdx.x] = places[0];
}}
"""

HISTOGRAM = """
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, int* y) {{
  using Load = cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_VECTORIZE>;
  using Histogram = cub::BlockHistogram<T, THREADS, ITEMS, 256, cub::BLOCK_HISTO_{how}>;
  __shared__ union {{ typename Load::TempStorage load; typename Histogram::TempStorage histogram; }} s;
  __shared__ int counts[256];
  T items[ITEMS];
  Load(s.load).Load(x + blockIdx.x * long(N), items);
  __syncthreads();
  Histogram(s.histogram).Histogram(items, counts);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += THREADS) y[blockIdx.x * 256 + i] = counts[i];
}}
"""

# Two sorted halves, merged.
MERGE = """
struct Less {{ __device__ bool operator()(T a, T b) const {{ return a < b; }} }};
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, T* y) {{
  using Sort = cub::BlockMergeSort<T, THREADS, ITEMS>;
  using Load = cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<T, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {{ typename Load::TempStorage load; typename Store::TempStorage store; typename Sort::TempStorage sort; }} s;
  T items[ITEMS];
  Load(s.load).Load(x + blockIdx.x * long(N), items);
  __syncthreads();
  Sort(s.sort).Sort(items, Less());
  __syncthreads();
  Store(s.store).Store(y + blockIdx.x * long(N), items);
}}
"""

ROW_SORT = """
struct Less {{ __device__ bool operator()(T a, T b) const {{ return a < b; }} }};
extern "C" __global__ void __launch_bounds__(THREADS) kernel(const T* x, T* y) {{
  using Sort = cub::WarpMergeSort<T, 4, 32>;
  __shared__ typename Sort::TempStorage s[THREADS / 32];
  const int warp = threadIdx.x / 32;
  for (int row = warp; row < N / 128; row += THREADS / 32) {{
    const long at = blockIdx.x * long(N / 4) + row * 32 + threadIdx.x % 32;
    uint4 v = reinterpret_cast<const uint4*>(x)[at];
    T items[4] = {{v.x, v.y, v.z, v.w}};
    Sort(s[warp]).Sort(items, Less());
    __syncwarp();
    reinterpret_cast<uint4*>(y)[at] = make_uint4(items[0], items[1], items[2], items[3]);
  }}
}}
"""


def source(text: str, type_: str, n: int, threads: int, **values: str | int) -> str:
    """The text of a kernel named ``kernel`` for tiles of ``n`` elements."""
    return HEAD.format(type=type_, n=n, threads=threads) + text.format(**values)
