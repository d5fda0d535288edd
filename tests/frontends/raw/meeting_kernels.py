"""Kernels whose regions, of several languages, meet the kernel's buffers, barriers and tensor descriptors."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
import tle_raw.mlir as mlir
from tle_raw import AnyLayout, Barrier, Buffer, Descriptor, In, InOut, Out, Pointer, Scalar, Tile

SOURCE = r"""
#include <cuda_fp16.h>
#include <tle_raw/barrier.h>
#include <tle_raw/descriptor.h>

template <class T, int M, int N, class Layout>
__device__ void fetch_block(tle::descriptor<T, M, N> source, int row, int column, tle::buffer<T, Layout, M, N> to,
                            tle::barrier full) {
  if (to.thread() == 0) {
    full.expect(source.bytes());
    source.load(to, full, row, column);
  }
}

// Twice what the buffer holds.
template <class T, int M, int N, class Layout>
__device__ void put_block(tle::buffer<T, Layout, M, N> source, tle::descriptor<T, M, N> to, int row, int column) {
  for (int i : source.indices()) source[i] = source[i] + source[i];
  tle::barrier::fence();
  __syncthreads();
  if (source.thread() == 0) {
    to.store(source, row, column);
    to.wait_for_stores();
  }
}

template <class T, int A, int M, int N, class Layout>
__device__ void fetch_cube(tle::descriptor<T, A, M, N> source, int first, tle::buffer<T, Layout, A, M, N> to,
                           tle::barrier full) {
  if (to.thread() == 0) {
    full.expect(source.bytes());
    source.load(to, full, first, 0, 0);
  }
}

template <int M, int N, class Layout>
__device__ void unpack_into(const signed char* x, tle::buffer<__half, Layout, M, N> y) {
  for (int i : y.indices()) y[i] = (float)x[i] / 4;
}

template <int M, int N, class Layout>
__device__ void number_tile(tle::buffer<float, Layout, M, N> y, int first) {
  for (int i : y.indices()) y[i] = first + i;
}

template <int M, int N> __device__ void unpack(const signed char* x, __half* y) {
  for (int i = threadIdx.x; i < M * N; i += blockDim.x) y[i] = (float)x[i] / 4;
}
"""


@tle_raw.dialect("cuda", source=SOURCE)
def fetch_block(
    source: Descriptor["T", "M", "N"],
    row: Scalar["i32"],
    column: Scalar["i32"],
    to: Out[Buffer["T", "M", "N", AnyLayout]],
    full: Barrier,
): ...


@tle_raw.dialect("cuda", source=SOURCE)
def put_block(
    source: InOut[Buffer["T", "M", "N", AnyLayout]],
    to: InOut[Descriptor["T", "M", "N"]],
    row: Scalar["i32"],
    column: Scalar["i32"],
): ...


@tle_raw.dialect("cuda", source=SOURCE)
def fetch_cube(
    source: Descriptor["T", "A", "M", "N"],
    first: Scalar["i32"],
    to: Out[Buffer["T", "A", "M", "N", AnyLayout]],
    full: Barrier,
): ...


@tle_raw.dialect("cuda", source=SOURCE, symbol="fetch_cube")
def fetch_cube_of_five(
    source: Descriptor["T", "A", "M", "N"],
    first: Scalar["i32"],
    second: Scalar["i32"],
    to: Out[Buffer["T", "A", "M", "N", AnyLayout]],
    full: Barrier,
): ...


@tle_raw.dialect("cuda", source=SOURCE)
def unpack(x: In[Tile["i8", "M", "N"]], y: Out[Tile["f16", "M", "N"]]): ...


@tle_raw.dialect("cuda", source=SOURCE)
def unpack_into(x: In[Tile["i8", "M", "N"]], y: Out[Buffer["f16", "M", "N", AnyLayout]]): ...


@tle_raw.dialect("cuda", source=SOURCE)
def number_tile(y: Out[Buffer["f32", "M", "N", AnyLayout]], first: Scalar["i32"]): ...


@tle_raw.dialect("mlir")
def fetch_block_mlir(
    source: Descriptor["T", "M", "N"],
    row: Scalar["i32"],
    column: Scalar["i32"],
    to: Out[Buffer["T", "M", "N", AnyLayout]],
    full: Barrier,
):
    if mlir.thread_id() == 0:
        mlir.barrier_expect(full, M * N * T.bits // 8)
        mlir.descriptor_load(source, to, full, row, column)


@tle_raw.dialect("mlir")
def put_block_mlir(
    source: InOut[Buffer["T", "M", "N", AnyLayout]],
    to: InOut[Descriptor["T", "M", "N"]],
    row: Scalar["i32"],
    column: Scalar["i32"],
):
    if mlir.thread_id() == 0:
        mlir.descriptor_store(to, source, row, column)
        mlir.wait_for_stores()


@tle_raw.dialect("mlir")
def fetch_mlir(to: Out[Buffer["f32", "M", "N"]], x: Pointer["f32"], full: Barrier):
    if mlir.thread_id() == 0:
        mlir.barrier_expect(full, M * N * 4)
        mlir.barrier_copy(full, to, x, M * N * 4)


@tle_raw.dialect("mlir")
def double_mlir(b: InOut[Buffer["f32", "M", "N"]], full: In[Barrier], empty: Barrier, use: Scalar["i32"]):
    mlir.barrier_wait(full, use)
    for i in range(mlir.thread_id(), M * N, mlir.block_dim()):
        b.flat[i] *= 2
    mlir.barrier()
    if mlir.thread_id() == 0:
        mlir.barrier_arrive(empty)


@triton.jit
def ring(
    x,
    y,
    n,
    FETCH: tl.constexpr,
    DOUBLE: tl.constexpr,
    ARRIVALS: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    S: tl.constexpr,
):
    """Twice the tiles of x, by a ring of S slots: a region brings them, another waits for them and gives them back."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    slots = tle.gpu.alloc([S, M, N], tl.float32, nv_mma_shared_layout=False)
    full = tle.gpu.alloc_barriers(S)
    empty = tle.gpu.alloc_barriers(S, ARRIVALS, init=tle.gpu.READY)
    for s in tl.static_range(S - 1):
        if s < n:
            tle.gpu.barrier_wait(empty[s], 0)
            FETCH(slots[s], x + s * M * N, full[s])
    for i in range(n):
        j = i + S - 1
        if j < n:
            tle.gpu.barrier_wait(empty[j % S], j // S)
            FETCH(slots[j % S], x + j * M * N, full[j % S])
        DOUBLE(slots[i % S], full=full[i % S], empty=empty[i % S], use=i // S)
        tl.store(y + i * M * N + at, slots[i % S].load())


@triton.jit
def counted(x, y, COPY: tl.constexpr):
    """A region whose copies a barrier of the kernel counts; the kernel waits for them as well."""
    full = tle.gpu.alloc_barrier(128)
    COPY(x, y, full=full)
    tle.gpu.barrier_wait(full, 0)


@triton.jit
def _blocks(
    x_desc, y_desc, n, FETCH: tl.constexpr, PUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr
):
    slots = tle.gpu.alloc([S, M, N], x_desc.dtype)
    full = tle.gpu.alloc_barriers(S)
    column = tl.program_id(0) * N
    for s in tl.static_range(S - 1):
        if s < n:
            FETCH(x_desc, s * M, column, slots[s], full[s])
    for i in range(n):
        j = i + S - 1
        if j < n:
            FETCH(x_desc, j * M, column, slots[j % S], full[j % S])
        tle.gpu.barrier_wait(full[i % S], i // S)
        PUT(slots[i % S], y_desc, i * M, column)


@triton.jit
def blocks_of_host(
    x_desc, y_desc, n, FETCH: tl.constexpr, PUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr
):
    """Blocks of x to y, by descriptors of the host, from four rows before the array on."""
    _blocks(x_desc, y_desc, n, FETCH, PUT, M, N, S)


@triton.jit
def blocks_of_kernel(
    x,
    y,
    rows,
    columns,
    n,
    FETCH: tl.constexpr,
    PUT: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    S: tl.constexpr,
):
    """The same by descriptors that the kernel makes."""
    x_desc = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    y_desc = tl.make_tensor_descriptor(y, [rows, columns], [columns, 1], [M, N])
    _blocks(x_desc, y_desc, n, FETCH, PUT, M, N, S)


@triton.jit
def padded(x_desc, y, M: tl.constexpr, N: tl.constexpr):
    """One block that begins beyond the array in both directions."""
    block = tle.gpu.alloc([M, N], x_desc.dtype)
    full = tle.gpu.alloc_barrier()
    fetch_block(x_desc, -3, 8, block, full)
    tle.gpu.barrier_wait(full, 0)
    tl.store(y + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], block.load())


@triton.jit
def cubes(x_desc, y, n, A: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Blocks of rank 3."""
    at = tl.arange(0, A)[:, None, None] * M * N + tl.arange(0, M)[None, :, None] * N + tl.arange(0, N)[None, None, :]
    block = tle.gpu.alloc(
        [1, A, M, N], x_desc.dtype, layout=tle.gpu.nv_mma_shared_layout.make_default([A, M, N], x_desc.dtype)
    ).slot(0)
    full = tle.gpu.alloc_barrier()
    for i in range(n):
        fetch_cube(x_desc, i * A, block, full)
        tle.gpu.barrier_wait(full, i)
        tl.store(y + i * A * M * N + at, block.load())


@triton.jit
def unpacked_product(
    a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, HINT: tl.constexpr
):
    """C = A / 4 @ B, of which a region unpacks A's tiles; the loop has S stages."""
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    a_at = a + rows[:, None] * K + depth[None, :]
    b_at = b + depth[:, None] * N + columns[None, :]
    for _ in tl.range(0, K, BK, num_stages=S):
        tile = tle.call(unpack, [tl.load(a_at)], hint=HINT)
        acc = tl.dot(tile, tl.load(b_at), acc)
        a_at += BK
        b_at += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def unpacked_in_place(
    a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, S: tl.constexpr, HINT: tl.constexpr
):
    """The same by a shared buffer, which the region fills and the product reads."""
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    a_at = a + rows[:, None] * K + depth[None, :]
    b_at = b + depth[:, None] * N + columns[None, :]
    tile = tle.gpu.alloc([M, BK], tl.float16)
    for _ in tl.range(0, K, BK, num_stages=S):
        tle.call_smem(unpack_into, [tl.load(a_at), tile], hint=HINT)
        acc = tl.dot(tile.load(), tl.load(b_at), acc)
        a_at += BK
        b_at += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def filled_in_place(y, n, FIRST: tl.constexpr, STEP: tl.constexpr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    """Tiles of numbers by a shared buffer, in a loop that begins anywhere; it is read twice, once transposed."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tle.gpu.alloc([M, N], tl.float32, nv_mma_shared_layout=False)
    for k in tl.range(FIRST, n, STEP, num_stages=S):
        tle.call_smem(number_tile, [tile, k], hint="pipeline")
        place = (k - FIRST) // STEP
        tl.store(y + place * M * N + at, tile.load())
        tl.store(y + (place + 8) * M * N + at, tl.trans(tile.trans().load()))
