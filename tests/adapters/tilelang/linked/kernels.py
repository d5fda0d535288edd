"""TileLang kernels for the tests, in the constructs that its own examples use."""

import tilelang.language as T

from samples.benchmarks.tilelang_kernels import attention, dequantise_gemm, gemm

__all__ = ["attention", "axpy", "convolution", "dequantise_gemm", "gemm", "histogram", "softmax", "transpose"]


def softmax(M=512, N=1024, rows=4, threads=128):
    @T.prim_func
    def softmax(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, rows), threads=threads) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            top = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            T.reduce_max(x, top, dim=1, clear=True)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1, clear=True)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * rows, 0])

    return softmax


def axpy(block=1024, threads=128):
    n = T.dynamic("n")

    @T.prim_func
    def axpy(X: T.Tensor((n,), "float32"), alpha: T.float32, Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = Y[bx * block + i] + alpha * X[bx * block + i]

    return axpy


def histogram(N=4096, block=256, threads=128):
    @T.prim_func
    def histogram(X: T.Tensor((N,), "int32"), H: T.Tensor((256,), "int32"), S: T.Tensor((1,), "float32")):
        with T.Kernel(T.ceildiv(N, block), threads=threads) as bx:
            for i in T.Parallel(block):
                T.atomic_add(H[X[bx * block + i]], 1)
                T.atomic_add(S[0], T.cast(X[bx * block + i], "float32"))

    return histogram


def transpose(M=256, N=512, block=(32, 8)):
    """A block of two dims, whose threads' places are read by name."""
    bx_threads, by_threads = block

    @T.prim_func
    def transpose(X: T.Tensor((M, N), "float32"), Y: T.Tensor((N, M), "float32")):
        with T.Kernel(N // bx_threads, M // by_threads, threads=block) as (bx, by):
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            Y[bx * bx_threads + tx, by * by_threads + ty] = X[by * by_threads + ty, bx * bx_threads + tx]

    return transpose


def convolution(N=2, C=64, H=16, W=16, F=64, K=3, tile=(64, 64, 32), threads=128, stages=2):
    """Stride one, padding one, channels last."""
    bM, bN, bK = tile
    rows, depth = N * H * W, K * K * C

    @T.prim_func
    def convolution(
        X: T.Tensor((N, H, W, C), "float16"),
        Kernel: T.Tensor((K, K, C, F), "float16"),
        Y: T.Tensor((N, H, W, F), "float16"),
    ):
        with T.Kernel(T.ceildiv(F, bN), T.ceildiv(rows, bM), threads=threads) as (bx, by):
            x = T.alloc_shared((bM, bK), "float16")
            weights = T.alloc_shared((bK, bN), "float16")
            y = T.alloc_fragment((bM, bN), "float32")
            flat_weights = T.Tensor((depth, F), "float16", Kernel.data)
            flat_y = T.Tensor((rows, F), "float16", Y.data)
            T.clear(y)
            for k in T.Pipelined(T.ceildiv(depth, bK), num_stages=stages):
                T.im2col(X, x, by, k, K, 1, 1, 1)
                T.copy(flat_weights[k * bK, bx * bN], weights)
                T.gemm(x, weights, y)
            T.copy(y, flat_y[by * bM, bx * bN])

    return convolution


def tile_product(rows=1024, stages=2):
    """A pipeline that copies a piece which does not move, by a copy and by a loop."""

    @T.prim_func
    def tile_product(
        X: T.Tensor((rows, 64), "float16"), W: T.Tensor((64, 64), "float16"), Y: T.Tensor((rows, 64), "float16")
    ):
        with T.Kernel(rows // 64, threads=128) as bx:
            x = T.alloc_shared((64, 64), "float16")
            w = T.alloc_shared((64, 64), "float16")
            y = T.alloc_fragment((64, 64), "float32")
            T.clear(y)
            for _ in T.Pipelined(4, num_stages=stages):
                T.copy(X[bx * 64, 0], x)
                for i, j in T.Parallel(64, 64):
                    w[i, j] = W[i, j]
                T.gemm(x, w, y)
            T.copy(y, Y[bx * 64, 0])

    return tile_product


def scale_columns(rows=256, width=48, block=8):
    """Rows whose length is no power of two."""

    @T.prim_func
    def scale_columns(
        X: T.Tensor((rows, width), "float16"), W: T.Tensor((width,), "float32"), Y: T.Tensor((rows, width), "float16")
    ):
        with T.Kernel(rows // block, threads=128) as bx:
            x = T.alloc_fragment((block, width), "float32")
            T.copy(X[bx * block, 0], x)
            for i, j in T.Parallel(block, width):
                Y[bx * block + i, j] = x[i, j] * W[j]

    return scale_columns


def accumulate():
    @T.prim_func
    def accumulate(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 4, threads=128) as (bx, by):
            for i, j in T.Parallel(16, 32):
                Y[by * 16 + i, bx * 32 + j] += X[by * 16 + i, bx * 32 + j]

    return accumulate


def guarded_copy():
    """Writes only what lies below ``n``, which no buffer but the tiles tells."""
    n = T.dynamic("n")

    @T.prim_func
    def guarded_copy(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            for i in T.Parallel(128):
                if bx * 128 + i < n:
                    Y[bx * 128 + i] = X[bx * 128 + i] * 3.0

    return guarded_copy


def heads():
    """One head of one batch: two dims of four are walked."""
    m = T.dynamic("m")

    @T.prim_func
    def heads(Q: T.Tensor((2, m, 4, 64), "float16"), O: T.Tensor((2, m, 4, 64), "float16")):  # noqa: E741
        with T.Kernel(T.ceildiv(m, 64), 4, 2, threads=128) as (bx, by, bz):
            q = T.alloc_shared((64, 64), "float16")
            T.copy(Q[bz, bx * 64 : (bx + 1) * 64, by, :], q)
            T.copy(q, O[bz, bx * 64 : (bx + 1) * 64, by, :])

    return heads


def foreign_call():
    """Calls CUDA's own function, which block tensors cannot."""

    @T.prim_func
    def foreign_call(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = T.call_extern("float32", "erff", A[bx * 128 + i]) * 2.0

    return foreign_call
