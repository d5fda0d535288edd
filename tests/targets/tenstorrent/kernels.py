"""Twenty TileLang kernels in TileLang's usual forms, each with what NumPy makes of the same arrays in float64."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tilelang.language as T


@dataclass(frozen=True)
class Case:
    """A kernel of some size: its PrimFunc, shapes and dtypes of its inputs, and the reference."""

    name: str
    size: str
    dtype: str
    prim_func: Any
    inputs: dict[str, tuple[tuple[int, ...], str]]
    reference: Callable[..., Any]
    low: float = -1.0
    options: Any = None

    def __str__(self) -> str:
        return f"{self.name}-{self.size}-{self.dtype}"


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


def reduction(m, n, dtype, kind, axis, bm=32):
    """Over rows or columns; all of the reduced dim is in a block."""
    kept, block = (m, (bm, n)) if axis == 1 else (n, (m, bm))

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((kept,), "float32")):
        with T.Kernel(T.ceildiv(kept, bm), threads=128) as bx:
            a = T.alloc_shared(block, dtype)
            f = T.alloc_fragment(block, "float32")
            r = T.alloc_fragment((bm,), "float32")
            if axis == 1:
                T.copy(A[bx * bm, 0], a)
            else:
                T.copy(A[0, bx * bm], a)
            T.copy(a, f)
            for i, j in T.Parallel(block[0], block[1]):
                f[i, j] = f[i, j] * 2.0 - 3.0
            if kind == "sum":
                T.reduce_sum(f, r, dim=axis)
            elif kind == "max":
                T.reduce_max(f, r, dim=axis)
            elif kind == "min":
                T.reduce_min(f, r, dim=axis)
            else:
                T.reduce_absmax(f, r, dim=axis)
            T.copy(r, B[bx * bm])

    word = {"sum": np.sum, "max": np.max, "min": np.min, "absmax": lambda a, axis: np.max(np.abs(a), axis)}[kind]
    where = "rows" if axis == 1 else "columns"
    reference = lambda A: word(A * 2 - 3, axis=axis)  # noqa: E731
    return Case(f"{kind} of {where}", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype)}, reference)


def sum_in_steps(m, n, dtype, bm=32, bn=64):
    """A reduction over blocks in a loop, which keeps its result."""

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            a = T.alloc_shared((bm, bn), dtype)
            r = T.alloc_fragment((bm,), "float32")
            T.clear(r)
            for k in T.Pipelined(T.ceildiv(n, bn), num_stages=2):
                T.copy(A[bx * bm, k * bn], a)
                T.reduce_sum(a, r, dim=1, clear=False)
            T.copy(r, B[bx * bm])

    return Case("sum in steps", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype)}, lambda A: A.sum(1))


def softmax(m, n, dtype, bm=32):
    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            a = T.alloc_shared((bm, n), dtype)
            f = T.alloc_fragment((bm, n), "float32")
            largest = T.alloc_fragment((bm,), "float32")
            total = T.alloc_fragment((bm,), "float32")
            T.copy(A[bx * bm : (bx + 1) * bm, 0:n], a)
            T.copy(a, f)
            T.reduce_max(f, largest, dim=1, clear=True)
            for i, j in T.Parallel(bm, n):
                f[i, j] = T.exp(f[i, j] - largest[i])
            T.reduce_sum(f, total, dim=1)
            for i, j in T.Parallel(bm, n):
                f[i, j] = f[i, j] / total[i]
            T.copy(f, B[bx * bm : (bx + 1) * bm, 0:n])

    def reference(A):
        e = np.exp(A - A.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return Case("softmax", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype)}, reference, low=-4.0)


def rms_norm(m, n, dtype, bm=32):
    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), W: T.Tensor((n,), dtype), B: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            a = T.alloc_shared((bm, n), dtype)
            w = T.alloc_shared((n,), dtype)
            f = T.alloc_fragment((bm, n), "float32")
            s = T.alloc_fragment((bm, n), "float32")
            p = T.alloc_fragment((bm,), "float32")
            T.copy(A[bx * bm : (bx + 1) * bm, :], a)
            T.copy(W, w)
            T.copy(a, f)
            for i, j in T.Parallel(bm, n):
                s[i, j] = f[i, j] * f[i, j]
            T.reduce_sum(s, p, dim=1)
            for i in T.Parallel(bm):
                p[i] = T.rsqrt(p[i] / n + 1e-5)
            for i, j in T.Parallel(bm, n):
                f[i, j] *= p[i]
            for i, j in T.Parallel(bm, n):
                f[i, j] *= w[j]
            T.copy(f, B[bx * bm : (bx + 1) * bm, :])

    reference = lambda A, W: A / np.sqrt((A * A).mean(1, keepdims=True) + 1e-5) * W  # noqa: E731
    return Case("rms norm", f"{m}x{n}", dtype, main, {"A": ((m, n), dtype), "W": ((n,), dtype)}, reference)


def layer_norm(m, n, dtype, bm=32):
    @T.prim_func
    def main(
        A: T.Tensor((m, n), dtype), W: T.Tensor((n,), dtype), V: T.Tensor((n,), dtype), B: T.Tensor((m, n), dtype)
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            f = T.alloc_fragment((bm, n), "float32")
            d = T.alloc_fragment((bm, n), "float32")
            w = T.alloc_fragment((n,), dtype)
            v = T.alloc_fragment((n,), dtype)
            mean = T.alloc_fragment((bm,), "float32")
            var = T.alloc_fragment((bm,), "float32")
            T.copy(A[bx * bm, 0], f)
            T.copy(W, w)
            T.copy(V, v)
            T.reduce_sum(f, mean, dim=1)
            for i, j in T.Parallel(bm, n):
                f[i, j] = f[i, j] - mean[i] / n
            for i, j in T.Parallel(bm, n):
                d[i, j] = f[i, j] * f[i, j]
            T.reduce_sum(d, var, dim=1)
            for i, j in T.Parallel(bm, n):
                f[i, j] = f[i, j] * T.rsqrt(var[i] / n + 1e-5) * w[j] + v[j]
            T.copy(f, B[bx * bm, 0])

    def reference(A, W, V):
        c = A - A.mean(1, keepdims=True)
        return c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5) * W + V

    inputs = {"A": ((m, n), dtype), "W": ((n,), dtype), "V": ((n,), dtype)}
    return Case("layer norm", f"{m}x{n}", dtype, main, inputs, reference)


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


def attention(batch, heads, length, dim, dtype, causal, bm=64, bn=64):
    scale = (1.0 / dim) ** 0.5 * 1.44269504
    shape = (batch, length, heads, dim)

    @T.prim_func
    def main(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), Out: T.Tensor(shape, dtype)
    ):
        with T.Kernel(T.ceildiv(length, bm), heads, batch, threads=128) as (bx, by, bz):
            q = T.alloc_shared((bm, dim), dtype)
            key = T.alloc_shared((bn, dim), dtype)
            value = T.alloc_shared((bn, dim), dtype)
            scores = T.alloc_fragment((bm, bn), "float32")
            weights = T.alloc_fragment((bm, bn), dtype)
            out = T.alloc_fragment((bm, dim), "float32")
            largest = T.alloc_fragment((bm,), "float32")
            before = T.alloc_fragment((bm,), "float32")
            factor = T.alloc_fragment((bm,), "float32")
            part = T.alloc_fragment((bm,), "float32")
            total = T.alloc_fragment((bm,), "float32")
            T.copy(Q[bz, bx * bm : (bx + 1) * bm, by, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            steps = T.min(T.ceildiv(length, bn), T.ceildiv((bx + 1) * bm, bn)) if causal else T.ceildiv(length, bn)
            for k in T.Pipelined(steps, num_stages=2):
                T.copy(K[bz, k * bn : (k + 1) * bn, by, :], key)
                if causal:
                    for i, j in T.Parallel(bm, bn):
                        scores[i, j] = T.if_then_else(bx * bm + i >= k * bn + j, 0, -T.infinity("float32"))
                else:
                    for i, j in T.Parallel(bm, bn):
                        scores[i, j] = T.if_then_else(k * bn + j >= length, -T.infinity("float32"), 0)
                T.gemm(q, key, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, before)
                T.fill(largest, -T.infinity("float32"))
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(bm):
                    largest[i] = T.max(largest[i], before[i])
                for i in T.Parallel(bm):
                    factor[i] = T.exp2(before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(bm, bn):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(bm, dim):
                    out[i, j] *= factor[i]
                T.copy(V[bz, k * bn : (k + 1) * bn, by, :], value)
                T.gemm(weights, value, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[bz, bx * bm : (bx + 1) * bm, by, :])

    def reference(Q, K, V):
        q, k, v = (x.transpose(0, 2, 1, 3) for x in (Q, K, V))
        s = q @ k.transpose(0, 1, 3, 2) / math.sqrt(dim)
        if causal:
            s = np.where(np.tri(length, dtype=bool), s, -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)

    inputs = dict.fromkeys("QKV", (shape, dtype))
    name = "causal attention" if causal else "flash attention"
    return Case(name, f"{batch}x{heads}x{length}x{dim}", dtype, main, inputs, reference)


def cases() -> list[Case]:
    """The twenty kernels, in sizes that are multiples of the blocks, and odd ones, and in their dtypes."""
    found = []
    half, brain, full = "float16", "bfloat16", "float32"
    for m, n in ((64, 128), (100, 70)):
        for dtype in (half, brain, full):
            found += [add(m, n, dtype), chain(m, n, dtype)]
        found += [integers(m, n), axpy(m, n, full), axpy(m, n, half), two_outputs(m, n, brain), two_outputs(m, n, full)]
        found += [masked(m, n, half), masked(m, n, full)]
        found += [transpose(m, n, half), transpose(m, n, full), outer(m, n, half), outer(m, n, full)]
    for m, n, k in ((128, 128, 96), (100, 70, 50)):
        for dtype in (half, brain, full):
            found.append(gemm(m, n, k, dtype))
        found += [gemm(m, n, k, half, turn_b=True, name="gemm, B turned")]
        found += [gemm(m, n, k, half, turn_a=True, name="gemm, A turned")]
        found += [gemm_epilogue(m, n, k, half, kind) for kind in ("relu", "gelu", "scale and residual")]
        found += [gemm_epilogue(m, n, k, brain, "gelu")]
    found += [batched_gemm(2, 64, 64, 64, half), batched_gemm(3, 50, 70, 40, brain)]
    for m, n in ((64, 128), (100, 70)):
        for axis in (1, 0):
            found += [reduction(m, n, half, "sum", axis), reduction(m, n, full, "max", axis)]
            found += [reduction(m, n, full, "min", axis), reduction(m, n, half, "absmax", axis)]
        found += [sum_in_steps(m, n, half), softmax(m, n, half), softmax(m, n, full), softmax(m, n, brain)]
        found += [rms_norm(m, n, half), rms_norm(m, n, full), layer_norm(m, n, half), layer_norm(m, n, full)]
    for length in (128, 100):
        found += [attention(1, 2, length, 64, half, causal) for causal in (False, True)]
    found.append(attention(2, 1, 75, 40, brain, False))
    return found
