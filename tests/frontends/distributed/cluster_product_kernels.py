"""Kernels whose blocks reshard block tensors, and multiply matrices, as a cluster."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def reshard_blocks(x_ptr, out_ptr, BEFORE: tl.constexpr, AFTER: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
                   R2: tl.constexpr, C2: tl.constexpr):  # fmt: skip
    """Block ``b`` has ``x[b]``, [R, C], and writes what it has afterwards to ``out[b]``, [R2, C2]."""
    block = tl.program_id(0)
    x = tl.load(x_ptr + block * R * C + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    y = tle.reshard(tle.make_sharded_tensor(x, BEFORE), AFTER)
    tl.store(out_ptr + block * R2 * C2 + tl.arange(0, R2)[:, None] * C2 + tl.arange(0, C2)[None, :], y)


@triton.jit
def multiply(
    a_ptr, b_ptr, c_ptr, M, N, K, MESH: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """``c = a @ b``: a cluster of x by y blocks computes [X * BM, Y * BN] of c, each block loads its parts of BK."""
    X: tl.constexpr = MESH.shape[0]
    Y: tl.constexpr = MESH.shape[1]
    x, y = tle.shard_id(MESH, "x"), tle.shard_id(MESH, "y")
    tile = tl.program_id(0) // (X * Y)
    tiles_n = tl.cdiv(N, Y * BN)
    m = (tile // tiles_n * X + x) * BM + tl.arange(0, BM)
    n = (tile % tiles_n * Y + y) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32)
    for k in range(0, K, BK):
        ka = k + y * (BK // Y) + tl.arange(0, BK // Y)
        kb = k + x * (BK // X) + tl.arange(0, BK // X)
        a = tl.load(a_ptr + m[:, None] * K + ka[None, :], mask=(m < M)[:, None] & (ka < K)[None, :], other=0)
        b = tl.load(b_ptr + kb[:, None] * N + n[None, :], mask=(kb < K)[:, None] & (n < N)[None, :], other=0)
        acc = tle.distributed_dot(
            tle.make_sharded_tensor(a, A), tle.make_sharded_tensor(b, B), acc, input_precision=PRECISION
        )
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def multiply_buffers(
    a_ptr, b_ptr, c_ptr, K, MESH: tl.constexpr, A: tl.constexpr, B: tl.constexpr, N: tl.constexpr, BK: tl.constexpr
):
    """The same for one cluster and [X * N, Y * N] of c, with buffers, whose barriers are the kernel's own."""
    X: tl.constexpr = MESH.shape[0]
    Y: tl.constexpr = MESH.shape[1]
    x, y = tle.shard_id(MESH, "x"), tle.shard_id(MESH, "y")
    m, n = x * N + tl.arange(0, N), y * N + tl.arange(0, N)
    a_part = tle.gpu.alloc([N, BK // Y], a_ptr.dtype.element_ty)
    b_part = tle.gpu.alloc([BK // X, N], b_ptr.dtype.element_ty)
    acc = tl.zeros((N, N), tl.float32)
    for k in range(0, K, BK):
        a_part.store(tl.load(a_ptr + m[:, None] * K + (k + y * (BK // Y) + tl.arange(0, BK // Y))[None, :]))
        b_part.store(tl.load(b_ptr + (k + x * (BK // X) + tl.arange(0, BK // X))[:, None] * Y * N + n[None, :]))
        tle.distributed_barrier(MESH)
        acc = tle.distributed_dot(tle.make_sharded_tensor(a_part, A), tle.make_sharded_tensor(b_part, B), acc)
        tle.distributed_barrier(MESH)
    tl.store(c_ptr + m[:, None] * Y * N + n[None, :], acc)
