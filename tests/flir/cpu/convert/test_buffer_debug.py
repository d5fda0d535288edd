"""What ``debug=True`` finds in the use of shared buffers: each error names the buffer and the kernel's line."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.flir.cpu.convert import buffer_builtins as tb
from tle_raw.errors import KernelFailed
from tle_raw.knobs import knobs

UNWRITTEN, COPIED, REUSED = "is read before it was written", "read while a copy into it", "written while a copy"


def failed(kernel, *arguments, **options):
    """The error of a launch under debug; without debug the launch does not fail."""
    kernel[(1,)](*arguments, **options)
    with knobs.scope(), pytest.raises(KernelFailed) as caught:
        knobs.debug = True
        kernel[(1,)](*arguments, **options)
    text = str(caught.value)
    assert "# here" in text
    return text


@triton.jit
def reads_early(out, N: tl.constexpr):
    rows = tb.alloc([2, N], tl.float32, name="rows", slots=True)
    tb.store(tb.slot(rows, 0), tl.zeros([N], tl.float32))
    tl.store(out + tl.arange(0, N), tb.load(tb.slot(rows, 1)))  # here


@triton.jit
def reads_half(out, N: tl.constexpr):
    rows = tb.alloc([N], tl.float32, name="rows")
    tb.store(tb.part(rows, [0], [N // 2]), tl.zeros([N // 2], tl.float32))
    tl.store(out + tl.arange(0, N), tb.load(rows))  # here


@triton.jit
def reads_last_turn(out, N: tl.constexpr):
    for i in range(2):
        rows = tb.alloc([N], tl.float32, name="rows")
        if i == 0:
            tb.store(rows, tl.zeros([N], tl.float32))
        tl.store(out + tl.arange(0, N), tb.load(rows))  # here


@triton.jit
def reads_freed(out, N: tl.constexpr):
    rows = tb.alloc([N], tl.float32, tl.zeros([N], tl.float32), name="rows")
    tb.dealloc(rows)
    tl.store(out + tl.arange(0, N), tb.load(rows))  # here


@pytest.mark.parametrize("kernel", [reads_early, reads_half, reads_last_turn, reads_freed])
def test_a_buffer_that_is_read_before_it_was_written(kernel):
    text = failed(kernel, torch.zeros(16), N=16)
    assert UNWRITTEN in text
    assert "`rows`" in text
    if kernel is reads_half:
        assert "element = 8" in text


@triton.jit
def reads_too_soon(x, out, P: tl.constexpr, N: tl.constexpr):
    a, b = tb.alloc([N], tl.float32, name="a"), tb.alloc([N], tl.float32, name="b")
    tb.copy(a, x + tl.arange(0, N))
    tb.commit()
    tb.copy(b, x + tl.arange(0, N))
    tb.commit()
    tb.wait_group(P)
    tl.store(out + tl.arange(0, N), tb.load(a))
    tl.store(out + tl.arange(0, N), tb.load(b))  # here


@triton.jit
def never_commits(x, out, N: tl.constexpr):
    a = tb.alloc([N], tl.float32, name="a")
    tb.copy(a, x + tl.arange(0, N))
    tb.wait_group(0)
    tl.store(out + tl.arange(0, N), tb.load(a))  # here


def test_a_buffer_that_is_read_before_its_copy_was_waited_for():
    text = failed(reads_too_soon, torch.zeros(16), torch.zeros(16), P=1, N=16)
    assert COPIED in text
    assert "`b`" in text
    with knobs.scope():
        knobs.debug = True
        reads_too_soon[(1,)](torch.zeros(16), torch.zeros(16), P=0, N=16)
    assert COPIED in failed(never_commits, torch.zeros(16), torch.zeros(16), N=16)


@triton.jit
def writes_too_soon(x, N: tl.constexpr):
    a = tb.alloc([N], tl.float32, name="a")
    tb.copy(a, x + tl.arange(0, N))
    tb.commit()
    tb.store(a, tl.zeros([N], tl.float32))  # here


@triton.jit
def copies_twice(x, N: tl.constexpr):
    a = tb.alloc([N], tl.float32, name="a")
    for _ in range(2):
        tb.copy(a, x + tl.arange(0, N))  # here
        tb.commit()
    tb.wait_group(0)


@pytest.mark.parametrize("kernel", [writes_too_soon, copies_twice])
def test_a_buffer_that_is_written_while_a_copy_into_it_is_under_way(kernel):
    text = failed(kernel, torch.zeros(16), N=16)
    assert REUSED in text
    assert "`a`" in text


@triton.jit
def reads_before_its_barrier(x, out, N: tl.constexpr):
    a, full = tb.alloc([N, N], tl.float32, name="a", nvmma=True), tb.slot(tb.barriers(1, 1), 0)
    for i in range(2):
        tb.expect(full, N * N * 4)
        tb.tma_load(x, [0, 0], full, a)
        if i == 0:
            tb.wait(full, 0)
        value = tb.load(a)  # here
        tl.store(out + tl.arange(0, N)[:, None] * N + tl.arange(0, N), value)


def test_a_buffer_that_is_read_before_its_barrier_was_waited_for():
    x = torch.zeros(32, 32)
    text = failed(reads_before_its_barrier, TensorDescriptor(x, [32, 32], [32, 1], [32, 32]), torch.zeros(32, 32), N=32)
    assert COPIED in text


@triton.jit
def writes_what_is_copied_out(x, N: tl.constexpr):
    zeros = tl.zeros([N, N], tl.float32)
    a = tb.alloc([N, N], tl.float32, name="a", nvmma=True)
    tb.store(a, zeros)
    tb.tma_store(x, [0, 0], a)
    tb.store_wait(0)
    tb.store(a, zeros)
    tb.tma_store(x, [0, 0], a)
    tl.device_assert(tl.sum(tb.load(a)) == 0)  # reading is fine
    tb.store(a, zeros)  # here


def test_a_buffer_that_is_written_while_a_copy_reads_it():
    x = torch.zeros(32, 32)
    text = failed(writes_what_is_copied_out, TensorDescriptor(x, [32, 32], [32, 1], [32, 32]), N=32)
    assert REUSED in text


@triton.jit
def no_barrier_yet(N: tl.constexpr):
    barrier = tb.alloc([1], tl.int64, name="barrier")
    tb.arrive(barrier)  # here


def test_a_barrier_that_was_not_made():
    assert "before it was made one" in failed(no_barrier_yet, N=1)
