"""Products into tensor memory."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """C = A @ B^T, accumulated in tensor memory, whose columns are read in two halves."""
    dtype: tl.constexpr = a_ptr.dtype.element_ty
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a, b = tle.gpu.alloc([M, K], dtype), tle.gpu.alloc([N, K], dtype)
    acc = tle.gpu.alloc([M, N], tl.float32, scope=tle.gpu.tmem, init_value=0.0)
    for i in range(k):
        a.store(tl.load(a_ptr + rows[:, None] * (k * K) + i * K + depth[None, :]))
        b.store(tl.load(b_ptr + columns[:, None] * (k * K) + i * K + depth[None, :]))
        acc = tle.gpu.wgmma(a, b, acc, trans_b=True)
        tle.gpu.wgmma_wait(0, acc)
    half: tl.constexpr = N // 2
    left = tl.arange(0, half)
    tl.store(c_ptr + rows[:, None] * N + left[None, :], acc.subslice(0, half).load())
    tl.store(c_ptr + rows[:, None] * N + half + left[None, :], acc.subslice(half, half).load())


@triton.jit
def once(a_ptr, c_ptr, M: tl.constexpr, K: tl.constexpr):
    """C = A @ A^T + 1, without a loop."""
    rows, depth = tl.arange(0, M), tl.arange(0, K)
    a = tle.gpu.alloc([M, K], a_ptr.dtype.element_ty)
    a.store(tl.load(a_ptr + rows[:, None] * K + depth[None, :]))
    acc = tle.gpu.alloc([M, M], tl.float32, tle.gpu.tensor_memory_layout(M, M), tle.gpu.storage_kind.tmem)
    acc.store(tl.full([M, M], 1.0, tl.float32))
    tle.gpu.wgmma(a, a.trans(), acc)
    tle.gpu.wgmma_wait(acc)
    tl.store(c_ptr + rows[:, None] * M + rows[None, :], acc.load())
