"""TileLang kernels whose loads go through the bulk copy engine."""

import tilelang.language as T


def dynamic_gemm(tile=(128, 128, 64), threads=128, stages=3):
    bM, bN, bK = tile
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")

    @T.prim_func
    def dynamic_gemm(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bN), T.ceildiv(m, bM), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((bM, bK), "float16")
            B_shared = T.alloc_shared((bN, bK), "float16")
            C_local = T.alloc_fragment((bM, bN), "float32")
            T.clear(C_local)
            for step in T.Pipelined(T.ceildiv(k, bK), num_stages=stages):
                T.copy(A[by * bM, step * bK], A_shared)
                T.copy(B[bx * bN, step * bK], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * bM, bx * bN])

    return dynamic_gemm


def explicit_tma(M=256, N=256, tile=(64, 64), threads=128):
    """A tile through shared memory by the bulk copy engine, with a barrier of the user's own."""
    bM, bN = tile

    @T.prim_func
    def explicit_tma(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((bM, bN), "float16")
            arrived = T.alloc_barrier(1)
            T.tma_copy(A[by * bM, bx * bN], A_shared, barrier=arrived)
            if T.get_thread_binding() == 0:
                T.mbarrier_arrive(arrived)
            T.mbarrier_wait_parity(arrived, 0)
            for i, j in T.Parallel(bM, bN):
                B[by * bM + i, bx * bN + j] = A_shared[i, j] * 2

    return explicit_tma


def named_tma(N=64):
    @T.prim_func
    def named_tma(tma: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N):
                tma[i] = 0.0

    return named_tma


def product_of_tma_copies(M=100, N=136, K=72, tile=(64, 64, 32), dtype="float16"):
    """Operands come by the bulk copy engine, which mixes their rows as the product reads them."""
    bM, bN, bK = tile

    @T.prim_func
    def product(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(M, bM), threads=128) as (bx, by):
            a = T.alloc_shared((bM, bK), dtype)
            b = T.alloc_shared((bK, bN), dtype)
            c = T.alloc_fragment((bM, bN), "float32")
            arrived = T.alloc_barrier(1)
            T.clear(c)
            for k in T.serial(T.ceildiv(K, bK)):
                T.tma_copy(A[by * bM : by * bM + bM, k * bK : k * bK + bK], a, barrier=arrived)
                T.tma_copy(B[k * bK : k * bK + bK, bx * bN : bx * bN + bN], b, barrier=arrived)
                if T.get_thread_binding() == 0:
                    T.mbarrier_arrive(arrived)
                T.mbarrier_wait_parity(arrived, k % 2)
                T.gemm(a, b, c)
                T.sync_threads()
            T.copy(c, C[by * bM, bx * bN])

    return product
