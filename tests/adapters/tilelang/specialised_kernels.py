"""Products in pipelined loops, of the form that gets a warp that copies, and nearly of it."""

import tilelang.language as T


def product(m=100, n=96, k=80, dtype="bfloat16"):
    """A call says how many times 32 columns are multiplied."""

    @T.prim_func
    def product(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), count: T.int32, C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 32), dtype)
            b = T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(count, num_stages=3):
                T.copy(A[by * 64, step * 32], a)
                T.copy(B[step * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    return product


def changed(**what):
    """A product as above with one thing different."""
    told = {"dtype": "float16", "rows": 64, "threads": 128, "shift": 0}
    told |= dict.fromkeys(("read", "scaled", "places", "idle"), False) | what
    dtype, rows = told["dtype"], told["rows"]

    @T.prim_func
    def changed(
        A: T.Tensor((128, 64), dtype), B: T.Tensor((64, 64), dtype), P: T.Tensor((4,), "int32"),
        C: T.Tensor((128, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(128 // rows, threads=told["threads"]) as by:
            a = T.alloc_shared((rows, 32), dtype)
            b = T.alloc_shared((32, 64), dtype)
            idle = T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((rows, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(2, num_stages=2):
                T.copy(A[by * rows, step * 32 + told["shift"]], a)
                if told["idle"]:
                    T.copy(B[step * 32, 0], idle)
                if told["places"]:
                    T.copy(B[P[step], 0], b)
                else:
                    T.copy(B[step * 32, 0], b)
                if told["scaled"]:
                    for i, j in T.Parallel(rows, 32):
                        a[i, j] = a[i, j] * 2
                if told["read"]:
                    for i, j in T.Parallel(rows, 64):
                        c[i, j] += C[by * rows + i, j]
                T.gemm(a, b, c)
            T.copy(c, C[by * rows, 0])

    return changed
