"""cuTile kernels: a matrix product, attention, layer norm and its gradients; and two regions for Triton kernels.

Their divisions are those that Triton's kernels have: approximate, to the last bits.
"""

from __future__ import annotations

import cuda.tile as ct

import tle_raw

Int = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
LOG2_E = 1.4426950408889634


def divided(a, b):
    return ct.truediv(a, b, rounding_mode=ct.RoundingMode.FULL)


def in_groups(block, rows, columns, group: int):
    """Blocks in groups of rows, which share what they read."""
    per_group = group * columns
    first = block // per_group * group
    height = ct.minimum(rows - first, group)
    inside = block % per_group
    return first + inside % height, inside // height


def product(A, B, m, n, tm: int, tn: int, tk: int):
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, (m, k), (tm, tk), padding_mode=ZERO)
        b = ct.load(B, (k, n), (tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    return total


@ct.kernel
def matmul(A, B, C, tm: Int, tn: Int, tk: Int, GROUP: Int):
    m, n = in_groups(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn), GROUP)
    ct.store(C, (m, n), ct.astype(product(A, B, m, n, tm, tn, tk), C.dtype))


def attended(q, K, V, state, head, j, scale: float, tn: int, rows, causal: bool, masked: bool):
    """``state`` after one more block of keys: the highest score of each row, the sum of its weights, the output."""
    top, total, out = state
    tm, width = q.shape
    k = ct.load(K, (head, 0, j), (1, width, tn), order=(0, 2, 1), padding_mode=ZERO).reshape((width, tn))
    scores = ct.mma(q, k, ct.zeros((tm, tn), ct.float32)) * (scale * LOG2_E)
    if masked:
        columns = j * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        seen = columns < K.shape[1]
        if causal:
            seen = seen & (columns <= rows[:, None])
        scores = ct.where(seen, scores, -1e30)
    higher = ct.maximum(top, ct.max(scores, axis=1))
    weights, faded = ct.exp2(scores - higher[:, None]), ct.exp2(top - higher)
    v = ct.load(V, (head, j, 0), (1, tn, width), padding_mode=ZERO).reshape((tn, width))
    out = ct.mma(ct.astype(weights, v.dtype), v, out * faded[:, None])
    return higher, total * faded + ct.sum(weights, axis=1), out


def attend(Q, K, V, i, head, scale: float, tm: int, tn: int, width: int, causal: bool):
    """Blocks of keys that all rows see come first; the last ones are masked."""
    rows = i * tm + ct.arange(tm, dtype=ct.int32)
    q = ct.load(Q, (head, i, 0), (1, tm, width), padding_mode=ZERO).reshape((tm, width))
    state = ct.full((tm,), -1e30, ct.float32), ct.zeros((tm,), ct.float32), ct.zeros((tm, width), ct.float32)
    whole = K.shape[1] // tn
    steps = ct.num_tiles(K, axis=1, shape=(1, tn, width))
    if causal:
        whole = ct.minimum(whole, i * tm // tn)
        steps = ct.minimum(steps, ct.cdiv((i + 1) * tm, tn))
    for j in range(whole):
        state = attended(q, K, V, state, head, j, scale, tn, rows, causal, False)
    for j in range(whole, steps):
        state = attended(q, K, V, state, head, j, scale, tn, rows, causal, True)
    return divided(state[2], state[1][:, None])


@ct.kernel
def attention(Q, K, V, OUT, scale: ct.Constant[float], tm: Int, tn: Int, width: Int, CAUSAL: ct.Constant[bool]):
    i, head = ct.bid(0), ct.bid(1)
    out = attend(Q, K, V, i, head, scale, tm, tn, width, CAUSAL)
    ct.store(OUT, (head, i, 0), ct.astype(out, OUT.dtype).reshape((1, tm, width)))


@ct.kernel
def layer_norm(X, W, B, Y, MEAN, RSTD, eps: float, T: Int):
    """A row of which one tile holds all."""
    row, width = ct.bid(0), X.shape[1]
    x = ct.astype(ct.load(X, (row, 0), (1, T), padding_mode=ZERO).reshape((T,)), ct.float32)
    mean = divided(ct.sum(x), width)
    centred = ct.where(ct.arange(T, dtype=ct.int32) < width, x - mean, 0)
    rstd = ct.rsqrt(divided(ct.sum(centred * centred), width) + eps)
    ct.store(MEAN, (row,), mean)
    ct.store(RSTD, (row,), rstd)
    w = ct.astype(ct.load(W, (0,), (T,), padding_mode=ZERO), ct.float32)
    b = ct.astype(ct.load(B, (0,), (T,), padding_mode=ZERO), ct.float32)
    ct.store(Y, (row, 0), ct.astype(centred * rstd * w + b, Y.dtype).reshape((1, T)))


@ct.kernel
def layer_norm_gradients(DY, X, W, MEAN, RSTD, DX, DW, DB, LOCKS, GROUPS: Int, T: Int):
    """Gradients of the input; those of weight and bias in partial sums, to which rows are added under a lock.

    The second half of LOCKS says which partial sums have begun.
    """
    row = ct.bid(0)
    group, width = row % GROUPS, X.shape[1]
    inside = ct.arange(T, dtype=ct.int32) < width
    x = ct.astype(ct.load(X, (row, 0), (1, T), padding_mode=ZERO).reshape((T,)), ct.float32)
    dy = ct.astype(ct.load(DY, (row, 0), (1, T), padding_mode=ZERO).reshape((T,)), ct.float32)
    w = ct.astype(ct.load(W, (0,), (T,), padding_mode=ZERO), ct.float32)
    mean, rstd = ct.load(MEAN, (row,), ()), ct.load(RSTD, (row,), ())
    normal = ct.where(inside, (x - mean) * rstd, 0)
    weighted = w * dy
    c1, c2 = divided(ct.sum(normal * weighted), width), divided(ct.sum(weighted), width)
    dx = (weighted - (normal * c1 + c2)) * rstd
    ct.store(DX, (row, 0), ct.astype(dx, DX.dtype).reshape((1, T)))
    dw, db = dy * normal, dy
    while ct.atomic_cas(LOCKS, group, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    if ct.gather(LOCKS, GROUPS + group) == 0:
        ct.scatter(LOCKS, GROUPS + group, 1)
    else:
        dw = dw + ct.load(DW, (group, 0), (1, T), padding_mode=ZERO).reshape((T,))
        db = db + ct.load(DB, (group, 0), (1, T), padding_mode=ZERO).reshape((T,))
    ct.store(DW, (group, 0), dw.reshape((1, T)))
    ct.store(DB, (group, 0), db.reshape((1, T)))
    ct.atomic_xchg(LOCKS, group, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def sum_partial_gradients(DW, DB, FINAL_DW, FINAL_DB, tm: Int, tn: Int):
    column = ct.bid(0)
    dw, db = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for i in range(ct.num_tiles(DW, axis=0, shape=(tm, tn))):
        dw = dw + ct.load(DW, (i, column), (tm, tn), padding_mode=ZERO)
        db = db + ct.load(DB, (i, column), (tm, tn), padding_mode=ZERO)
    ct.store(FINAL_DW, (column,), ct.astype(ct.sum(dw, axis=0), FINAL_DW.dtype))
    ct.store(FINAL_DB, (column,), ct.astype(ct.sum(db, axis=0), FINAL_DB.dtype))


# Parts of Triton kernels, which end what they begin.
product_region = tle_raw.dialect("cutile", alone=True)(product)
attention_region = tle_raw.dialect("cutile", alone=True)(attend)
