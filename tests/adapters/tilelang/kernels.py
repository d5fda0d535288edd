"""TileLang kernels of the kinds that one meets, written in TileLang's own constructs for these tests."""

import tilelang.language as T


def add(m=100, n=70, bm=32, bn=64, dtype="float32"):
    @T.prim_func
    def add(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            for i, j in T.Parallel(bm, bn):
                C[by * bm + i, bx * bn + j] = A[by * bm + i, bx * bn + j] + B[by * bm + i, bx * bn + j]

    return add


def scaled_add(block=256):
    n = T.dynamic("n")

    @T.prim_func
    def scaled_add(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), alpha: T.float32):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] * alpha + B[bx * block + i]

    return scaled_add


def gemm(
    m=128,
    n=128,
    k=128,
    bm=64,
    bn=64,
    bk=32,
    dtype="float16",
    accumulate="float32",
    out=None,
    turn_a=False,
    turn_b=False,
    stages=2,
):
    out = out or dtype
    a_shape, b_shape = ((k, m) if turn_a else (m, k)), ((n, k) if turn_b else (k, n))

    @T.prim_func
    def gemm(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bk, bm) if turn_a else (bm, bk), dtype)
            b = T.alloc_shared((bn, bk) if turn_b else (bk, bn), dtype)
            c = T.alloc_fragment((bm, bn), accumulate)
            T.use_swizzle(4)
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                if turn_a:
                    T.copy(A[i * bk, by * bm], a)
                else:
                    T.copy(A[by * bm, i * bk], a)
                if turn_b:
                    T.copy(B[bx * bn, i * bk], b)
                else:
                    T.copy(B[i * bk, bx * bn], b)
                T.gemm(a, b, c, transpose_A=turn_a, transpose_B=turn_b)
            T.copy(c, C[by * bm, bx * bn])

    return gemm


def gemm_with_epilogue(m=128, n=128, k=64, bm=64, bn=64, bk=32):
    @T.macro
    def gelu(c):
        for i, j in T.Parallel(bm, bn):
            c[i, j] = c[i, j] * 0.5 * (1.0 + T.erf(c[i, j] * 0.70710678))

    @T.prim_func
    def gemm_with_epilogue(
        A: T.Tensor((m, k), "bfloat16"),
        B: T.Tensor((k, n), "bfloat16"),
        bias: T.Tensor((n,), "float32"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bk), "bfloat16")
            b = T.alloc_shared((bk, bn), "bfloat16")
            bias_local = T.alloc_fragment((bn,), "float32")
            c = T.alloc_fragment((bm, bn), "float32")
            T.copy(bias[bx * bn], bias_local)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[by * bm, i * bk], a)
                T.copy(B[i * bk, bx * bn], b)
                T.gemm(a, b, c, clear_accum=i == 0)
            for i, j in T.Parallel(bm, bn):
                c[i, j] += bias_local[j]
            gelu(c)
            T.copy(c, C[by * bm, bx * bn])

    return gemm_with_epilogue


def gemm_split_k(m=64, n=64, k=256, bm=32, bn=32, bk=32, splits=4):
    part = k // splits

    @T.prim_func
    def gemm_split_k(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), splits, threads=128) as (bx, by, bz):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(part, bk), num_stages=2):
                T.copy(A[by * bm, bz * part + i * bk], a)
                T.copy(B[bz * part + i * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.atomic_add(C[by * bm, bx * bn], c)

    return gemm_split_k


def gemm_stream_k(m=64, n=96, k=128, bm=32, bn=32, bk=32, programs=5):
    """Each program takes an equal share of all products of blocks, wherever in the result they belong."""
    columns, depth = n // bn, k // bk
    total = (m // bm) * columns * depth
    share = -(-total // programs)

    @T.prim_func
    def gemm_stream_k(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(programs, threads=128) as pid:
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            at = T.alloc_var("int32", init=0)
            end = T.alloc_var("int32", init=0)
            at = pid * share
            last = T.min(pid * share + share, total)
            while at < last:
                tile = at // depth
                end = T.min(tile * depth + depth, last)
                T.clear(c)
                for i in T.Pipelined(end - at, num_stages=2):
                    T.copy(A[tile // columns * bm, (at % depth + i) * bk], a)
                    T.copy(B[(at % depth + i) * bk, tile % columns * bn], b)
                    T.gemm(a, b, c)
                T.atomic_add(C[tile // columns * bm, tile % columns * bn], c)
                T.sync_threads()  # TileLang puts none between the last product and the next copies of a `while`
                at = end

    return gemm_stream_k


def gemm_int4(m=64, n=64, k=128, bm=32, bn=32, bk=64, group=32):
    """B holds two unsigned 4-bit weights in a byte, with a scale for each group of a row."""

    @T.prim_func
    def gemm_int4(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((n, k // 2), "uint8"),
        scales: T.Tensor((n, k // group), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            packed = T.alloc_shared((bn, bk // 2), "uint8")
            packed_local = T.alloc_fragment((bn, bk // 2), "uint8")
            b = T.alloc_fragment((bn, bk), "float16")
            b_shared = T.alloc_shared((bn, bk), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for step in T.Pipelined(k // bk, num_stages=2):
                T.copy(A[by * bm, step * bk], a)
                T.copy(B[bx * bn, step * bk // 2], packed)
                T.copy(packed, packed_local)
                for i, j in T.Parallel(bn, bk):
                    nibble = (packed_local[i, j // 2] >> ((j % 2) * 4).astype("uint8")) & T.cast(15, "uint8")
                    b[i, j] = (nibble.astype("float16") - T.cast(8.0, "float16")) * scales[
                        bx * bn + i, (step * bk + j) // group
                    ]
                T.copy(b, b_shared)
                T.gemm(a, b_shared, c, transpose_B=True)
            T.copy(c, C[by * bm, bx * bn])

    return gemm_int4


def attention(batch=2, heads=2, rows=96, width=32, bm=32, bn=32, causal=False, dtype="float16"):
    scale = (1.0 / width) ** 0.5 * 1.44269504
    shape = (batch, rows, heads, width)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), Out: T.Tensor(shape, dtype)
    ):
        with T.Kernel(T.ceildiv(rows, bm), heads, batch, threads=128) as (bx, by, bz):
            q = T.alloc_shared((bm, width), dtype)
            k = T.alloc_shared((bn, width), dtype)
            v = T.alloc_shared((bn, width), dtype)
            scores = T.alloc_fragment((bm, bn), "float32")
            weights = T.alloc_fragment((bm, bn), dtype)
            total = T.alloc_fragment((bm, width), "float32")
            highest = T.alloc_fragment((bm,), "float32")
            highest_before = T.alloc_fragment((bm,), "float32")
            rescale = T.alloc_fragment((bm,), "float32")
            row_sum = T.alloc_fragment((bm,), "float32")
            sums = T.alloc_fragment((bm,), "float32")
            T.copy(Q[bz, bx * bm : (bx + 1) * bm, by, :], q)
            T.fill(total, 0)
            T.fill(sums, 0)
            T.fill(highest, -T.infinity("float32"))
            last = T.min(T.ceildiv(rows, bn), T.ceildiv((bx + 1) * bm, bn)) if causal else T.ceildiv(rows, bn)
            for step in T.Pipelined(last, num_stages=2):
                T.copy(K[bz, step * bn : (step + 1) * bn, by, :], k)
                if causal:
                    for i, j in T.Parallel(bm, bn):
                        scores[i, j] = T.if_then_else(bx * bm + i >= step * bn + j, 0, -T.infinity("float32"))
                else:
                    for i, j in T.Parallel(bm, bn):
                        scores[i, j] = T.if_then_else(step * bn + j >= rows, -T.infinity("float32"), 0)
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(V[bz, step * bn : (step + 1) * bn, by, :], v)
                T.copy(highest, highest_before)
                T.reduce_max(scores, highest, dim=1, clear=False)
                for i in T.Parallel(bm):
                    rescale[i] = T.exp2(highest_before[i] * scale - highest[i] * scale)
                for i, j in T.Parallel(bm, width):
                    total[i, j] *= rescale[i]
                for i, j in T.Parallel(bm, bn):
                    scores[i, j] = T.exp2(scores[i, j] * scale - highest[i] * scale)
                T.copy(scores, weights)
                T.gemm(weights, v, total, policy=T.GemmWarpPolicy.FullRow)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(bm):
                    sums[i] = sums[i] * rescale[i] + row_sum[i]
            for i, j in T.Parallel(bm, width):
                total[i, j] /= sums[i]
            T.copy(total, Out[bz, bx * bm : (bx + 1) * bm, by, :])

    return attention


def sparse_attention(rows=128, width=32, bm=32, bn=32):
    """Blocks of keys that a mask leaves out are not looked at."""
    scale = (1.0 / width) ** 0.5 * 1.44269504
    blocks = rows // bn

    @T.prim_func
    def sparse_attention(
        Q: T.Tensor((rows, width), "float16"),
        K: T.Tensor((rows, width), "float16"),
        V: T.Tensor((rows, width), "float16"),
        mask: T.Tensor((rows // bm, blocks), "int8"),
        Out: T.Tensor((rows, width), "float32"),
    ):
        with T.Kernel(rows // bm, threads=128) as bx:
            q = T.alloc_shared((bm, width), "float16")
            k = T.alloc_shared((bn, width), "float16")
            v = T.alloc_shared((bn, width), "float16")
            scores = T.alloc_fragment((bm, bn), "float32")
            weights = T.alloc_fragment((bm, bn), "float16")
            total = T.alloc_fragment((bm, width), "float32")
            highest = T.alloc_fragment((bm,), "float32")
            before = T.alloc_fragment((bm,), "float32")
            part = T.alloc_fragment((bm,), "float32")
            sums = T.alloc_fragment((bm,), "float32")
            T.copy(Q[bx * bm, 0], q)
            T.clear(total)
            T.clear(sums)
            T.fill(highest, -1e30)
            for step in T.Pipelined(blocks, num_stages=1):
                if mask[bx, step] != 0:
                    T.copy(K[step * bn, 0], k)
                    T.clear(scores)
                    T.gemm(q, k, scores, transpose_B=True)
                    T.copy(V[step * bn, 0], v)
                    T.copy(highest, before)
                    T.reduce_max(scores, highest, dim=1, clear=False)
                    for i, j in T.Parallel(bm, bn):
                        scores[i, j] = T.exp2((scores[i, j] - highest[i]) * scale)
                    T.reduce_sum(scores, part, dim=1)
                    for i in T.Parallel(bm):
                        sums[i] = sums[i] * T.exp2((before[i] - highest[i]) * scale) + part[i]
                    for i, j in T.Parallel(bm, width):
                        total[i, j] = total[i, j] * T.exp2((before[i] - highest[i]) * scale)
                    T.copy(scores, weights)
                    T.gemm(weights, v, total)
            for i, j in T.Parallel(bm, width):
                total[i, j] = total[i, j] / sums[i]
            T.copy(total, Out[bx * bm, 0])

    return sparse_attention


def mla_decode(batch=2, heads=16, rows=64, width=64, extra=16, bn=32):
    """One query of each head against a latent cache that is keys and values at once, and the part with positions."""
    scale = (1.0 / (width + extra)) ** 0.5 * 1.44269504

    @T.prim_func
    def mla_decode(
        Q: T.Tensor((batch, heads, width), "float16"),
        Q_pe: T.Tensor((batch, heads, extra), "float16"),
        KV: T.Tensor((batch, rows, width), "float16"),
        K_pe: T.Tensor((batch, rows, extra), "float16"),
        Out: T.Tensor((batch, heads, width), "float16"),
    ):
        with T.Kernel(batch, threads=128) as bx:
            q = T.alloc_shared((heads, width), "float16")
            q_pe = T.alloc_shared((heads, extra), "float16")
            kv = T.alloc_shared((bn, width), "float16")
            k_pe = T.alloc_shared((bn, extra), "float16")
            s_shared = T.alloc_shared((heads, bn), "float16")
            scores = T.alloc_fragment((heads, bn), "float32")
            total = T.alloc_fragment((heads, width), "float32")
            highest = T.alloc_fragment((heads,), "float32")
            before = T.alloc_fragment((heads,), "float32")
            rescale = T.alloc_fragment((heads,), "float32")
            part = T.alloc_fragment((heads,), "float32")
            sums = T.alloc_fragment((heads,), "float32")
            T.copy(Q[bx, 0, 0], q)
            T.copy(Q_pe[bx, 0, 0], q_pe)
            T.fill(total, 0)
            T.fill(sums, 0)
            T.fill(highest, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(rows, bn), num_stages=2):
                T.copy(KV[bx, step * bn : (step + 1) * bn, :], kv)
                T.copy(K_pe[bx, step * bn : (step + 1) * bn, :], k_pe)
                T.gemm(q, kv, scores, transpose_B=True, clear_accum=True)
                T.gemm(q_pe, k_pe, scores, transpose_B=True)
                T.copy(highest, before)
                T.fill(highest, -T.infinity("float32"))
                T.reduce_max(scores, highest, dim=1, clear=False)
                for i in T.Parallel(heads):
                    highest[i] = T.max(highest[i], before[i])
                    rescale[i] = T.exp2(before[i] * scale - highest[i] * scale)
                for i, j in T.Parallel(heads, bn):
                    scores[i, j] = T.exp2(scores[i, j] * scale - highest[i] * scale)
                T.reduce_sum(scores, part, dim=1)
                T.copy(scores, s_shared)
                for i in T.Parallel(heads):
                    sums[i] = sums[i] * rescale[i] + part[i]
                for i, j in T.Parallel(heads, width):
                    total[i, j] *= rescale[i]
                T.gemm(s_shared, kv, total)
            for i, j in T.Parallel(heads, width):
                total[i, j] /= sums[i]
            T.copy(total, Out[bx, 0:heads, 0:width])

    return mla_decode


def softmax(m=50, n=100, bm=8, dtype="float32"):
    @T.prim_func
    def softmax(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x = T.alloc_fragment((bm, n), "float32")
            highest = T.alloc_fragment((bm,), "float32")
            total = T.alloc_fragment((bm,), "float32")
            T.copy(X[bx * bm, 0], x)
            T.reduce_max(x, highest, dim=1)
            for i, j in T.Parallel(bm, n):
                x[i, j] = T.exp(x[i, j] - highest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(bm, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * bm, 0])

    return softmax


def online_softmax(m=20, n=300, bn=128):
    @T.prim_func
    def online_softmax(X: T.Tensor((m, n), "float16"), Y: T.Tensor((m, n), "float32")):
        with T.Kernel(m, threads=128) as bx:
            x = T.alloc_fragment((bn,), "float32")
            lse = T.alloc_fragment((1,), "float32")
            highest = T.alloc_fragment((1,), "float32")
            powers = T.alloc_fragment((bn,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.fill(lse, -T.infinity("float32"))
            for k in T.Pipelined(T.ceildiv(n, bn), num_stages=1):
                for j in T.Parallel(bn):
                    x[j] = T.if_then_else(k * bn + j < n, T.cast(X[bx, k * bn + j], "float32"), -T.infinity("float32"))
                T.reduce_max(x, highest, dim=0, clear=True)
                for j in T.Parallel(bn):
                    powers[j] = T.exp2((x[j] - highest[0]) * 1.44269504)
                T.reduce_sum(powers, total, dim=0, clear=True)
                lse[0] = highest[0] * 1.44269504 + T.log2(T.exp2(lse[0] - highest[0] * 1.44269504) + total[0])
            for k in T.serial(T.ceildiv(n, bn)):
                for j in T.Parallel(bn):
                    if k * bn + j < n:
                        Y[bx, k * bn + j] = T.exp2(T.cast(X[bx, k * bn + j], "float32") * 1.44269504 - lse[0])

    return online_softmax


def rms_norm(m=50, n=96, bm=4, dtype="float32"):
    @T.prim_func
    def rms_norm(X: T.Tensor((m, n), dtype), W: T.Tensor((n,), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            shared = T.alloc_shared((bm, n), dtype)
            x = T.alloc_fragment((bm, n), "float32")
            squares = T.alloc_fragment((bm, n), "float32")
            power = T.alloc_fragment((bm,), "float32")
            T.copy(X[bx * bm : (bx + 1) * bm, :], shared)
            T.copy(shared, x)
            for i, j in T.Parallel(bm, n):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, power, dim=1)
            for i in T.Parallel(bm):
                power[i] = T.rsqrt(power[i] / n + 1e-6)
            for i, j in T.Parallel(bm, n):
                x[i, j] *= power[i] * W[j]
            T.copy(x, Y[bx * bm : (bx + 1) * bm, :])

    return rms_norm


def layer_norm(n=200, dtype="float16"):
    m = T.dynamic("m")

    @T.prim_func
    def layer_norm(
        X: T.Tensor((m, n), dtype),
        W: T.Tensor((n,), "float32"),
        B: T.Tensor((n,), "float32"),
        Y: T.Tensor((m, n), dtype),
    ):
        with T.Kernel(m, threads=128) as row:
            x = T.alloc_fragment((n,), "float32")
            difference = T.alloc_fragment((n,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for j in T.Parallel(n):
                x[j] = T.cast(X[row, j], "float32")
            T.reduce_sum(x, total, dim=0)
            mean = total[0] / n
            for j in T.Parallel(n):
                difference[j] = (x[j] - mean) * (x[j] - mean)
            T.reduce_sum(difference, total, dim=0)
            for j in T.Parallel(n):
                Y[row, j] = T.cast((x[j] - mean) * T.rsqrt(total[0] / n + 1e-5) * W[j] + B[j], dtype)

    return layer_norm


def convolution(batch=2, height=9, width=11, channels=16, filters=32, size=3, bm=32, bn=32, bk=32):
    """As a product: each row of the left matrix gathers the pixels under the filter, zeros beyond the picture."""
    pixels, depth, edge = batch * height * width, size * size * channels, size // 2

    @T.prim_func
    def convolution(
        X: T.Tensor((batch, height, width, channels), "float16"),
        W: T.Tensor((size, size, channels, filters), "float16"),
        Y: T.Tensor((batch, height, width, filters), "float32"),
    ):
        with T.Kernel(T.ceildiv(filters, bn), T.ceildiv(pixels, bm), threads=128) as (bx, by):
            x = T.alloc_shared((bm, bk), "float16")
            w = T.alloc_shared((bk, bn), "float16")
            y = T.alloc_fragment((bm, bn), "float32")
            T.clear(y)
            for step in T.Pipelined(T.ceildiv(depth, bk), num_stages=2):
                for i, j in T.Parallel(bm, bk):
                    k = step * bk + j
                    pixel = by * bm + i
                    row = pixel % (height * width) // width + k // (size * channels) - edge
                    column = pixel % width + k // channels % size - edge
                    inside = (row >= 0) and (column >= 0) and (row < height) and (column < width) and (k < depth)
                    x[i, j] = T.if_then_else(
                        inside and pixel < pixels, X[pixel // (height * width), row, column, k % channels], 0
                    )
                for i, j in T.Parallel(bk, bn):
                    k = step * bk + i
                    w[i, j] = T.if_then_else(
                        k < depth, W[k // (size * channels), k // channels % size, k % channels, bx * bn + j], 0
                    )
                T.gemm(x, w, y)
            for i, j in T.Parallel(bm, bn):
                pixel = by * bm + i
                if pixel < pixels:
                    Y[pixel // (height * width), pixel % (height * width) // width, pixel % width, bx * bn + j] = y[
                        i, j
                    ]

    return convolution


def convolution_by_im2col(
    batch=2, height=9, width=11, channels=16, filters=32, size=3, stride=2, dilation=1, edge=1, bm=32, bn=32, bk=32
):
    """With TileLang's own im2col, and flat views of the filters and of the result."""
    high, wide = ((n + 2 * edge - dilation * (size - 1) - 1) // stride + 1 for n in (height, width))
    pixels, depth = batch * high * wide, size * size * channels

    @T.prim_func
    def convolution_by_im2col(
        X: T.Tensor((batch, height, width, channels), "float16"),
        W: T.Tensor((size, size, channels, filters), "float16"),
        Y: T.Tensor((batch, high, wide, filters), "float32"),
    ):
        with T.Kernel(T.ceildiv(filters, bn), T.ceildiv(pixels, bm), threads=128) as (bx, by):
            x = T.alloc_shared((bm, bk), "float16")
            w = T.alloc_shared((bk, bn), "float16")
            y = T.alloc_fragment((bm, bn), "float32")
            flat_w = T.Tensor((depth, filters), "float16", W.data)
            flat_y = T.Tensor((pixels, filters), "float32", Y.data)
            T.clear(y)
            for step in T.Pipelined(T.ceildiv(depth, bk), num_stages=2):
                T.im2col(X, x, by, step, size, stride, dilation, edge)
                T.copy(flat_w[step * bk, bx * bn], w)
                T.gemm(x, w, y)
            T.copy(y, flat_y[by * bm, bx * bn])

    return convolution_by_im2col


def top_k(m=20, n=64, k=4, bm=4):
    """The k largest of each row and where they stand, one after the other."""

    @T.prim_func
    def top_k(X: T.Tensor((m, n), "float32"), values: T.Tensor((m, k), "float32"), places: T.Tensor((m, k), "int32")):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x = T.alloc_fragment((bm, n), "float32")
            highest = T.alloc_fragment((bm,), "float32")
            where = T.alloc_fragment((bm, n), "int32")
            place = T.alloc_fragment((bm,), "int32")
            T.copy(X[bx * bm, 0], x)
            for step in T.serial(k):
                T.reduce_max(x, highest, dim=1)
                for i, j in T.Parallel(bm, n):
                    where[i, j] = T.if_then_else(x[i, j] == highest[i], j, n)
                T.reduce_min(where, place, dim=1)
                for i in T.Parallel(bm):
                    values[bx * bm + i, step] = highest[i]
                    places[bx * bm + i, step] = place[i]
                for i, j in T.Parallel(bm, n):
                    x[i, j] = T.if_then_else(j == place[i], -T.infinity("float32"), x[i, j])

    return top_k


def linear_attention(rows=128, width=32, chunk=32):
    """Causal, by chunks: inside a chunk as a masked product, before it through the state."""

    @T.prim_func
    def linear_attention(
        Q: T.Tensor((rows, width), "float16"),
        K: T.Tensor((rows, width), "float16"),
        V: T.Tensor((rows, width), "float16"),
        Out: T.Tensor((rows, width), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            q = T.alloc_shared((chunk, width), "float16")
            k = T.alloc_shared((chunk, width), "float16")
            v = T.alloc_shared((chunk, width), "float16")
            scores = T.alloc_fragment((chunk, chunk), "float32")
            weights = T.alloc_shared((chunk, chunk), "float16")
            state = T.alloc_fragment((width, width), "float32")
            state_shared = T.alloc_shared((width, width), "float16")
            out = T.alloc_fragment((chunk, width), "float32")
            T.clear(state)
            for step in T.Pipelined(rows // chunk, num_stages=2):
                T.copy(Q[step * chunk, 0], q)
                T.copy(K[step * chunk, 0], k)
                T.copy(V[step * chunk, 0], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    weights[i, j] = T.if_then_else(i >= j, scores[i, j], 0)
                T.copy(state, state_shared)
                T.gemm(weights, v, out, clear_accum=True)
                T.gemm(q, state_shared, out)
                T.gemm(k, v, state, transpose_A=True)
                T.copy(out, Out[step * chunk, 0])

    return linear_attention


def selective_scan(rows=50, width=48, bn=32):
    """h = a * h + b, row by row, as a Mamba layer does."""

    @T.prim_func
    def selective_scan(
        A: T.Tensor((rows, width), "float32"),
        B: T.Tensor((rows, width), "float32"),
        H: T.Tensor((rows, width), "float32"),
    ):
        with T.Kernel(T.ceildiv(width, bn), threads=32) as bx:
            a = T.alloc_fragment((bn,), "float32")
            b = T.alloc_fragment((bn,), "float32")
            h = T.alloc_fragment((bn,), "float32")
            T.clear(h)
            for row in T.serial(rows):
                T.copy(A[row, bx * bn], a)
                T.copy(B[row, bx * bn], b)
                for i in T.Parallel(bn):
                    h[i] = a[i] * h[i] + b[i]
                T.copy(h, H[row, bx * bn])

    return selective_scan


def histogram(n=1000, block=128, bins=16):
    @T.prim_func
    def histogram(X: T.Tensor((n,), "int32"), H: T.Tensor((bins,), "int32"), total: T.Tensor((1,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                if bx * block + i < n:
                    T.atomic_add(H[X[bx * block + i]], 1)
                    T.atomic_add(total[0], T.cast(X[bx * block + i], "float32"))

    return histogram
