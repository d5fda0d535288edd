"""Products of tiles in shared memory."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def from_buffers(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """C = A @ B^T through one buffer each, by tl.dot."""
    dtype: tl.constexpr = a_ptr.dtype.element_ty
    a, b = tle.gpu.alloc([M, K], dtype), tle.gpu.alloc([N, K], dtype)
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(k):
        tle.gpu.copy(a_ptr + (rows[:, None] * k + i) * K + depth[None, :], a, [M, K], is_async=True)
        tle.gpu.copy(b_ptr + (columns[:, None] * k + i) * K + depth[None, :], b, [N, K], is_async=True)
        tle.gpu.async_commit_group()
        tle.gpu.async_wait_group(0)
        acc = tl.dot(a.load(), b.trans().load(), acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def async_gemm(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr):
    """C = A @ B^T: a ring of S slots, copies S - 2 ahead, one product in the background."""
    dtype: tl.constexpr = a_ptr.dtype.element_ty
    a, b = tle.gpu.alloc([S, M, K], dtype), tle.gpu.alloc([S, N, K], dtype)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a_at = a_ptr + rows[:, None] * k * K + depth[None, :]
    b_at = b_ptr + columns[:, None] * k * K + depth[None, :]
    for s in tl.static_range(S - 2):
        tle.gpu.copy(a_at + s * K, a.slot(s), [M, K], mask=s < k, is_async=True)
        tle.gpu.copy(b_at + s * K, b.slot(s), [N, K], mask=s < k, is_async=True)
        tle.gpu.async_commit_group()
    acc = tl.zeros([M, N], tl.float32)
    for i in range(k):
        j = i + S - 2
        tle.gpu.copy(a_at + j * K, a[j % S], [M, K], mask=j < k, is_async=True)
        tle.gpu.copy(b_at + j * K, b[j % S], [N, K], mask=j < k, is_async=True)
        tle.gpu.async_commit_group()
        tle.gpu.async_wait_group(S - 2)
        acc = tle.gpu.wgmma(a[i % S], b[i % S], acc, trans_b=True)
        acc = tle.gpu.wgmma_wait(1, acc)
    acc = tle.gpu.wgmma_wait(0, acc)
    tl.store(c_ptr + rows[:, None] * (tl.num_programs(1) * N) + columns[None, :], acc)


@triton.jit
def tma_gemm(a_desc, b_desc, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr):
    """C = A @ B^T by TMA and mbarriers: a ring of S slots, one product in the background."""
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    a, b = tle.gpu.alloc([S, M, K], a_desc.dtype), tle.gpu.alloc([S, N, K], a_desc.dtype)
    full = tle.gpu.alloc_barriers(S, expect_bytes=(M + N) * K * size)
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    for s in tl.static_range(S - 1):
        if s < k:
            tle.gpu.copy(a_desc, a.slot(s), [M, K], offsets=[row, s * K], barrier=full[s])
            tle.gpu.copy(b_desc, b.slot(s), [N, K], offsets=[column, s * K], barrier=full[s])
    acc = tl.zeros([M, N], tl.float32)
    for i in range(k):
        slot = i % S
        tle.gpu.barrier_wait(full[slot], i // S)
        acc = tle.gpu.wgmma(a[slot], b[slot], acc, trans_b=True)
        acc = tle.gpu.wgmma_wait(1, acc)
        j = i + S - 1
        if j < k:
            free = j % S
            tle.gpu.copy(a_desc, a[free], [M, K], offsets=[row, j * K], barrier=full[free])
            tle.gpu.copy(b_desc, b[free], [N, K], offsets=[column, j * K], barrier=full[free])
    acc = tle.gpu.wgmma_wait(0, acc)
    rows, columns = row + tl.arange(0, M), column + tl.arange(0, N)
    tl.store(c_ptr + rows[:, None] * (tl.num_programs(1) * N) + columns[None, :], acc)


@triton.jit
def tma_copied(x_desc, o_desc, n, M: tl.constexpr, N: tl.constexpr):
    """Tiles there and back, each copy waited for."""
    tile = tle.gpu.alloc([M, N], x_desc.dtype)
    for i in range(n):
        tle.gpu.copy(x_desc, tile, [M, N], offsets=[i * M, 0])
        tle.gpu.copy(tile, o_desc, [M, N], offsets=[i * M, 0])


@triton.jit
def handed_over(x, o, n, B: tl.constexpr):
    """A barrier that the block arrives at itself, in each of n uses; READY before the first."""
    i = tl.arange(0, B)
    tile = tle.gpu.alloc([B], tl.float32)
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)
    for use in range(n):
        tle.gpu.barrier_wait(empty, use)
        tile.store(tl.load(x + use * B + i))
        tle.gpu.barrier_arrive(full, 1, use)
        tle.gpu.barrier_wait(full, use)
        tl.store(o + use * B + i, tile.load() + 1)
        tle.gpu.barrier_arrive(empty, 1, use)


@triton.jit
def stored_beside(x_ptr, o_ptr, M: tl.constexpr, TENSOR: tl.constexpr):
    """A @ B + C of three tiles; C goes through a buffer while the product reads A and B from theirs."""
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    a = tle.gpu.alloc([M, M], tl.float16)
    b = tle.gpu.alloc([M, M], tl.float16)
    a.store(tl.load(x_ptr + at))
    b.store(tl.load(x_ptr + M * M + at))
    if TENSOR:
        acc = tle.gpu.alloc([M, M], tl.float32, scope=tle.gpu.tmem, init_value=0)
        tle.gpu.wgmma(a, b, acc)
    else:
        acc = tle.gpu.wgmma(a, b)
    c = tle.gpu.alloc([M, M], tl.float16)
    c.store(tl.load(x_ptr + 2 * M * M + at))
    added = c.load()
    if TENSOR:
        tle.gpu.wgmma_wait(0, acc)
        product = acc.load()
    else:
        product = tle.gpu.wgmma_wait(0, acc)
    tl.store(o_ptr + at, product + added)


@triton.jit
def sum_meanwhile(a_ptr, b_ptr, c_ptr, s_ptr, N: tl.constexpr):
    """C = A @ B^T of N rows and columns; while it runs, the sums of the exponentials of A's rows."""
    i, j = tl.arange(0, N), tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    a, b = tle.gpu.alloc([N, N], tl.float16), tle.gpu.alloc([N, N], tl.float16)
    x = tl.load(a_ptr + at)
    a.store(x)
    b.store(tl.load(b_ptr + at))
    acc = tle.gpu.wgmma(a, b, trans_b=True)
    total = tl.sum(tl.math.exp2(x.to(tl.float32)), 1)
    acc = tle.gpu.wgmma_wait(0, acc, behind=total)
    tl.store(c_ptr + at, acc)
    tl.store(s_ptr + i, total)


@triton.jit
def behind_halves(a_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(a_ptr + at)
    tle.gpu.wgmma_wait(0, x.to(tl.float32), behind=x)
