"""TileLang constructs that only its own lowering knows, or that depend on the architecture; each as a small kernel."""

import tilelang.language as T

HELPERS = """
namespace user {
template <class T> __device__ T thrice(T x) { return x + x + x; }
struct pair { float low, high; };
__device__ inline void swap(float* p) { pair q = {p[0], p[1]}; p[0] = q.high; p[1] = q.low; }
}
"""


def imported(n=1000):
    """The user's own CUDA text: a template on values, a function on the address of a local array."""

    @T.prim_func
    def imported(A: T.Tensor((n, 2), "float32"), B: T.Tensor((n, 2), "float32")):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            T.import_source(HELPERS)
            tx = T.get_thread_binding()
            both = T.alloc_local((2,), "float32")
            if bx * 128 + tx < n:
                both[0] = A[bx * 128 + tx, 0]
                both[1] = A[bx * 128 + tx, 1]
                T.call_extern("handle", "user::swap", T.address_of(both[0]))
                B[bx * 128 + tx, 0] = T.call_extern("float32", "user::thrice", both[0])
                B[bx * 128 + tx, 1] = both[1]

    return imported


def synchronised(blocks=8):
    """Reverses 64 numbers by the first two warps alone, then tells how many of the block's are positive."""

    @T.prim_func
    def synchronised(A: T.Tensor((blocks, 128), "float32"), B: T.Tensor((blocks, 128), "float32")):
        with T.Kernel(blocks, threads=128) as bx:
            tx = T.get_thread_binding()
            a = T.alloc_shared((128,), "float32")
            a[tx] = A[bx, tx]
            T.sync_threads()
            if tx < 64:
                B[bx, tx] = a[63 - tx]
                T.sync_threads(2, 64)
                a[tx] = B[bx, 63 - tx]
            T.sync_threads()
            if tx >= 64:
                T.sync_warp()
                B[bx, tx] = T.cast(T.syncthreads_count(a[tx - 64] > 0.0), "float32")
            else:
                T.evaluate(T.syncthreads_count(a[tx] > 0.0))

    return synchronised


def dynamic_gemm(N=128, K=96, tile=(64, 64, 32), dtype="bfloat16", panels=0):
    """Rows as many as the call says: the last block is cut. ``panels``: blocks walk through so many rows of blocks."""
    bM, bN, bK = tile
    m = T.dynamic("m")

    @T.prim_func
    def dynamic_gemm(A: T.Tensor((m, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((m, N), "float32")):
        with T.Kernel(T.ceildiv(N, bN), T.ceildiv(m, bM), threads=128) as (bx, by):
            if panels:
                T.use_swizzle(panels)
            a = T.alloc_shared((bM, bK), dtype)
            b = T.alloc_shared((bK, bN), dtype)
            c = T.alloc_fragment((bM, bN), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, bK), num_stages=2):
                T.copy(A[by * bM, k * bK], a)
                T.copy(B[k * bK, bx * bN], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * bM, bx * bN])

    return dynamic_gemm


def tiny_product(size=32):
    """Of float32 by tensor cores, which read the operands' registers as integers."""

    @T.prim_func
    def tiny_product(
        A: T.Tensor((size, size), "float32"), B: T.Tensor((size, size), "float32"), C: T.Tensor((size, size), "float32")
    ):
        with T.Kernel(1, threads=128) as _:
            a, b = T.alloc_shared((size, size), "float32"), T.alloc_shared((size, size), "float32")
            c = T.alloc_fragment((size, size), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    return tiny_product


def named_products(K=128):
    """Products that ask for wgmma by name, and are waited for by hand."""

    @T.prim_func
    def named_products(
        A: T.Tensor((64, K), "float16"), B: T.Tensor((96, K), "float16"), C: T.Tensor((64, 96), "float32")
    ):
        with T.Kernel(1, threads=128) as _:
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((96, 64), "float16")
            c = T.alloc_fragment((64, 96), "float32")
            T.clear(c)
            for k in T.serial(K // 64):
                T.copy(A[0, k * 64], a)
                T.copy(B[0, k * 64], b)
                T.wgmma_gemm(a, b, c, transpose_B=True)
                T.wait_wgmma(0)
            T.copy(c, C)

    return named_products


def quantised(n=1024, dtype="float8_e4m3"):
    """Numbers of eight bits in and out; from sm_89 on the hardware converts them."""

    @T.prim_func
    def quantised(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), "float32")):
        with T.Kernel(n // 512, threads=128) as bx:
            for i in T.Parallel(512):
                C[bx * 512 + i] = T.cast(A[bx * 512 + i], "float32") * 2.0
                B[bx * 512 + i] = T.cast(C[bx * 512 + i], dtype)

    return quantised


def small_gemm(dtype="float8_e4m3", M=128, N=128, K=128):
    """Of eight bits: sm_90 has such a product, sm_80 of integers only."""
    out = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def small_gemm(A: T.Tensor((M, K), dtype), B: T.Tensor((N, K), dtype), C: T.Tensor((M, N), out)):
        with T.Kernel(N // 64, M // 64, threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), dtype)
            b = T.alloc_shared((64, 64), dtype)
            c = T.alloc_fragment((64, 64), out)
            T.use_swizzle(2)
            T.clear(c)
            for k in T.Pipelined(K // 64, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[bx * 64, k * 64], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 64, bx * 64])

    return small_gemm
