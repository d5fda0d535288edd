"""The kernels of ``cutile_kernels`` as they are written in Triton, and two Triton kernels whose middle is cuTile's."""

from __future__ import annotations

import triton
import triton.language as tl
from cutile_kernels import attention_region, product_region

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def in_groups(block, rows, columns, GROUP: tl.constexpr):
    """Blocks in groups of rows, which share what they read."""
    per_group = GROUP * columns
    first = block // per_group * GROUP
    height = min(rows - first, GROUP)
    inside = block % per_group
    return first + inside % height, inside // height


@triton.jit
def product(a_ptr, b_ptr, m, n, M, N, K, am, ak, bk, bn, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """Rows and columns beyond the matrices read some others, and are not stored."""
    row = (m * TM + tl.arange(0, TM)) % M
    column = (n * TN + tl.arange(0, TN)) % N
    inner = tl.arange(0, TK)
    a_at = a_ptr + row[:, None] * am + inner[None, :] * ak
    b_at = b_ptr + inner[:, None] * bk + column[None, :] * bn
    total = tl.zeros((TM, TN), tl.float32)
    for k in range(tl.cdiv(K, TK)):
        a = tl.load(a_at, inner[None, :] < K - k * TK, 0.0)
        b = tl.load(b_at, inner[:, None] < K - k * TK, 0.0)
        total = tl.dot(a, b, total)
        a_at += TK * ak
        b_at += TK * bk
    return total


@triton.jit
def store_tile(c_ptr, tile, m, n, M, N, cm, cn, TM: tl.constexpr, TN: tl.constexpr):
    row, column = m * TM + tl.arange(0, TM)[:, None], n * TN + tl.arange(0, TN)[None, :]
    at = c_ptr + row * cm + column * cn
    tl.store(at, tile.to(c_ptr.dtype.element_ty), (row < M) & (column < N))


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn,
    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    m, n = in_groups(tl.program_id(0), tl.cdiv(M, TM), tl.cdiv(N, TN), GROUP)
    total = product(a_ptr, b_ptr, m, n, M, N, K, am, ak, bk, bn, TM, TN, TK)
    store_tile(c_ptr, total, m, n, M, N, cm, cn, TM, TN)


@triton.jit
def matmul_bias_relu(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn,
    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr, REGION: tl.constexpr,
):  # fmt: skip
    """The product is a region of cuTile's, or Triton's own."""
    m, n = in_groups(tl.program_id(0), tl.cdiv(M, TM), tl.cdiv(N, TN), GROUP)
    if REGION:
        total = product_region((a_ptr, (M, K), (am, ak)), (b_ptr, (K, N), (bk, bn)), m, n, TM, TN, TK)
    else:
        total = product(a_ptr, b_ptr, m, n, M, N, K, am, ak, bk, bn, TM, TN, TK)
    column = n * TN + tl.arange(0, TN)
    total = tl.maximum(total + tl.load(bias_ptr + column, column < N, 0.0)[None, :], 0.0)
    store_tile(c_ptr, total, m, n, M, N, cm, cn, TM, TN)


@triton.jit
def matmul_by_descriptors(
    a, b, c, M, N, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    m, n = in_groups(tl.program_id(0), tl.cdiv(M, TM), tl.cdiv(N, TN), GROUP)
    total = tl.zeros((TM, TN), tl.float32)
    for k in range(tl.cdiv(a.shape[1], TK)):
        total = tl.dot(a.load([m * TM, k * TK]), b.load([k * TK, n * TN]), total)
    c.store([m * TM, n * TN], total.to(c.dtype))


@triton.jit
def attended(
    q, k_ptr, v_ptr, top, total, out, j, length, rows, scale, ks, vs,
    TN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """After one more block of keys: the highest score of each row, the sum of its weights, the output."""
    inner, width = tl.arange(0, TN), tl.arange(0, D)
    column = j * TN + inner
    k_at = k_ptr + j * TN * ks + inner[None, :] * ks + width[:, None]
    v_at = v_ptr + j * TN * vs + inner[:, None] * vs + width[None, :]
    if MASKED:
        k = tl.load(k_at, (column < length)[None, :], 0.0)
    else:
        k = tl.load(k_at)
    scores = tl.dot(q, k) * (scale * LOG2_E)
    if MASKED:
        seen = (column < length)[None, :]
        if CAUSAL:
            seen = seen & (column[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -1e30)
    higher = tl.maximum(top, tl.max(scores, 1))
    weights, faded = tl.exp2(scores - higher[:, None]), tl.exp2(top - higher)
    if MASKED:
        v = tl.load(v_at, (column < length)[:, None], 0.0)
    else:
        v = tl.load(v_at)
    out = tl.dot(weights.to(v.dtype), v, out * faded[:, None])
    return higher, total * faded + tl.sum(weights, 1), out


@triton.jit
def attend(
    q_ptr, k_ptr, v_ptr, i, length, scale, qs, ks, vs,
    TM: tl.constexpr, TN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Blocks of keys that all rows see come first; the last ones are masked."""
    rows, width = i * TM + tl.arange(0, TM), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * qs + width[None, :], (rows < length)[:, None], 0.0)
    top = tl.full((TM,), -1e30, tl.float32)
    total, out = tl.zeros((TM,), tl.float32), tl.zeros((TM, D), tl.float32)
    whole, steps = length // TN, tl.cdiv(length, TN)
    if CAUSAL:
        whole, steps = min(whole, i * TM // TN), min(steps, tl.cdiv((i + 1) * TM, TN))
    for j in range(whole):
        top, total, out = attended(
            q, k_ptr, v_ptr, top, total, out, j, length, rows, scale, ks, vs, TN, D, CAUSAL, False
        )
    for j in range(whole, steps):
        top, total, out = attended(
            q, k_ptr, v_ptr, top, total, out, j, length, rows, scale, ks, vs, TN, D, CAUSAL, True
        )
    return out / total[:, None]


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, length, qh, qs, kh, ks, vh, vs, oh, os, scale: tl.constexpr,
    TM: tl.constexpr, TN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr, HEADS, REGION: tl.constexpr,
):  # fmt: skip
    """The last stride is 1. The whole but for the store is a region of cuTile's, or Triton's own."""
    i, head = tl.program_id(0), tl.program_id(1)
    if REGION:
        sizes = (HEADS, length, D)
        out = attention_region(
            (q_ptr, sizes, (qh, qs, 1)), (k_ptr, sizes, (kh, ks, 1)), (v_ptr, sizes, (vh, vs, 1)),
            i, head, scale, TM, TN, D, CAUSAL,
        )  # fmt: skip
    else:
        # 64 bits: all heads together may be larger than 2^31
        far = head.to(tl.int64)
        out = attend(
            q_ptr + far * qh, k_ptr + far * kh, v_ptr + far * vh, i, length, scale, qs, ks, vs, TM, TN, D, CAUSAL
        )
    store_tile(out_ptr + head.to(tl.int64) * oh, out, i, 0, length, D, os, 1, TM, D)


@triton.jit
def layer_norm(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, width, xs, ys, eps, T: tl.constexpr
):  # fmt: skip
    row, column = tl.program_id(0), tl.arange(0, T)
    inside = column < width
    x = tl.load(x_ptr + row * xs + column, inside, 0.0).to(tl.float32)
    mean = tl.sum(x) / width
    centred = tl.where(inside, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred) / width + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + column, inside, 0.0).to(tl.float32)
    b = tl.load(b_ptr + column, inside, 0.0).to(tl.float32)
    tl.store(y_ptr + row * ys + column, (centred * rstd * w + b).to(y_ptr.dtype.element_ty), inside)


@triton.jit
def layer_norm_gradients(
    dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, locks_ptr, width, dys, xs, dxs, dws, dbs,
    GROUPS: tl.constexpr, T: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0), tl.arange(0, T)
    inside = column < width
    x = tl.load(x_ptr + row * xs + column, inside, 0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * dys + column, inside, 0.0).to(tl.float32)
    w = tl.load(w_ptr + column, inside, 0.0).to(tl.float32)
    mean, rstd = tl.load(mean_ptr + row), tl.load(rstd_ptr + row)
    normal = tl.where(inside, (x - mean) * rstd, 0.0)
    weighted = w * dy
    c1, c2 = tl.sum(normal * weighted) / width, tl.sum(weighted) / width
    dx = (weighted - (normal * c1 + c2)) * rstd
    tl.store(dx_ptr + row * dxs + column, dx.to(dx_ptr.dtype.element_ty), inside)
    group = row % GROUPS
    lock, count = locks_ptr + group, locks_ptr + GROUPS + group
    dw_at, db_at = dw_ptr + group * dws + column, db_ptr + group * dbs + column
    dw, db = dy * normal, dy
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        dw += tl.load(dw_at, inside, 0.0)
        db += tl.load(db_at, inside, 0.0)
    tl.store(dw_at, dw, inside)
    tl.store(db_at, db, inside)
    tl.debug_barrier()  # every thread has stored before one gives the lock back
    tl.atomic_xchg(lock, 0)


@triton.jit
def sum_partial_gradients(
    dw_ptr, db_ptr, final_dw_ptr, final_db_ptr, groups, width, dws, dbs, TM: tl.constexpr, TN: tl.constexpr
):
    column = tl.program_id(0) * TN + tl.arange(0, TN)
    dw, db = tl.zeros((TM, TN), tl.float32), tl.zeros((TM, TN), tl.float32)
    for i in range(0, groups, TM):
        row = i + tl.arange(0, TM)
        inside = (row < groups)[:, None] & (column < width)[None, :]
        dw += tl.load(dw_ptr + row[:, None] * dws + column[None, :], inside, 0.0)
        db += tl.load(db_ptr + row[:, None] * dbs + column[None, :], inside, 0.0)
    tl.store(final_dw_ptr + column, tl.sum(dw, 0).to(final_dw_ptr.dtype.element_ty), column < width)
    tl.store(final_db_ptr + column, tl.sum(db, 0).to(final_db_ptr.dtype.element_ty), column < width)
