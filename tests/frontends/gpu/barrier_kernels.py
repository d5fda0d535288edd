"""Kernels whose regions wait for the kernel's barriers, arrive at them, and begin copies that they count."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import AnyLayout, Barrier, Buffer, In, InOut, Out, Pointer, Scalar

SOURCE = r"""
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>

// One thread: a phase of one arrival and all bytes.
template <int M, int N> __device__ void fetch(tle::tile<float, M, N> to, const float* from, tle::barrier full) {
  if (to.thread() == 0) {
    full.expect(to.size() * sizeof(float));
    full.copy(to.data(), from, to.size() * sizeof(float));
  }
}

// Each thread: four elements at a time, and one arrival when its own have come.
template <int M, int N> __device__ void fetch_async(tle::tile<float, M, N> to, const float* from, tle::barrier full) {
  for (int i : to.template vectors<4>()) {
    unsigned address = (unsigned)__cvta_generic_to_shared(to.data() + i);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + i) : "memory");
  }
  full.arrive_after_copies();
}

template <int M, int N>
__device__ void double_it(tle::tile<float, M, N> b, tle::barrier full, tle::barrier empty, int use) {
  full.wait(use);
  for (int i : b.indices()) b[i] *= 2;
  __syncthreads();
  if (b.thread() == 0) empty.arrive();
}

template <int M, int N, class Layout>
__device__ float total(tle::buffer<const float, Layout, M, N> b, tle::barrier full, int use) {
  __shared__ float sums[1024];
  full.wait(use);
  float sum = 0;
  for (int i : b.indices()) sum += b[i];
  sums[b.thread()] = sum;
  __syncthreads();
  sum = 0;
  for (int t = 0; t < b.threads(); ++t) sum += sums[t];
  return sum;
}

template <int M, int N> __device__ void number(tle::tile<float, M, N> b, tle::barrier full, int first) {
  for (int i : b.indices()) b[i] = first + i;
  full.arrive();
}
"""


@tle_raw.dialect("cuda", source=SOURCE)
def fetch(to: Out[Buffer["f32", "M", "N"]], x: Pointer["f32"], full: Barrier): ...


@tle_raw.dialect("cuda", source=SOURCE)
def fetch_async(to: Out[Buffer["f32", "M", "N"]], x: Pointer["f32"], full: Barrier): ...


@tle_raw.dialect("cuda", source=SOURCE)
def double_it(b: InOut[Buffer["f32", "M", "N"]], full: In[Barrier], empty: Barrier, use: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source=SOURCE)
def total(b: Buffer["f32", "M", "N", AnyLayout], full: In[Barrier], use: Scalar["i32"]) -> Scalar["f32"]: ...


@tle_raw.dialect("cuda", source=SOURCE)
def number(b: Out[Buffer["f32", "M", "N"]], full: Barrier, first: Scalar["i32"]): ...


@triton.jit
def fetched(x, y, n, FETCH: tl.constexpr, ARRIVALS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    """Twice the tiles of x, by a ring of S slots: regions bring them, wait for them and give the slots back."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    slots = tle.gpu.alloc([S, M, N], tl.float32, nv_mma_shared_layout=False)
    full = tle.gpu.alloc_barriers(S, ARRIVALS)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    for s in tl.static_range(S - 1):
        if s < n:
            tle.gpu.barrier_wait(empty[s], 0)
            FETCH(slots[s], x + s * M * N, full[s])
    for i in range(n):
        j = i + S - 1
        if j < n:
            tle.gpu.barrier_wait(empty[j % S], j // S)
            FETCH(slots[j % S], x + j * M * N, full[j % S])
        double_it(slots[i % S], full[i % S], empty[i % S], i // S)
        tl.store(y + i * M * N + at, slots[i % S].load())


@triton.jit
def fetched_once(x, y, FETCH: tl.constexpr, ARRIVALS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Twice a tile, without a loop: a region brings it, another waits for it and arrives, the kernel waits for that."""
    tile = tle.gpu.alloc([M, N], tl.float32, nv_mma_shared_layout=False)
    full, done = tle.gpu.alloc_barrier(ARRIVALS), tle.gpu.alloc_barrier()
    FETCH(tile, x, full)
    double_it(tile, full, done, 0)
    tle.gpu.barrier_wait(done, 0)
    tl.store(y + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], tile.load())


@triton.jit
def waited_for(x_desc, y, n, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    """The sums of tiles that the copy engine brings: the kernel begins the copies, a region waits for them."""
    slots = tle.gpu.alloc([S, M, N], tl.float32)
    full = tle.gpu.alloc_barriers(S, expect_bytes=M * N * 4)
    for s in tl.static_range(S - 1):
        if s < n:
            tle.gpu.copy(x_desc, slots[s], [M, N], offsets=[s * M, 0], barrier=full[s])
    for i in range(n):
        j = i + S - 1
        if j < n:
            tle.gpu.copy(x_desc, slots[j % S], [M, N], offsets=[j * M, 0], barrier=full[j % S])
        tl.store(y + i, total(slots[i % S], full[i % S], i // S))


@triton.jit
def named(x, y, n, T: tl.constexpr, N: tl.constexpr):
    """Rows of x plus one; the block meets at two barriers without phases, and at one with."""
    i = tl.arange(0, N)
    row = tle.gpu.alloc([N], tl.float32)
    all_here, twice = tle.gpu.alloc_barriers(3, T), tle.gpu.alloc_barriers(2, 2 * T)
    counted = tle.gpu.alloc_barrier()
    for k in range(n):
        row.store(tl.load(x + k * N + i))
        tle.gpu.barrier_wait(all_here[2])
        tle.gpu.barrier_arrive(twice[1])
        tle.gpu.barrier_arrive(counted, 1, k)
        tle.gpu.barrier_wait(counted, k)
        tle.gpu.barrier_wait(twice[1])
        tl.store(y + k * N + i, row.load() + 1)


@triton.jit
def numbered(y, n, WARPS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Tiles of numbers: all threads of a region arrive, the kernel waits."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    buffer = tle.gpu.alloc([M, N], tl.float32, nv_mma_shared_layout=False)
    full = tle.gpu.alloc_barrier(32 * WARPS)
    for i in range(n):
        number(buffer, full, i)
        tle.gpu.barrier_wait(full, i)
        tl.store(y + i * M * N + at, buffer.load())
