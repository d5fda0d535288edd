"""Loops over tiles with products, of the form that gets a warp that copies, and nearly of it."""

import cuda.tile as ct

Int = ct.Constant[int]
Flag = ct.Constant[bool]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def product(A, B, C, tm: Int, tn: Int, tk: Int, FAST: Flag):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, (m, k), (tm, tk), padding_mode=ZERO, latency=4)
        b = ct.load(B, (k, n), (tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total, use_fast_acc=FAST)
    ct.store(C, (m, n), ct.astype(total, C.dtype))


@ct.kernel
def of_turned(A, B, C, tm: Int, tn: Int, tk: Int, FAST: Flag):
    """A is [K, M], B is [N, K]: one is turned as it is loaded, the other one behind that."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(B, axis=1, shape=(tn, tk))):
        a = ct.load(A, (m, k), (tm, tk), order=(1, 0), padding_mode=ZERO)
        b = ct.load(B, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(a, ct.transpose(b), total, use_fast_acc=FAST)
    ct.store(C, (m, n), ct.astype(total, C.dtype))


@ct.kernel
def batched(A, B, C, tm: Int, tn: Int, tk: Int):
    """The products have three dims, the first of one element."""
    i, m, n = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((1, tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, axis=2, shape=(1, tm, tk))):
        a = ct.load(A, (i, m, k), (1, tm, tk), padding_mode=ZERO)
        b = ct.load(B, (i, k, n), (1, tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, (i, m, n), ct.astype(total, C.dtype))


@ct.kernel
def persistent(A, B, C, tm: Int, tn: Int, tk: Int):
    """Each block takes several tiles of C, and stores one after the other."""
    rows, columns = ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = tile // columns, tile % columns
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
            a = ct.load(A, (m, k), (tm, tk), padding_mode=ZERO)
            b = ct.load(B, (k, n), (tk, tn), padding_mode=ZERO)
            total = ct.mma(a, b, total)
        ct.store(C, (m, n), ct.astype(total, C.dtype))


@ct.kernel
def two_sums(A, B, D, C, tm: Int, tn: Int, tk: Int, count):
    """As many turns as the call says; two sums of two products each, of which a pair reads two tiles of A."""
    m = ct.bid(0)
    one, two = ct.full((tm, tn), 1.0, ct.float32), ct.zeros((tm, tn), ct.float32)
    for k in range(count):
        a = ct.load(A, (m, 2 * k), (tm, tk), padding_mode=ZERO)
        b = ct.load(B, (2 * k, 0), (tk, tn), padding_mode=ZERO)
        next_a = ct.load(A, (m, 2 * k + 1), (tm, tk), padding_mode=ZERO)
        next_b = ct.load(B, (2 * k + 1, 0), (tk, tn), padding_mode=ZERO)
        one = ct.mma(next_a, next_b, ct.mma(a, b, one))
        d = ct.load(D, (2 * k, 0), (tk, tn), padding_mode=ZERO)
        two = ct.mma(a, d, two)
    ct.store(C, (m, 0), ct.astype(one * two, C.dtype))


@ct.kernel
def attention_by_rows(Q, K, V, OUT, scale: ct.Constant[float], tm: Int, tn: Int, width: Int):
    """Arrays are [batch, length, heads, width]; a block takes all rows of a head, one tile after the other."""
    i, head = ct.bid(0), ct.bid(1)
    for m in range(ct.num_tiles(Q, axis=1, shape=(1, tm, 1, width))):
        q = ct.load(Q, (i, m, head, 0), (1, tm, 1, width), padding_mode=ZERO).reshape((tm, width))
        top, total = ct.full((tm,), -1e30, ct.float32), ct.zeros((tm,), ct.float32)
        out = ct.zeros((tm, width), ct.float32)
        for n in range(ct.num_tiles(K, axis=1, shape=(1, tn, 1, width))):
            k = ct.load(K, (i, n, head, 0), (1, tn, 1, width), padding_mode=ZERO).reshape((tn, width))
            scores = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), ct.float32)) * scale
            seen = n * tn + ct.arange(tn, dtype=ct.int32)[None, :] < K.shape[1]
            scores = ct.where(seen, scores, -1e30)
            higher = ct.maximum(top, ct.max(scores, axis=1))
            weights, faded = ct.exp(scores - higher[:, None]), ct.exp(top - higher)
            v = ct.load(V, (i, n, head, 0), (1, tn, 1, width), padding_mode=ZERO).reshape((tn, width))
            out = ct.mma(ct.astype(weights, v.dtype), v, out * faded[:, None])
            total, top = total * faded + ct.sum(weights, axis=1), higher
        ct.store(OUT, (i, m, head, 0), ct.astype(out / total[:, None], OUT.dtype).reshape((1, tm, 1, width)))


@ct.kernel
def changed(A, B, C, P, tm: Int, WHAT: ct.Constant[str]):
    """A product with one thing different."""
    m, n = ct.bid(0), 0
    total = ct.zeros((tm, 64), ct.float32)
    for k in range(2):
        a = ct.load(A, (m, k), (tm, 32), padding_mode=ct.PaddingMode.NAN if ct.static_eval(WHAT == "nan") else ZERO)
        allow = ct.static_eval(WHAT != "no tma")
        b = ct.load(B, (k, n), (32, 64), padding_mode=ZERO, allow_tma=allow)
        if ct.static_eval(WHAT == "read"):
            total = total + ct.load(C, (m, n), (tm, 64))
        if ct.static_eval(WHAT == "scaled"):
            b = b * 2
        if ct.static_eval(WHAT == "places"):
            n = ct.load(P, (k,), ())
        if ct.static_eval(WHAT == "left") and k > 5:
            break
        if ct.static_eval(WHAT == "written"):
            ct.store(B, (k, n), ct.zeros((32, 64), B.dtype))
        if ct.static_eval(WHAT == "branch"):
            if k < 7:
                total = ct.mma(a, b, total)
        else:
            total = ct.mma(a, b, total)
    ct.store(C, (m, 0), ct.astype(total, C.dtype))
