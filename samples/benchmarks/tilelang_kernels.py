"""TileLang kernels: matrix products and attention, in the constructs that TileLang's own examples use."""

import tilelang.language as T


def gemm(M=512, N=512, K=512, tile=(128, 128, 32), threads=128, stages=3, dtype="float16", swizzle=0, relu=False):
    bM, bN, bK = tile

    @T.prim_func
    def gemm(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((bM, bK), dtype)
            B_shared = T.alloc_shared((bK, bN), dtype)
            C_local = T.alloc_fragment((bM, bN), "float32")
            if swizzle:
                T.use_swizzle(swizzle)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, bK), num_stages=stages):
                T.copy(A[by * bM, k * bK], A_shared)
                T.copy(B[k * bK, bx * bN], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            if relu:
                for i, j in T.Parallel(bM, bN):
                    C_local[i, j] = T.max(C_local[i, j], 0.0)
            T.copy(C_local, C[by * bM, bx * bN])

    return gemm


def dequantise_gemm(M=256, N=256, K=512, tile=(64, 128, 64), threads=128, stages=2):
    """``C = A @ B.T``, B's numbers -8 to 7 two in a byte, the even column in the low half."""
    bM, bN, bK = tile

    @T.prim_func
    def dequantise_gemm(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K // 2), "uint8"), C: T.Tensor((M, N), "float16")
    ):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((bM, bK), "float16")
            packed_shared = T.alloc_shared((bN, bK // 2), "uint8")
            packed = T.alloc_fragment((bN, bK // 2), "uint8")
            B_local = T.alloc_fragment((bN, bK), "float16")
            B_shared = T.alloc_shared((bN, bK), "float16")
            C_local = T.alloc_fragment((bM, bN), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, bK), num_stages=stages):
                T.copy(A[by * bM, k * bK], A_shared)
                T.copy(B[bx * bN, k * bK // 2], packed_shared)
                T.copy(packed_shared, packed)
                for i, j in T.Parallel(bN, bK):
                    B_local[i, j] = T.cast(
                        T.cast((packed[i, j // 2] >> T.cast((j % 2) * 4, "uint8")) & T.cast(15, "uint8"), "int32") - 8,
                        "float16",
                    )
                T.copy(B_local, B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * bM, bx * bN])

    return dequantise_gemm


def attention(batch=2, heads=4, length=512, dim=64, causal=False, tile=(64, 64), threads=128, stages=2):
    """Flash attention, forward; (batch, length, heads, dim)."""
    bM, bN = tile
    shape = (batch, length, heads, dim)
    scale = (1.0 / dim) ** 0.5 * 1.44269504

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"), V: T.Tensor(shape, "float16"),
        Out: T.Tensor(shape, "float16"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, bM), heads, batch, threads=threads) as (bx, by, bz):
            Q_shared = T.alloc_shared((bM, dim), "float16")
            K_shared = T.alloc_shared((bN, dim), "float16")
            V_shared = T.alloc_shared((bN, dim), "float16")
            scores = T.alloc_fragment((bM, bN), "float32")
            weights = T.alloc_fragment((bM, bN), "float16")
            out = T.alloc_fragment((bM, dim), "float32")
            top = T.alloc_fragment((bM,), "float32")
            before = T.alloc_fragment((bM,), "float32")
            rescale = T.alloc_fragment((bM,), "float32")
            row = T.alloc_fragment((bM,), "float32")
            total = T.alloc_fragment((bM,), "float32")
            T.copy(Q[bz, bx * bM : (bx + 1) * bM, by, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            steps = T.ceildiv((bx + 1) * bM, bN) if causal else T.ceildiv(length, bN)
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(K[bz, k * bN : (k + 1) * bN, by, :], K_shared)
                if causal:
                    for i, j in T.Parallel(bM, bN):
                        scores[i, j] = T.if_then_else(bx * bM + i >= k * bN + j, 0, -T.infinity("float32"))
                else:
                    T.clear(scores)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, before)
                T.fill(top, -T.infinity("float32"))
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(bM):
                    top[i] = T.max(top[i], before[i])
                for i in T.Parallel(bM):
                    rescale[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(bM, bN):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, row, dim=1)
                for i in T.Parallel(bM):
                    total[i] = total[i] * rescale[i] + row[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(bM, dim):
                    out[i, j] *= rescale[i]
                T.copy(V[bz, k * bN : (k + 1) * bN, by, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bM, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bz, bx * bM : (bx + 1) * bM, by, :])

    return attention


def mla_decode(batch=2, heads=64, length=256, dim=128, extra=32, kv_heads=1, tile=(64, 64), threads=256, stages=2):
    """One query of each head against latent keys that are the values too; ``extra`` dims carry the positions."""
    bM, bN = tile
    group = heads // kv_heads
    bM = min(bM, group)
    scale = (1.0 / (dim + extra)) ** 0.5 * 1.44269504

    @T.prim_func
    def mla_decode(
        Q: T.Tensor((batch, heads, dim), "float16"), Q_pe: T.Tensor((batch, heads, extra), "float16"),
        KV: T.Tensor((batch, length, kv_heads, dim), "float16"),
        K_pe: T.Tensor((batch, length, kv_heads, extra), "float16"),
        Out: T.Tensor((batch, heads, dim), "float16"),
    ):  # fmt: skip
        with T.Kernel(heads // bM, batch, threads=threads) as (bx, by):
            Q_shared = T.alloc_shared((bM, dim), "float16")
            Q_pe_shared = T.alloc_shared((bM, extra), "float16")
            KV_shared = T.alloc_shared((bN, dim), "float16")
            K_pe_shared = T.alloc_shared((bN, extra), "float16")
            weights = T.alloc_shared((bM, bN), "float16")
            scores = T.alloc_fragment((bM, bN), "float32")
            out = T.alloc_fragment((bM, dim), "float32")
            top = T.alloc_fragment((bM,), "float32")
            before = T.alloc_fragment((bM,), "float32")
            rescale = T.alloc_fragment((bM,), "float32")
            row = T.alloc_fragment((bM,), "float32")
            total = T.alloc_fragment((bM,), "float32")
            head = bx * bM // group
            T.use_swizzle(10)
            T.copy(Q[by, bx * bM : (bx + 1) * bM, :], Q_shared)
            T.copy(Q_pe[by, bx * bM : (bx + 1) * bM, :], Q_pe_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for k in T.Pipelined(T.ceildiv(length, bN), num_stages=stages):
                T.copy(KV[by, k * bN : (k + 1) * bN, head, :], KV_shared)
                T.copy(K_pe[by, k * bN : (k + 1) * bN, head, :], K_pe_shared)
                T.clear(scores)
                T.gemm(Q_shared, KV_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
                T.gemm(Q_pe_shared, K_pe_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
                if length % bN:
                    for i, j in T.Parallel(bM, bN):
                        scores[i, j] = T.if_then_else(k * bN + j < length, scores[i, j], -T.infinity("float32"))
                T.copy(top, before)
                T.fill(top, -T.infinity("float32"))
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(bM):
                    top[i] = T.max(top[i], before[i])
                for i in T.Parallel(bM):
                    rescale[i] = T.exp2(before[i] * scale - top[i] * scale)
                for i, j in T.Parallel(bM, bN):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, row, dim=1)
                T.copy(scores, weights)
                for i in T.Parallel(bM):
                    total[i] = total[i] * rescale[i] + row[i]
                for i, j in T.Parallel(bM, dim):
                    out[i, j] *= rescale[i]
                T.gemm(weights, KV_shared, out, policy=T.GemmWarpPolicy.FullCol)
            for i, j in T.Parallel(bM, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[by, bx * bM : (bx + 1) * bM, :])

    return mla_decode
