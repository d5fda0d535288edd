"""Products of matrices: turned, in batches, with what follows them."""

import math

import numpy as np
import tilelang.language as T

from tests.targets.tenstorrent.case import Case


def gemm(m, n, k, dtype, bm=64, bn=64, bk=32, turn_a=False, turn_b=False, out=None, options=None, name="gemm"):
    out = out or dtype
    a_shape, b_shape = ((k, m) if turn_a else (m, k)), ((n, k) if turn_b else (k, n))

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bk, bm) if turn_a else (bm, bk), dtype)
            b = T.alloc_shared((bn, bk) if turn_b else (bk, bn), dtype)
            c = T.alloc_fragment((bm, bn), "float32")
            T.use_swizzle(4)
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
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

    def reference(A, B):
        return (A.T if turn_a else A) @ (B.T if turn_b else B)

    inputs = {"A": (a_shape, dtype), "B": (b_shape, dtype)}
    return Case(name, f"{m}x{n}x{k}", dtype, main, inputs, reference, options=options)


def gemm_epilogue(m, n, k, dtype, kind, bm=64, bn=64, bk=64):
    """``bias``, ``relu``, ``gelu``, ``scale`` or ``residual`` behind a product."""
    vector = (n,)

    @T.prim_func
    def main(
        A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), bias: T.Tensor(vector, dtype),
        R: T.Tensor((m, n), dtype), C: T.Tensor((m, n), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bk), dtype)
            b = T.alloc_shared((bk, bn), dtype)
            v = T.alloc_fragment((bn,), dtype)
            r = T.alloc_shared((bm, bn), dtype)
            c = T.alloc_fragment((bm, bn), "float32")
            c_shared = T.alloc_shared((bm, bn), dtype)
            T.copy(bias[bx * bn], v)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[by * bm, i * bk], a)
                T.copy(B[i * bk, bx * bn], b)
                T.gemm(a, b, c, clear_accum=i == 0)
            T.copy(R[by * bm, bx * bn], r)
            for i, j in T.Parallel(bm, bn):
                c[i, j] += v[j]
            for i, j in T.Parallel(bm, bn):
                if kind == "relu":
                    c[i, j] = T.max(c[i, j], 0)
                elif kind == "gelu":
                    c[i, j] = c[i, j] * 0.5 * (1.0 + T.erf(c[i, j] * 0.70710678))
                else:
                    c[i, j] = c[i, j] * 0.125 + r[i, j]
            T.copy(c, c_shared)
            T.copy(c_shared, C[by * bm, bx * bn])

    def reference(A, B, bias, R):
        c = A @ B + bias
        if kind == "relu":
            return np.maximum(c, 0)
        if kind == "gelu":
            return c * 0.5 * (1 + np.vectorize(math.erf)(c * 0.70710678))
        return c * 0.125 + R

    inputs = {"A": ((m, k), dtype), "B": ((k, n), dtype), "bias": (vector, dtype), "R": ((m, n), dtype)}
    return Case(f"gemm, bias, {kind}", f"{m}x{n}x{k}", dtype, main, inputs, reference)


def batched_gemm(batch, m, n, k, dtype, bm=32, bn=64, bk=32):
    @T.prim_func
    def main(
        A: T.Tensor((batch, m, k), dtype), B: T.Tensor((batch, k, n), dtype), C: T.Tensor((batch, m, n), "float32")
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), batch, threads=128) as (bx, by, bz):
            a = T.alloc_shared((bm, bk), dtype)
            b = T.alloc_shared((bk, bn), dtype)
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[bz, by * bm : (by + 1) * bm, i * bk : (i + 1) * bk], a)
                T.copy(B[bz, i * bk : (i + 1) * bk, bx * bn : (bx + 1) * bn], b)
                T.gemm(a, b, c)
            T.copy(c, C[bz, by * bm : (by + 1) * bm, bx * bn : (bx + 1) * bn])

    inputs = {"A": ((batch, m, k), dtype), "B": ((batch, k, n), dtype)}
    return Case("batched gemm", f"{batch}x{m}x{n}x{k}", dtype, main, inputs, lambda A, B: A @ B)
