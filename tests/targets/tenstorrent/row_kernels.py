"""Kernels that reduce rows or columns: sums and maxima, softmax, norms, attention."""

import math

import numpy as np
import tilelang.language as T

from tests.targets.tenstorrent.case import Case


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
