"""Buffers over loops and branches: who fills a queue and who empties it stay in step, whichever way a block takes."""

import numpy as np
import pytest

pytest.importorskip("tilelang")

import tilelang.language as T

from tests.targets.tenstorrent.run_kernel import lower, run_kernel
from tle_raw.errors import UnsupportedFeatureError

pytestmark = pytest.mark.one_triton
M, N = 128, 64


def last_turn():
    """A loop fills a buffer each time anew, and the last time is read behind it; one block goes another way."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, 32), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_fragment((32, 32), "float32")
            b = T.alloc_fragment((32, 32), "float32")
            for k in T.serial(2):
                T.copy(A[bx * 32, k * 32], a)
                for i, j in T.Parallel(32, 32):
                    b[i, j] = a[i, j] + 1.0
            if bx == 0:
                T.fill(b, 3.0)
            else:
                for i, j in T.Parallel(32, 32):
                    b[i, j] = b[i, j] * 2.0
            T.copy(b, B[bx * 32, 0])

    return main, lambda A: np.where(np.arange(M)[:, None] < 32, 3.0, 2 * (A[:, 32:] + 1))


def loops_in_loops():
    """What is read from memory is changed in an inner loop, and a vector by a branch in an outer one."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_fragment((32, 32), "float32")
            s = T.alloc_fragment((32,), "float32")
            t = T.alloc_fragment((32,), "float32")
            T.fill(t, 1.0)
            for k in T.serial(2):
                T.copy(A[bx * 32, k * 32], a)
                for _ in T.serial(3):
                    for i, j in T.Parallel(32, 32):
                        a[i, j] = a[i, j] * 0.5
                T.reduce_sum(a, s, dim=1)
                for i in T.Parallel(32):
                    t[i] = t[i] * s[i]
                if k == 1:
                    for i in T.Parallel(32):
                        t[i] = t[i] + 1.0
            T.copy(t, B[bx * 32])

    return main, lambda A: A[:, :32].sum(1) / 8 * (A[:, 32:].sum(1) / 8) + 1


def products_of_products():
    """Two products in one loop, of which the second sums up; the first block's loop has no turn at all."""

    @T.prim_func
    def main(A: T.Tensor((M, M), "float32"), B: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((32, 32), "float32")
            b = T.alloc_shared((32, N), "float32")
            h = T.alloc_fragment((32, N), "float32")
            c = T.alloc_fragment((32, N), "float32")
            T.clear(c)
            for k in T.Pipelined(bx, num_stages=2):
                T.copy(A[bx * 32, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, h, clear_accum=True)
                for i, j in T.Parallel(32, N):
                    h[i, j] = T.max(h[i, j], 0.0)
                T.gemm(a, h, c)
            T.copy(c, C[bx * 32, 0])

    def reference(A, B):
        c = np.zeros((M, N))
        for row in range(4):
            for k in range(row):
                a = A[row * 32 : row * 32 + 32, k * 32 : k * 32 + 32]
                c[row * 32 : row * 32 + 32] += a @ np.maximum(a @ B[k * 32 : k * 32 + 32], 0)
        return c

    return main, reference


@pytest.mark.parametrize("build", [last_turn, loops_in_loops, products_of_products])
def test_numbers(build, tmp_path):
    prim_func, reference = build()
    random = np.random.default_rng(3)
    tensors = lower(prim_func).tensors.values()
    inputs = {t.name: random.standard_normal(t.shape).astype(t.dtype) for t in tensors if t.direction == "in"}

    (got,) = run_kernel(prim_func, inputs, tmp_path).values()

    expected = reference(*(array.astype(np.float64) for array in inputs.values()))
    assert np.abs(got - expected).max() < 1e-3 * np.abs(expected).max()


def test_an_array_that_blocks_read_of_each_other_while_it_is_written():
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32")):
        with T.Kernel(3, threads=128) as bx:
            for i, j in T.Parallel(32, N):
                A[bx * 32 + i, j] = A[bx * 32 + 32 + i, j] * 2.0

    with pytest.raises(UnsupportedFeatureError, match="read and written"):
        lower(main)
