"""A script as users have it; the tests port a copy of it."""

import functools

import tilelang
import tilelang.language as T
import torch


def matmul(M=96, N=80, K=64, block_M=32, block_N=32, block_K=32, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, block_N), dtype)
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], a)
                T.copy(B[k * block_K, bx * block_N], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block_M, bx * block_N])

    return main


n = T.dynamic("n")


@T.prim_func
def axpy(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), grid: T.float32):
    with T.Kernel(T.ceildiv(n, 128), threads=64) as bx:
        for i in T.Parallel(128):
            Y[bx * 128 + i] = X[bx * 128 + i] * grid + Y[bx * 128 + i]


@T.prim_func
def by_hardware(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((64, 64), "float16")
        ready = T.alloc_barrier(1)
        T.tma_copy(A, a, barrier=ready[0])
        if T.get_thread_binding() == 0:
            T.mbarrier_arrive(ready[0])
        T.mbarrier_wait_parity(ready[0], 0)
        T.copy(a, B)


@T.prim_func
def by_functions(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64) as _:
        for i in T.Parallel(64):
            B[i] = T.call_extern("float32", "tanf", A[i])  # not traced
        for _ in T.serial(4):
            for i in T.Parallel(64):
                B[i] = T.warp_reduce_sum(B[i])  # not traced


@functools.cache
def sized(rows, columns, shift=1):
    @T.prim_func
    def sized(A: T.Tensor((rows, columns), "int32"), B: T.Tensor((rows, columns), "int32")):
        with T.Kernel(rows, threads=64) as bx:
            for i in T.Parallel(columns):
                B[bx, i] = A[bx, i] + shift

    return sized


def open_size(rows):
    @T.prim_func
    def never(A: T.Tensor((rows,), "float32")):
        with T.Kernel(1, threads=64) as _:
            A[0] = 1.0

    return never


@tilelang.jit(out_idx=[-1])
def lazy(rows, columns=48):
    @T.prim_func
    def doubled(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=64) as bx:
            for i in T.Parallel(columns):
                B[bx, i] = A[bx, i] * 2.0

    return doubled


@tilelang.jit
def eager(A, B, block: int = 64):
    size = T.const("size")
    A: T.Tensor[[size], "float32"]
    B: T.Tensor[[size], "float32"]
    with T.Kernel(T.ceildiv(size, block), threads=64) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] + 1.0


doubling = lazy(24)
x = torch.randn(24, 48, device="cuda")
y = doubling(x)  # it runs
torch.testing.assert_close(y, 2 * x)  # nothing to compare with


def main():
    kernel = tilelang.compile(matmul())
    kernel(torch.randn(1, device="cuda"))


if __name__ == "__main__":
    main()
