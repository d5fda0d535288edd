"""Programs in the manner of the cookbook of TLE's documents, spelled as there: numbers on the CPU, code for a GPU."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel
from tle_raw.compat import flagtree

pytest.importorskip("llvmlite")

flagtree.install()

import triton.experimental.tle.language as tle  # noqa: E402

pytestmark = pytest.mark.every_triton(5)

RANDOM = np.random.default_rng(21)


@triton.jit
def staged_sum(a_ptr, b_ptr, c_ptr, xnumel, ynumel, xstride, ystride, XB: tl.constexpr, YB: tl.constexpr):
    xoffs = tl.program_id(0) * XB + tl.arange(0, XB)
    a_ptrs, b_ptrs, c_ptrs = (a_ptr + xstride * xoffs[:, None], b_ptr + xstride * xoffs[:, None], c_ptr)
    a_smem = tle.gpu.alloc([XB, YB], dtype=tl.float32, scope=tle.gpu.storage_kind.smem)
    b_smem = tle.gpu.alloc([XB, YB], dtype=tl.float32, scope=tle.gpu.smem)
    rows = tl.broadcast_to(tl.arange(0, XB)[:, None], (XB, YB))
    cols = tl.broadcast_to(tl.arange(0, YB)[None, :], (XB, YB))
    for yoff in range(0, ynumel, YB):
        yoffs = yoff + tl.arange(0, YB)
        tle.gpu.copy(a_ptrs + ystride * yoffs[None, :], a_smem, [XB, YB])
        tle.gpu.copy(b_ptrs + ystride * yoffs[None, :], b_smem, [XB, YB])
        total = tl.load(tle.gpu.local_ptr(a_smem, (rows, cols))) + tl.load(tle.gpu.local_ptr(b_smem, (rows, cols)))
        inside = (xoffs < xnumel)[:, None] & (yoffs < ynumel)[None, :]
        tl.store(c_ptrs + xstride * xoffs[:, None] + ystride * yoffs[None, :], total, mask=inside)


@triton.jit
def counted(x_ptr, o_ptr, n, B: tl.constexpr, BINS: tl.constexpr):
    bins = tl.arange(0, BINS)
    counts = tle.gpu.alloc([BINS], dtype=tl.int32, scope=tle.gpu.smem)
    tl.store(tle.gpu.local_ptr(counts, (bins,)), tl.zeros((BINS,), tl.int32))  # nothing clears it
    for start in range(0, n, B):
        offs = start + tl.arange(0, B)
        mask = offs < n
        p = tle.gpu.local_ptr(counts, (tl.load(x_ptr + offs, mask=mask, other=0),))
        tl.atomic_add(p, 1, mask=mask)
    tl.store(o_ptr + bins, tl.load(tle.gpu.local_ptr(counts, (bins,))))


@triton.jit
def tilewise_relu(x_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr, T: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offs)
    for i in tl.static_range(M // T):
        for j in tl.static_range(N // T):
            y = x.extract_tile(index=[i, j], shape=[T, T])
            if (i + j) % 2 == 0:
                x = x.insert_tile(tl.maximum(y, 0.0), index=[i, j])
    tl.store(o_ptr + offs, x)


@triton.jit
def guarded(x_ptr, o_ptr, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for start in tl.range(0, n, B, num_stages=3):
        offs = start + tl.arange(0, B)
        mask = offs < n
        x = tle.load(x_ptr + offs, mask=mask, other=0.0, is_async=True)
        total += x * x
    tl.store(o_ptr, tl.sum(total))


@triton.jit
def grouped(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr, FLAG: tl.constexpr):
    rows, cols, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, B)
    acc = tl.zeros((M, N), tl.float32)
    for k in tle.range(0, K, B, num_stages=2, pipe_stages=[0, 0, 1] if FLAG else [0, 1, 1], pipe_orders=[0, 1, 2]):
        with tle.pipeline_group(0):
            a = tl.load(a_ptr + rows[:, None] * K + k + inner[None, :])
        with tle.pipeline_group(1):
            b = tl.load(b_ptr + (k + inner)[:, None] * N + cols[None, :])
        with tle.pipeline_group(2):
            acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)


@triton.jit
def clamped(x_ptr, o_ptr, low, high, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    x = tle.gpu.memory_space(x, "shared_memory")
    tl.store(o_ptr + offs, tl.minimum(tl.maximum(x, low), high), mask=offs < n)


@triton.jit
def flowing(x_ptr, o_ptr, B: tl.constexpr, ROUNDS: tl.constexpr):
    """Each round reads what the round before has left in the buffer, moved by one."""
    i = tl.arange(0, B)
    here = tle.gpu.alloc([B], dtype=tl.float32, scope=tle.gpu.smem)
    tle.gpu.copy(x_ptr + i, here, [B])
    for _ in range(ROUNDS):
        moved = tl.load(tle.gpu.local_ptr(here, ((i + 1) % B,)))
        kept = tl.load(tle.gpu.local_ptr(here, (i,)))
        tl.store(tle.gpu.local_ptr(here, (i,)), 0.5 * (kept + moved))
    tle.gpu.copy(here, o_ptr + i, [B])


@pytest.fixture(params=[False, True], ids=["", "debug"])
def on_the_cpu(request):
    pytest.importorskip("torch_mlir")
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", request.param
        yield


def _floats(*shape):
    return RANDOM.standard_normal(shape, np.float32)


@pytest.mark.usefixtures("on_the_cpu")
class TestCookbook:
    def test_shared_memory_staging(self):
        a, b, c = _floats(32, 64), _floats(32, 64), np.zeros((32, 64), np.float32)
        staged_sum[(2,)](a, b, c, 32, 64, 64, 1, XB=16, YB=32)
        assert np.array_equal(c, a + b)

    def test_shared_atomics(self):
        x, o = RANDOM.integers(0, 32, 1000).astype(np.int32), np.zeros(32, np.int32)
        counted[(1,)](x, o, 1000, B=128, BINS=32)
        assert np.array_equal(o, np.bincount(x, minlength=32))

    def test_tilewise_relu(self):
        x, o = _floats(16, 32), np.zeros((16, 32), np.float32)
        tilewise_relu[(1,)](x, o, M=16, N=32, T=8)
        board = np.kron(np.indices((2, 4)).sum(0) % 2 == 0, np.ones((8, 8))).astype(bool)
        assert np.array_equal(o, np.where(board, np.maximum(x, 0), x))

    def test_guarded_async_load(self):
        x, o = _floats(777), np.zeros(1, np.float32)
        guarded[(1,)](x, o, 777, B=128)
        assert abs(o[0] - (x.astype(np.float64) ** 2).sum()) < 1e-3

    @pytest.mark.parametrize("flag", [False, True])
    def test_pipeline_groups(self, flag):
        a, b, c = _floats(16, 96), _floats(96, 16), np.zeros((16, 16), np.float32)
        grouped[(1,)](a, b, c, 96, M=16, N=16, B=32, FLAG=flag)
        assert np.abs(c - a.astype(np.float64) @ b).max() < 2e-2

    def test_clamp(self):
        x, o = _floats(300), np.zeros(300, np.float32)
        clamped[(3,)](x, o, -0.5, 0.75, 300, B=128)
        assert np.array_equal(o, np.clip(x, np.float32(-0.5), np.float32(0.75)))

    def test_local_buffer_flow(self):
        x, o = _floats(64), np.zeros(64, np.float32)
        flowing[(1,)](x, o, B=64, ROUNDS=5)
        expected = x
        for _ in range(5):
            expected = np.float32(0.5) * (expected + np.roll(expected, -1))
        assert np.array_equal(o, expected)


FLOATS, NUMBER = {"x_ptr": "*fp32", "o_ptr": "*fp32"}, {"n": "i32"}
PRODUCT = {"a_ptr": "*fp32", "b_ptr": "*fp32", "c_ptr": "*fp32", "K": "i32"}


@pytest.mark.parametrize(
    ("kernel", "signature", "constants", "found"),
    [
        (counted, {"x_ptr": "*i32", "o_ptr": "*i32", **NUMBER}, {"B": 128, "BINS": 32}, r"(?:atom|red)\S*\.shared"),
        (guarded, FLOATS | NUMBER, {"B": 512}, r"cp\.async"),
        (grouped, PRODUCT, {"M": 64, "N": 64, "B": 32, "FLAG": True}, r"cp\.async"),
        (clamped, FLOATS | {"low": "fp32", "high": "fp32"} | NUMBER, {"B": 512}, r"\.shared"),
    ],
)
def test_on_a_gpu(kernel, signature, constants, found):
    assert re.search(found, compile_kernel(kernel, signature, constants, multiples=("n", "K")).asm["ptx"])
