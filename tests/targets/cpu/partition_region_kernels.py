"""Kernels with regions in partitions of specialised warps."""

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.frontends.gpu.barrier_kernels import SOURCE, double_it
from tle_raw import Barrier, Buffer, Element, In, Out, Pointer, Scalar, Tile

MORE = (
    SOURCE
    + r"""
// All rows of a ring by one call: it waits for free slots, and lets others run meanwhile.
template <int M, int N>
__device__ void fill(tle::tile<float, M, N> ring, const float* x, tle::barrier full, tle::barrier empty, int rows) {
  for (int row = 0; row < rows; ++row) {
    empty.wait(row);
    for (int i = ring.thread(); i < N; i += ring.threads()) ring[row % M * N + i] = x[row * N + i];
    __syncthreads();
    if (ring.thread() == 0) full.arrive();
  }
}
template <int M, int N>
__device__ void drain(tle::tile<const float, M, N> ring, float* y, tle::barrier full, tle::barrier empty, int rows) {
  __shared__ float sum;
  for (int row = 0; row < rows; ++row) {
    full.wait(row);
    if (ring.thread() == 0) sum = 0;
    __syncthreads();
    for (int i = ring.thread(); i < N; i += ring.threads()) atomicAdd(&sum, ring[row % M * N + i]);
    __syncthreads();
    for (int i = ring.thread(); i < N; i += ring.threads()) y[row * N + i] = ring[row % M * N + i] + ring.threads();
    if (ring.thread() == 0) y[rows * N + row] = sum;
    __syncthreads();
    if (ring.thread() == 0) empty.arrive();
  }
}
extern "C" __device__ float shifted(float x, float by) { return x + by; }
template <int N> __device__ void turned(tle::tile<const float, N> x, tle::tile<float, N> y) {
  __shared__ float kept[N];
  for (int i : x.indices()) kept[i] = x[i];
  __syncthreads();
  for (int i : y.indices()) y[i] = kept[N - 1 - i];
}
"""
)


@tle_raw.dialect("cuda", source=MORE)
def fill(
    ring: Out[Buffer["f32", "M", "N"]], x: Pointer["f32"], full: Barrier, empty: In[Barrier], rows: Scalar["i32"]
): ...


@tle_raw.dialect("cuda", source=MORE)
def drain(
    ring: In[Buffer["f32", "M", "N"]], y: Pointer["f32"], full: In[Barrier], empty: Barrier, rows: Scalar["i32"]
): ...


@tle_raw.dialect("cuda", source=MORE)
def shifted(x: Element["f32"], by: Scalar["f32"]) -> Element["f32"]: ...


@tle_raw.dialect("cuda", source=MORE)
def turned(x: Tile["f32", "N"], y: Out[Tile["f32", "N"]]): ...


@triton.jit
def bring(x, slots, full, empty, n, FETCH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    for i in range(n):
        tle.gpu.barrier_wait(empty[i % S], i // S)
        FETCH(slots[i % S], x + i * M * N, full[i % S])


@triton.jit
def double_all(slots, full, doubled, n, S: tl.constexpr):
    for i in range(n):
        double_it(slots[i % S], full[i % S], doubled[i % S], i // S)


@triton.jit
def store_all(y, slots, doubled, empty, n, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    for i in range(n):
        tle.gpu.barrier_wait(doubled[i % S], i // S)
        tl.store(y + i * M * N + at, slots[i % S].load())
        tle.gpu.barrier_arrive(empty[i % S], 1, i // S)


@triton.jit(do_not_specialize=["n"])
def three_regions(
    x, y, n, FETCH: tl.constexpr, ARRIVALS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr
):
    """A worker's regions fetch tiles, another one's double them, and the default partition stores them."""
    slots = tle.gpu.alloc([S, M, N], tl.float32, nv_mma_shared_layout=False)
    full, doubled = tle.gpu.alloc_barriers(S, ARRIVALS), tle.gpu.alloc_barriers(S)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (store_all, (y, slots, doubled, empty, n, M, N, S)),
            (bring, (x, slots, full, empty, n, FETCH, M, N, S)),
            (double_all, (slots, full, doubled, n, S)),
        ],
        [1, 2],
    )


@triton.jit
def fill_ring(x, ring, full, empty, n):
    fill(ring, x, full, empty, n)


@triton.jit
def drain_ring(y, ring, full, empty, n):
    drain(ring, y, full, empty, n)


@triton.jit(do_not_specialize=["n"])
def long_regions(x, y, n, N: tl.constexpr, DEFAULT: tl.constexpr):
    """Two regions that run as long as the partitions, and wait for each other; one slot."""
    x, y = x + tl.program_id(0) * n * N, y + tl.program_id(0) * n * (N + 1)
    ring = tle.gpu.alloc([1, N], tl.float32, nv_mma_shared_layout=False)
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)
    if DEFAULT:
        tle.gpu.warp_specialize([(drain_ring, (y, ring, full, empty, n)), (fill_ring, (x, ring, full, empty, n))], [2])
    else:
        tle.gpu.warp_specialize([(fill_ring, (x, ring, full, empty, n)), (drain_ring, (y, ring, full, empty, n))], [2])


@triton.jit
def turn(x, y, by, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, shifted(turned(tl.load(x + i)), by))


@triton.jit
def tiles_of_partitions(x, y, N: tl.constexpr):
    tle.gpu.warp_specialize(
        [(turn, (x, y, 1.0, N)), (turn, (x, y + N, 2.0, N)), (turn, (x, y + 2 * N, 3.0, N))], [1, 4]
    )


@triton.jit
def starved(x, y, N: tl.constexpr):
    ring = tle.gpu.alloc([1, N], tl.float32, nv_mma_shared_layout=False)
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)
    tle.gpu.warp_specialize([(drain_ring, (y, ring, full, empty, 2)), (fill_ring, (x, ring, full, empty, 1))], [2])
