"""Asynchronous copies, barriers with phases, copies by descriptors, and tensor memory."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.flir.cpu.convert import buffer_builtins as tb
from tests.flir.cpu.convert.support import FLOATS, INTEGERS, assert_same, name_of, random_tensor
from tle_raw.errors import KernelFailed

pytestmark = pytest.mark.usefixtures("checked")


@triton.jit(do_not_specialize=["n"])  # one kernel for any length
def pipelined(x, out, n, other, S: tl.constexpr, N: tl.constexpr):
    """A ring of slots: ``S - 1`` copies are under way while one is read."""
    ring = tb.alloc([S, N], x.dtype.element_ty, slots=True)
    at = tl.arange(0, N)
    for i in tl.static_range(S - 1):
        tb.copy(tb.slot(ring, i), x + i * N + at, (i * N + at) < n, (at * 0 + other).to(x.dtype.element_ty))
        tb.commit()
    steps = tl.cdiv(n, N)
    for i in range(steps):
        tb.wait_group(S - 2)
        tb.fence()
        tl.store(out + i * N + at, tb.load(tb.slot(ring, i % S)))
        ahead = i + S - 1
        tb.copy(tb.slot(ring, ahead % S), x + ahead * N + at, (ahead * N + at) < n)
        tb.commit()


@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATS), ids=name_of)
@pytest.mark.every_triton(4)
def test_masked_copies_into_a_ring(dtype):
    x, out = random_tensor(dtype, 300), torch.zeros(320, dtype=dtype)
    pipelined[(1,)](x, out, 300, 3, S=3, N=64)
    assert_same(out[:300], x)
    assert not out[300:].any()
    pipelined[(1,)](x, out, 70, 3, S=3, N=64)
    assert_same(out[:70], x[:70])
    assert bool((out[70:128] == 3).all())


@triton.jit
def phases(x, out, n, N: tl.constexpr):
    full = tb.barriers(2, 3)
    ring = tb.alloc([2, N], tl.float32, slots=True)
    at = tl.arange(0, N)
    for i in range(n):
        one, barrier = tb.slot(ring, i % 2), tb.slot(full, i % 2)
        tb.store(one, tl.load(x + i * N + at))
        tb.arrive(barrier, 2)
        tb.arrive(barrier)
        tb.wait(barrier, (i // 2) % 2)
        tl.store(out + i * N + at, tb.load(one))
    for i in tl.static_range(2):
        tb.invalidate(tb.slot(full, i))


def test_waits_of_phases_that_are_complete():
    x, out = random_tensor(torch.float32, 7, 16), torch.zeros(7, 16)
    phases[(1,)](x, out, 7, N=16)
    assert_same(out, x)


@triton.jit
def copies_arrive(x, out, N: tl.constexpr, THREADS: tl.constexpr):
    row = tb.alloc([N], tl.float32)
    counted, more = tb.slot(tb.barriers(1, THREADS), 0), tb.slot(tb.barriers(1, 1), 0)
    tb.copy(row, x + tl.arange(0, N))
    tb.arrive_after_copies(counted, False)
    tb.arrive_after_copies(more, True)
    tb.wait(counted, 0)
    tb.arrive(more)
    tb.wait(more, 0)
    tb.commit()
    tb.wait_group(0)
    tl.store(out + tl.arange(0, N), tb.load(row))


def test_barriers_that_copies_arrive_at():
    x, out = random_tensor(torch.float32, 64), torch.zeros(64)
    copies_arrive[(1,)](x, out, N=64, THREADS=64, num_warps=2)
    assert_same(out, x)


@triton.jit(do_not_specialize=["arrivals", "phase"])
def stuck(arrivals, phase, N: tl.constexpr):
    barrier = tb.slot(tb.barriers(1, 2), 0)
    for _ in range(arrivals):
        tb.arrive(barrier)
    tb.wait(barrier, phase)  # here


@pytest.mark.parametrize(("arrivals", "phase", "missing"), [(0, 0, 2), (1, 0, 1), (2, 1, 2), (4, 0, 2)])
@pytest.mark.every_triton(3)
def test_a_wait_that_nobody_ends_is_an_error_at_its_line(arrivals, phase, missing):
    with pytest.raises(KernelFailed) as caught:
        stuck[(3,)](arrivals, phase, N=1)
    text = str(caught.value)
    assert "a wait for a phase of a barrier that nobody completes" in text
    assert f"arrivals missing = {missing}" in text
    assert "# here" in text
    stuck[(3,)](2, 0, N=1)


@triton.jit
def by_descriptors(source, target, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    if D:
        source = tl.make_tensor_descriptor(source, [n, N], [N, 1], [M, N])
        target = tl.make_tensor_descriptor(target, [n, N], [N, 1], [M, N])
    ring, full = tb.alloc([2, M, N], tl.float32, nvmma=True), tb.barriers(2, 1)
    for i in range(tl.cdiv(n, M)):
        one, barrier = tb.slot(ring, i % 2), tb.slot(full, i % 2)
        tb.store_wait(1)
        tb.expect(barrier, M * N * 4)
        tb.tma_load(source, [i * M, 0], barrier, one)
        tb.wait(barrier, (i // 2) % 2)
        tb.tma_store(target, [i * M, 0], one)
    tb.store_wait(0)


@pytest.mark.parametrize("made_by", ["host", "device"])
def test_copies_by_descriptors_complete_their_barrier(made_by):
    x, out = random_tensor(torch.float32, 76, 32), torch.zeros(80, 32)
    arguments = (x, out)
    if made_by == "host":
        arguments = [TensorDescriptor(t, [76, 32], [32, 1], [16, 32]) for t in (x, out)]
    by_descriptors[(1,)](*arguments, 76, M=16, N=32, D=made_by == "device")
    assert_same(out[:76], x)
    assert not out[76:].any()


@triton.jit
def short_of_bytes(source, M: tl.constexpr, N: tl.constexpr):
    one, barrier = tb.alloc([M, N], tl.float32, nvmma=True), tb.slot(tb.barriers(1, 1), 0)
    tb.expect(barrier, 2 * M * N * 4)
    tb.tma_load(source, [0, 0], barrier, one)
    tb.wait(barrier, 0)  # here


def test_bytes_that_do_not_come_are_told():
    x = torch.zeros(16, 32)
    with pytest.raises(KernelFailed, match="bytes missing = 2048") as caught:
        short_of_bytes[(1,)](TensorDescriptor(x, [16, 32], [32, 1], [16, 32]), M=16, N=32)
    assert "# here" in str(caught.value)


@triton.jit
def in_tensor_memory(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tb.alloc([M, K], tl.float16, tl.load(x + tl.arange(0, M)[:, None] * K + tl.arange(0, K)), nvmma=True)
    b = tb.alloc([K, N], tl.float16, tl.load(y + tl.arange(0, K)[:, None] * N + tl.arange(0, N)), nvmma=True)
    d, done = tb.tensor_memory([M, N], tl.float32), tb.slot(tb.barriers(1, 1), 0)
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)
    tb.mma(a, b, d, False)
    tb.mma(a, b, d, True, done)
    tb.wait(done, 0)
    tb.mma(a, b, d, True, None, False)
    tb.mma_commit(done)
    tb.wait(done, 1)
    tl.store(out + at, tb.tmem_load(d))
    right = tb.columns(d, N // 2, N // 2)
    tb.tmem_store(right, tb.tmem_load(right) + 1)
    tb.tmem_store(right, tb.tmem_load(right) + 1, False)
    tl.store(out + M * N + at, tb.tmem_load(d))


def test_products_in_tensor_memory():
    x, y = random_tensor(torch.float16, 128, 64), random_tensor(torch.float16, 64, 128, seed=1)
    out = torch.zeros(2, 128, 128)
    in_tensor_memory[(1,)](x, y, out, M=128, N=128, K=64)
    expected = 2 * (x.double() @ y.double())
    assert float((out[0] - expected).abs().max()) < 1e-5 * float(expected.abs().max())
    out[0, :, 64:] += 1
    assert_same(out[1], out[0])
