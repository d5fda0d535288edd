"""Element-wise kernels: sums, chains of functions, masks, integers, transposition, rows and columns repeated."""

import numpy as np
import tilelang.language as T

from tests.targets.tenstorrent.case import Case


def add(m, n, dtype, bm=32, bn=64):
    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            for i, j in T.Parallel(bm, bn):
                C[by * bm + i, bx * bn + j] = A[by * bm + i, bx * bn + j] + B[by * bm + i, bx * bn + j]

    return Case("add", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype), "B": ((m, n), dtype)}, lambda A, B: A + B)


def chain(m, n, dtype, bm=64, bn=64):
    """Several functions one after the other, on shared memory and fragments."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bn), dtype)
            b = T.alloc_fragment((bm, bn), dtype)
            c = T.alloc_fragment((bm, bn), "float32")
            T.copy(A[by * bm, bx * bn], a)
            T.copy(B[by * bm, bx * bn], b)
            for i, j in T.Parallel(bm, bn):
                c[i, j] = T.exp(a[i, j]) * 0.5 + T.sqrt(T.abs(b[i, j]))
            for i, j in T.Parallel(bm, bn):
                c[i, j] = T.max(c[i, j] - b[i, j], 0.25) / (1.0 + T.abs(a[i, j]))
            T.copy(c, C[by * bm, bx * bn])

    def reference(A, B):
        c = np.exp(A) * 0.5 + np.sqrt(np.abs(B))
        return np.maximum(c - B, 0.25) / (1 + np.abs(A))

    return Case("elementwise chain", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype), "B": ((m, n), dtype)}, reference)


def integers(m, n, bm=32, bn=32):
    @T.prim_func
    def main(A: T.Tensor((m, n), "int32"), B: T.Tensor((m, n), "int32"), C: T.Tensor((m, n), "int32")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_fragment((bm, bn), "int32")
            b = T.alloc_fragment((bm, bn), "int32")
            T.copy(A[by * bm, bx * bn], a)
            T.copy(B[by * bm, bx * bn], b)
            for i, j in T.Parallel(bm, bn):
                b[i, j] = T.max(a[i, j] * b[i, j] + 7, a[i, j] - b[i, j])
            T.copy(b, C[by * bm, bx * bn])

    reference = lambda A, B: np.maximum(A * B + 7, A - B)  # noqa: E731
    inputs = {"A": ((m, n), "int32"), "B": ((m, n), "int32")}
    return Case("integers", f"{m}x{n}", "int32", main, inputs, reference, low=-1000)


def axpy(m, n, dtype, bm=32, bn=64):
    """With a scalar parameter."""

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype), alpha: T.float32, Z: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            x = T.alloc_fragment((bm, bn), dtype)
            y = T.alloc_fragment((bm, bn), dtype)
            T.copy(X[by * bm, bx * bn], x)
            T.copy(Y[by * bm, bx * bn], y)
            for i, j in T.Parallel(bm, bn):
                y[i, j] = x[i, j] * alpha + y[i, j]
            T.copy(y, Z[by * bm, bx * bn])

    inputs = {"X": ((m, n), dtype), "Y": ((m, n), dtype), "alpha": ((), "float32")}
    return Case("axpy", f"{m}x{n}", dtype, main, inputs, lambda X, Y, alpha: alpha * X + Y)


def two_outputs(m, n, dtype, bm=32, bn=64):
    @T.prim_func
    def main(
        A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype), P: T.Tensor((m, n), dtype), Q: T.Tensor((m, n), dtype)
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_fragment((bm, bn), dtype)
            b = T.alloc_fragment((bm, bn), dtype)
            s = T.alloc_fragment((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], a)
            T.copy(B[by * bm, bx * bn], b)
            for i, j in T.Parallel(bm, bn):
                s[i, j] = a[i, j] + b[i, j]
            T.copy(s, P[by * bm, bx * bn])
            for i, j in T.Parallel(bm, bn):
                s[i, j] = s[i, j] * T.sigmoid(a[i, j])
            T.copy(s, Q[by * bm, bx * bn])

    inputs = {"A": ((m, n), dtype), "B": ((m, n), dtype)}
    reference = lambda A, B: {"P": A + B, "Q": (A + B) / (1 + np.exp(-A))}  # noqa: E731
    return Case("two outputs", f"{m}x{n}", dtype, main, inputs, reference)


def masked(m, n, dtype, bm=64, bn=64):
    """A lower triangle: elements by their place."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_fragment((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], a)
            for i, j in T.Parallel(bm, bn):
                a[i, j] = T.if_then_else(by * bm + i >= bx * bn + j, a[i, j] * 2.0, -1.0)
            T.copy(a, B[by * bm, bx * bn])

    reference = lambda A: np.where(np.tri(m, n, dtype=bool), A * 2, -1)  # noqa: E731
    return Case("lower triangle", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype)}, reference)


def transpose(m, n, dtype, bm=64, bn=32):
    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((n, m), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bn), dtype)
            b = T.alloc_fragment((bn, bm), dtype)
            T.copy(A[by * bm, bx * bn], a)
            for i, j in T.Parallel(bn, bm):
                b[i, j] = a[j, i]
            T.copy(b, B[bx * bn, by * bm])

    return Case("transpose", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype)}, lambda A: A.T)


def outer(m, n, dtype, bm=32, bn=64):
    """A column and a row, repeated."""

    @T.prim_func
    def main(U: T.Tensor((m,), dtype), V: T.Tensor((n,), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            u = T.alloc_fragment((bm,), dtype)
            v = T.alloc_fragment((bn,), dtype)
            c = T.alloc_fragment((bm, bn), dtype)
            T.copy(U[by * bm], u)
            T.copy(V[bx * bn], v)
            for i, j in T.Parallel(bm, bn):
                c[i, j] = u[i] * v[j] + u[i]
            T.copy(c, C[by * bm, bx * bn])

    inputs = {"U": ((m,), dtype), "V": ((n,), dtype)}
    return Case("outer product", f"{m}x{n}", dtype, main, inputs, lambda U, V: U[:, None] * V + U[:, None])
