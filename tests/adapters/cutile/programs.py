"""Programs written with cuTile, in the constructs of its own samples."""

from __future__ import annotations

import cuda.tile as ct

Int = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def vector_add(A, B, C, T: Int):
    i = ct.bid(0)
    ct.store(C, (i,), ct.load(A, (i,), (T,)) + ct.load(B, (i,), (T,)))


@ct.kernel
def vector_add_by_indices(A, B, C, T: Int):
    """Indices of elements, so that nothing but the array's end limits them; of rows and columns here."""
    rows = ct.bid(0) * 2 + ct.arange(2, dtype=ct.int32)[:, None]
    columns = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)[None, :]
    ct.scatter(C, (rows, columns), ct.gather(A, (rows, columns)) + ct.gather(B, (rows, columns)))


@ct.kernel
def batched_matmul(A, B, C, tm: Int, tn: Int, tk: Int):
    b, m, n = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(1, tm, tk))):
        x = ct.load(A, (b, m, k), (1, tm, tk), padding_mode=ZERO).reshape((tm, tk))
        y = ct.load(B, (b, k, n), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = ct.mma(x, y, acc)
    ct.store(C, (b, m, n), ct.astype(acc, C.dtype).reshape((1, tm, tn)))


def grouped(block, rows, columns, group: int):
    """Blocks in groups of rows, which share what they read."""
    per_group = group * columns
    first = block // per_group * group
    height = ct.minimum(rows - first, group)
    inside = block % per_group
    return first + inside % height, inside // height


@ct.kernel
def persistent_matmul(A, B, C, tm: Int, tn: Int, tk: Int, GROUP: Int):
    rows, columns = ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn)
    steps = ct.num_tiles(A, axis=1, shape=(tm, tk))
    for block in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = grouped(block, rows, columns, GROUP)
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(steps):
            a = ct.load(A, (m, k), (tm, tk), padding_mode=ZERO)
            b = ct.load(B, (k, n), (tk, tn), padding_mode=ZERO)
            acc = ct.mma(a, b, acc)
        ct.store(C, (m, n), ct.astype(acc, C.dtype))


@ct.kernel
def attention(Q, K, V, OUT, scale: float, tm: Int, tn: Int, D: Int, CAUSAL: ct.Constant[bool], GROUP: Int):
    """GROUP heads of queries share a head of keys and values."""
    i, head = ct.bid(0), ct.bid(1)
    shared = head // GROUP
    rows = i * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    q = ct.load(Q, (head, i, 0), (1, tm, D), padding_mode=ZERO).reshape((tm, D))
    top = ct.full((tm, 1), -1e30, ct.float32)
    total, acc = ct.zeros((tm, 1), ct.float32), ct.zeros((tm, D), ct.float32)
    steps = ct.num_tiles(K, axis=1, shape=(1, tn, D))
    if CAUSAL:
        steps = ct.minimum(steps, ct.cdiv((i + 1) * tm, tn))
    for j in range(steps):
        k = ct.load(K, (shared, 0, j), (1, D, tn), order=(0, 2, 1), padding_mode=ZERO).reshape((D, tn))
        scores = ct.mma(q, k, ct.zeros((tm, tn), ct.float32)) * (scale * 1.4426950408889634)
        columns = j * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        seen = columns < K.shape[1]
        if CAUSAL:
            seen = seen & (columns <= rows)
        scores = ct.where(seen, scores, -1e30)
        higher = ct.maximum(top, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - higher, flush_to_zero=True)
        faded = ct.exp2(top - higher, flush_to_zero=True)
        total = total * faded + ct.sum(weights, axis=1, keepdims=True)
        v = ct.load(V, (shared, j, 0), (1, tn, D), padding_mode=ZERO).reshape((tn, D))
        acc = ct.mma(ct.astype(weights, v.dtype), v, acc * faded)
        top = higher
    out = ct.truediv(acc, total, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(OUT, (head, i, 0), ct.astype(out, OUT.dtype).reshape((1, tm, D)))


@ct.kernel
def layer_norm(X, W, B, Y, MEAN, RSTD, eps: float, T: Int):
    row = ct.bid(0)
    steps, width = ct.num_tiles(X, axis=1, shape=(1, T)), X.shape[1]
    mean = ct.zeros((1, T), ct.float32)
    for j in range(steps):
        mean = mean + ct.load(X, (row, j), (1, T), padding_mode=ZERO)
    mean = ct.sum(mean, axis=1, keepdims=True) / width
    variance = ct.zeros((1, T), ct.float32)
    for j in range(steps):
        inside = j * T + ct.arange(T, dtype=ct.int32) < width
        centred = ct.where(inside, ct.load(X, (row, j), (1, T), padding_mode=ZERO) - mean, 0)
        variance = variance + centred * centred
    rstd = ct.rsqrt(ct.sum(variance, axis=1, keepdims=True) / width + eps)
    ct.store(MEAN, (row,), mean.reshape((1,)))
    ct.store(RSTD, (row,), rstd.reshape((1,)))
    for j in range(steps):
        x = ct.load(X, (row, j), (1, T), padding_mode=ZERO)
        w, b = ct.load(W, (j,), (T,), padding_mode=ZERO), ct.load(B, (j,), (T,), padding_mode=ZERO)
        ct.store(Y, (row, j), ct.astype((x - mean) * rstd * w + b, Y.dtype))


@ct.kernel
def layer_norm_gradients(DY, X, W, MEAN, RSTD, DX, DW, DB, LOCKS, GROUPS: Int, T: Int):
    """Gradients of the input, and partial sums of those of weight and bias, a group of rows to each."""
    row = ct.bid(0)
    group, width = row % GROUPS, X.shape[1]
    inside = ct.arange(T, dtype=ct.int32) < width
    x, dy = ct.load(X, (row, 0), (1, T), padding_mode=ZERO), ct.load(DY, (row, 0), (1, T), padding_mode=ZERO)
    w = ct.load(W, (0,), (T,), padding_mode=ZERO)
    mean, rstd = ct.load(MEAN, (row,), ()), ct.load(RSTD, (row,), ())
    normal = ct.where(inside, (x - mean) * rstd, 0)
    weighted = ct.where(inside, w * dy, 0)
    c1, c2 = ct.sum(normal * weighted) / width, ct.sum(weighted) / width
    ct.store(DX, (row, 0), ct.astype((weighted - (normal * c1 + c2)) * rstd, DX.dtype))
    while ct.atomic_cas(LOCKS, group, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    dw = ct.load(DW, (group, 0), (1, T), padding_mode=ZERO)
    db = ct.load(DB, (group, 0), (1, T), padding_mode=ZERO)
    ct.store(DW, (group, 0), dw + dy * normal)
    ct.store(DB, (group, 0), db + dy)
    ct.atomic_xchg(LOCKS, group, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def layer_norm_gradients_by_atomics(DY, X, MEAN, RSTD, DW, DB, tm: Int, tn: Int):
    """Those of weight and bias alone: each block adds the sums of its rows."""
    i, j = ct.bid(0), ct.bid(1)
    x, dy = ct.load(X, (i, j), (tm, tn), padding_mode=ZERO), ct.load(DY, (i, j), (tm, tn), padding_mode=ZERO)
    mean, rstd = (ct.load(MEAN, (i,), (tm,), padding_mode=ZERO), ct.load(RSTD, (i,), (tm,), padding_mode=ZERO))
    normal = (x - mean[:, None]) * rstd[:, None]
    columns = j * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(DW, columns, ct.sum(dy * normal, axis=0))
    ct.atomic_add(DB, columns, ct.sum(dy, axis=0))


@ct.kernel
def sum_partial_gradients(DW, DB, FINAL_DW, FINAL_DB, tm: Int, tn: Int):
    j = ct.bid(0)
    dw, db = ct.zeros((tm, tn), ct.float32), ct.zeros((tm, tn), ct.float32)
    for i in range(ct.num_tiles(DW, axis=0, shape=(tm, tn))):
        dw = dw + ct.load(DW, (i, j), (tm, tn), padding_mode=ZERO)
        db = db + ct.load(DB, (i, j), (tm, tn), padding_mode=ZERO)
    ct.store(FINAL_DW, (j,), ct.astype(ct.sum(dw, axis=0), FINAL_DW.dtype))
    ct.store(FINAL_DB, (j,), ct.astype(ct.sum(db, axis=0), FINAL_DB.dtype))


@ct.kernel
def count_experts(EXPERTS, COUNTS, T: Int):
    at = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    ct.atomic_add(COUNTS, ct.gather(EXPERTS, at, padding_value=-1), 1)


@ct.kernel
def align_experts(COUNTS, STARTS, N: Int, BLOCK: Int):
    """Where each expert's rows start, in whole blocks."""
    counts = ct.load(COUNTS, (0,), (N,), padding_mode=ZERO)
    padded = ct.cdiv(counts, BLOCK) * BLOCK
    ct.store(STARTS, (0,), ct.cumsum(padded, axis=0) - padded)


@ct.kernel
def name_experts(COUNTS, STARTS, EXPERT_OF_BLOCK, N: Int, BLOCK: Int):
    """Whose rows each block has; -1 where there are none."""
    block = ct.bid(0)
    starts = ct.load(STARTS, (0,), (N,), padding_mode=ZERO)
    counts = ct.load(COUNTS, (0,), (N,), padding_mode=ZERO)
    mine = (starts <= block * BLOCK) & (block * BLOCK < starts + ct.cdiv(counts, BLOCK) * BLOCK)
    ct.store(EXPERT_OF_BLOCK, (block,), ct.max(ct.where(mine, ct.arange(N, dtype=ct.int32), -1)))


@ct.kernel
def place_rows(EXPERTS, STARTS, TAKEN, ORDER, T: Int):
    """Each row of tokens goes to its expert's rows, in any order; TAKEN counts them."""
    rows = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    experts = ct.gather(EXPERTS, rows, padding_value=-1)
    places = ct.gather(STARTS, experts) + ct.atomic_add(TAKEN, experts, 1)
    ct.scatter(ORDER, ct.where(experts >= 0, places, -1), rows)


@ct.kernel
def grouped_gemm(X, ROWS, EXPERT_OF_BLOCK, W, SHARES, Y, TOP: Int, tm: Int, tn: Int, tk: Int):
    """ROWS are choices, TOP of each token; each choice has a share."""
    block, n = ct.bid(0), ct.bid(1)
    expert = ct.load(EXPERT_OF_BLOCK, (block,), ())
    if expert < 0:
        return
    rows = ct.load(ROWS, (block,), (tm,))
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(X, axis=1, shape=(tm, tk))):
        depth = k * tk + ct.arange(tk, dtype=ct.int32)
        x = ct.gather(X, (ct.where(rows >= 0, rows // TOP, -1)[:, None], depth[None, :]))
        w = ct.load(W, (expert, k, n), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = ct.mma(x, w, acc)
    columns = n * tn + ct.arange(tn, dtype=ct.int32)
    acc = acc * ct.gather(SHARES, rows)[:, None]
    ct.scatter(Y, (rows[:, None], columns[None, :]), ct.astype(acc, Y.dtype))


@ct.kernel
def transpose(X, Y, tm: Int, tn: Int):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(Y, (j, i), ct.transpose(ct.load(X, (i, j), (tm, tn))))


@ct.kernel
def fourier(X_RE, X_IM, Y_RE, Y_IM, N: Int, LEVELS: Int):
    """A transform of each row, by halves: pairs are taken together level by level."""
    row = ct.bid(0)
    at = ct.arange(N, dtype=ct.int32)
    turned = at * 0
    for bit in ct.static_iter(range(LEVELS)):
        turned = turned | (((at >> bit) & 1) << (LEVELS - 1 - bit))
    re, im = ct.gather(X_RE, (row, turned)), ct.gather(X_IM, (row, turned))
    for level in ct.static_iter(range(LEVELS)):
        half = 2**level
        shape = (N // (2 * half), 2, half)
        re, im = ct.reshape(re, shape), ct.reshape(im, shape)
        a_re, b_re = ct.extract(re, (0, 0, 0), (shape[0], 1, half)), ct.extract(re, (0, 1, 0), (shape[0], 1, half))
        a_im, b_im = ct.extract(im, (0, 0, 0), (shape[0], 1, half)), ct.extract(im, (0, 1, 0), (shape[0], 1, half))
        angle = ct.astype(ct.arange(half, dtype=ct.int32), ct.float32) * (-3.141592653589793 / half)
        c, s = ct.cos(angle), ct.sin(angle)
        t_re, t_im = b_re * c - b_im * s, b_re * s + b_im * c
        re = ct.reshape(ct.cat((a_re + t_re, a_re - t_re), axis=1), (N,))
        im = ct.reshape(ct.cat((a_im + t_im, a_im - t_im), axis=1), (N,))
    ct.scatter(Y_RE, (row, at), re)
    ct.scatter(Y_IM, (row, at), im)


def complex_product(a, b):
    """Of matrices, each a pair of real and imaginary part."""
    (a_re, a_im), (b_re, b_im) = a, b
    zero = ct.zeros((*a_re.shape[:-1], b_re.shape[-1]), ct.float32)
    return ct.mma(a_re, b_re, ct.mma(-a_im, b_im, zero)), ct.mma(a_re, b_im, ct.mma(a_im, b_re, zero))


def load_complex(RE, IM, index, shape, bare):
    return ct.load(RE, index, shape).reshape(bare), ct.load(IM, index, shape).reshape(bare)


@ct.kernel
def fourier_by_products(X_RE, X_IM, F1_RE, F1_IM, F2_RE, F2_IM, T_RE, T_IM, Y_RE, Y_IM, N1: Int, N2: Int):
    """A transform of a row of N1 * N2: of its columns, turned by T, then of its rows, by matrices of transforms."""
    row = ct.bid(0)
    x = load_complex(X_RE, X_IM, (row, 0), (1, N1 * N2), (N1, N2))
    first = load_complex(F1_RE, F1_IM, (0, 0), (N1, N1), (N1, N1))
    second = load_complex(F2_RE, F2_IM, (0, 0), (N2, N2), (N2, N2))
    turn_re, turn_im = load_complex(T_RE, T_IM, (0, 0), (N1, N2), (N1, N2))
    re, im = complex_product(first, x)
    re, im = re * turn_re - im * turn_im, re * turn_im + im * turn_re
    re, im = complex_product((re, im), second)
    ct.store(Y_RE, (row, 0), ct.transpose(re).reshape((1, N1 * N2)))
    ct.store(Y_IM, (row, 0), ct.transpose(im).reshape((1, N1 * N2)))


@ct.kernel
def block_scaled_matmul(A, SA, B, SB, C, tm: Int, tn: Int, tk: Int):
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, (m, k), (tm, tk), padding_mode=ZERO)
        b = ct.load(B, (k, n), (tk, tn), padding_mode=ZERO)
        sa, sb = ct.load(SA, (m, k), (tm, tk // 32)), ct.load(SB, (k, n), (tk // 32, tn))
        acc = ct.mma_scaled(a, sa, b, sb, acc)
    ct.store(C, (m, n), acc)
