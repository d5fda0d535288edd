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
