"""The float64 evaluation of a PrimFunc, against PyTorch."""

import numpy as np
import pytest
import tilelang.language as T
import torch

from tle_raw.adapters.tilelang.port.reference.evaluate import evaluate
from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated
from tle_raw.adapters.tilelang.program import read_program

pytestmark = pytest.mark.one_triton


def run(prim_func, *arrays, limit=60.0, **dims):
    program = read_program(prim_func)
    return evaluate(program, dict(zip(program.order, arrays)), dims, limit)


@T.prim_func
def attention(
    Q: T.Tensor((70, 32), "float16"), K: T.Tensor((96, 32), "float16"), V: T.Tensor((96, 32), "float16"),
    Out: T.Tensor((70, 32), "float16"),
):  # fmt: skip
    with T.Kernel(T.ceildiv(70, 32), threads=64) as bx:
        q, k, v = (
            T.alloc_shared((32, 32), "float16"),
            T.alloc_shared((32, 32), "float16"),
            T.alloc_shared((32, 32), "float16"),
        )
        s, p = T.alloc_fragment((32, 32), "float32"), T.alloc_fragment((32, 32), "float16")
        o = T.alloc_fragment((32, 32), "float32")
        m, before, scale, total, row = (T.alloc_fragment((32,), "float32") for _ in range(5))
        T.copy(Q[bx * 32, 0], q)
        T.clear(o)
        T.clear(total)
        T.fill(m, -T.infinity("float32"))
        for step in T.Pipelined(3, num_stages=2):
            T.copy(K[step * 32, 0], k)
            T.gemm(q, k, s, transpose_B=True, clear_accum=True)
            T.copy(m, before)
            T.reduce_max(s, m, dim=1, clear=False)
            for i in T.Parallel(32):
                scale[i] = T.exp2((before[i] - m[i]) * 0.25)
            for i, j in T.Parallel(32, 32):
                s[i, j] = T.exp2((s[i, j] - m[i]) * 0.25)
            T.reduce_sum(s, row, dim=1)
            for i in T.Parallel(32):
                total[i] = total[i] * scale[i] + row[i]
            for i, j in T.Parallel(32, 32):
                o[i, j] *= scale[i]
            T.copy(s, p)
            T.copy(V[step * 32, 0], v)
            T.gemm(p, v, o)
        for i, j in T.Parallel(32, 32):
            o[i, j] /= total[i]
        T.copy(o, Out[bx * 32, 0])


def test_attention():
    q, k, v = (torch.randn(n, 32, dtype=torch.float64).half().double() for n in (70, 96, 96))
    done = run(attention, q.numpy(), k.numpy(), v.numpy(), np.full((70, 32), 7.0))
    expected = torch.softmax(q @ k.T * 0.25 * np.log(2), dim=1) @ v
    assert np.abs(done.buffers["Out"] - expected.numpy()).max() < 2e-3
    assert done.is_whole and done.written["Out"].all() and not done.written["Q"].any()


@T.prim_func
def integers(A: T.Tensor((50,), "int32"), B: T.Tensor((50,), "uint32"), C: T.Tensor((4,), "int32")):
    with T.Kernel(2, threads=64) as bx:
        for i in T.Parallel(32):
            if bx * 32 + i < 50:
                B[bx * 32 + i] = (T.cast(A[bx * 32 + i], "uint32") * T.uint32(2654435769)) >> T.uint32(3)
                T.atomic_add(C[A[bx * 32 + i] % 4], 1)


def test_integers_wrap_and_every_lane_of_an_update_counts():
    a = np.random.default_rng(0).integers(0, 1 << 30, 50).astype(np.int32)
    done = run(integers, a, np.zeros(50, np.uint32), np.zeros(4, np.int32))
    assert (done.buffers["B"] == (a.astype(np.uint64) * 2654435769 % (1 << 32) >> 3).astype(np.uint32)).all()
    assert (done.buffers["C"] == np.bincount(a % 4, minlength=4)).all()
    with pytest.raises(Unevaluated, match="blocks that update the same elements"):
        run(integers, a, np.zeros(50, np.uint32), np.zeros(4, np.int32), limit=-1.0)


@T.prim_func
def quantised(X: T.Tensor((8, 64), "float32"), Y: T.Tensor((8, 64), "float8_e4m3fn"), S: T.Tensor((8,), "float32")):
    with T.Kernel(8, threads=64) as bx:
        x, largest = T.alloc_fragment((1, 64), "float32"), T.alloc_fragment((1,), "float32")
        T.copy(X[bx, 0], x)
        T.reduce_absmax(x, largest, dim=1)
        for i, j in T.Parallel(1, 64):
            Y[bx, j] = T.clamp(x[i, j] * (448.0 / largest[i]), -448.0, 448.0)
        S[bx] = largest[0] / 448.0


def test_narrow_floats_are_rounded():
    x = torch.randn(8, 64, dtype=torch.float64)
    done = run(quantised, x.numpy(), np.zeros((8, 64)), np.zeros(8))
    scale = x.abs().amax(1) / 448
    assert np.allclose(done.buffers["S"], scale)
    expected = (x / scale[:, None]).float().to(torch.float8_e4m3fn).double()
    assert (torch.from_numpy(done.buffers["Y"]) - expected).abs().max() <= 32  # a tie may fall to either side
    assert (torch.from_numpy(done.buffers["Y"]) == expected).double().mean() > 0.98


@T.prim_func
def by_threads(A: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        A[T.get_thread_binding()] = T.call_extern("float32", "tanf", 1.0)


def test_what_it_does_not_know_it_says():
    with pytest.raises(Unevaluated, match=r"the function tirx.call_extern|the value of"):
        run(by_threads, np.zeros(64))


@T.prim_func
def mixed(
    A: T.Tensor((4, 4), "float32"), B: T.Tensor((4, 40), "float32"), X: T.Tensor((4, 40), "float32"),
):  # fmt: skip
    with T.Kernel(1, threads=32):
        for o, j in T.Parallel(4, 40):
            v = T.alloc_var("float32")
            v = B[o, j]
            for q in T.unroll(4):
                v += A[q, o] * B[q, j]
            if v < 0:
                v = -v
            X[o, j] = v


def test_each_iteration_of_a_parallel_loop_has_a_variable_of_its_own():
    a, b, x = np.random.randn(4, 4), np.random.randn(4, 40), np.zeros((4, 40))
    run(mixed, a, b, x)
    np.testing.assert_allclose(x, np.abs(b + a.T @ b), rtol=1e-12)


@T.prim_func
def padded(A: T.Tensor((2, 50, 24), "float32"), B: T.Tensor((2, 50, 24), "float32"), C: T.Tensor((32,), "float32")):
    """Tiles are larger than the boxes that are copied: of what lies beyond them elements come, beyond arrays zeros."""
    with T.Kernel(4, 2, threads=32) as (bx, by):
        tile, sums = T.alloc_shared((16, 32), "float32"), T.alloc_fragment((32,), "float32")
        T.copy(A[by, bx * 16 : bx * 16 + 16, 0:24], tile)
        T.copy(tile, B[by, bx * 16 : bx * 16 + 16, 0:24])
        T.reduce_sum(tile, sums, dim=0)
        if bx == 3 and by == 1:
            T.copy(sums, C)


def test_copies_between_boxes_of_other_sizes():
    a, b, c = np.random.default_rng(0).random((2, 50, 24)), np.zeros((2, 50, 24)), np.ones(32)
    run(padded, a, b, c)
    assert (b == a).all() and np.allclose(c, np.pad(a[1, 48:].sum(0), (0, 8)))
