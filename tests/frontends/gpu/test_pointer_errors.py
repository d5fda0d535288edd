"""Pointers into buffers that go where they cannot: errors at the kernel's line, while it compiles or under debug."""

from pathlib import Path

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of, compile_kernel
from tle_raw import Pointer, Scalar
from tle_raw.errors import KernelFailed, SharedBufferError
from tle_raw.knobs import knobs

SIGNATURE = {"x": "*i32", "n": "i32"}


@tle_raw.dialect("cuda", source='extern "C" __device__ int first(const int* x, int n) { return x[n]; }')
def first(x: Pointer["i32"], n: Scalar["i32"]) -> Scalar["i32"]: ...


@triton.jit
def mixed(x, n):
    i = tl.arange(0, 64)
    a = tle.gpu.alloc([64], tl.int32, init_value=1)
    p = tl.where(i < n, tle.gpu.local_ptr(a), x + i)
    tl.store(x + i, tl.load(p))


@triton.jit
def mixed_by_a_loop(x, n):
    i = tl.arange(0, 64)
    a = tle.gpu.alloc([64], tl.int32, init_value=1)
    p = x + i
    for _ in range(n):
        p = tle.gpu.local_ptr(a)
    tl.store(x + i, tl.load(p))


@triton.jit
def copied(x, n):
    a, b = tle.gpu.alloc([64], tl.int32, init_value=1), tle.gpu.alloc([64], tl.int32)
    tle.gpu.copy(tle.gpu.local_ptr(a), b, [64])
    tl.store(x + tl.arange(0, 64), b.load())


@triton.jit
def passed(x, n):
    a = tle.gpu.alloc([64], tl.int32, init_value=1)
    tl.store(x, first(tle.gpu.local_ptr(a, (0,)), n))


@pytest.mark.parametrize(
    "kernel, line, words",
    [
        (mixed, "p = tl.where(", "one into global memory"),
        (mixed_by_a_loop, "", "one into global memory"),
        (copied, "tle.gpu.copy(", "for tl.load, tl.store and atomics"),
        (passed, "first(tle.gpu", "for tl.load, tl.store and atomics"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_pointer_into_shared_memory_is_no_other(kernel, line, words):
    with pytest.raises(Exception) as caught:
        compile_kernel(kernel, SIGNATURE)
    cause = cause_of(caught.value)
    assert isinstance(cause, SharedBufferError) and words in str(cause), repr(cause)
    assert cause.context.call_site.file == __file__ and line in cause.context.call_site.text


# --- knobs.debug on the CPU ---------------------------------------------------------------------------------------


@triton.jit
def beyond(x, index, N: tl.constexpr):
    i = tl.arange(0, N)
    rows = tle.gpu.alloc([N], tl.float32, init_value=0)
    tl.store(x + i, tl.load(tle.gpu.local_ptr(rows, (tl.load(index + i),))))  # here


@triton.jit
def stored_beyond(x, index, N: tl.constexpr):
    i = tl.arange(0, N)
    rows = tle.gpu.alloc([2, N], tl.float32)
    rows.slot(0).store(tl.load(x + i))
    tl.store(tle.gpu.local_ptr(rows.slot(1), (tl.load(index + i),)), tl.load(x + i))  # here


@triton.jit
def counted_beyond(x, index, N: tl.constexpr):
    i = tl.arange(0, N)
    rows = tle.gpu.alloc([N], tl.int32, init_value=0)
    tl.atomic_add(tle.gpu.local_ptr(rows, (tl.load(index + i),)), 1)  # here
    tl.store(x + i, rows.load().to(tl.float32))


@triton.jit
def never_written(x, index, N: tl.constexpr):
    i = tl.arange(0, N)
    rows = tle.gpu.alloc([N], tl.float32)
    tl.store(tle.gpu.local_ptr(rows, (i,)), tl.load(x + i), mask=i != 5)
    tl.store(x + i, tl.load(tle.gpu.local_ptr(rows)))  # here


@triton.jit
def masked_beyond(x, index, N: tl.constexpr):
    """What the mask leaves out may lie anywhere."""
    i = tl.arange(0, N)
    at = tl.load(index + i)
    rows = tle.gpu.alloc([N], tl.float32)
    tl.store(tle.gpu.local_ptr(rows), tl.load(x + i))
    carried = tle.gpu.local_ptr(rows, (at,))
    for k in range(2):
        tl.store(x + i, tl.load(carried, mask=at < N, other=0) + k)
        carried += 0


@pytest.mark.parametrize(
    "kernel, words",
    [
        (beyond, "load outside of the buffer `rows`"),
        (stored_beyond, "store outside of the buffer `rows`"),
        (counted_beyond, "atomic_rmw outside of the buffer `rows`"),
        (never_written, "`rows` is read before it was written"),
        (masked_beyond, ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_debug_checks_accesses(kernel, words):
    pytest.importorskip("torch_mlir.ir")
    torch = pytest.importorskip("torch")
    index = torch.arange(64, dtype=torch.int32)
    index[7] = 65
    with knobs.scope():
        knobs.target, knobs.debug = "cpu", True
        if not words:
            kernel[(1,)](torch.ones(64), index, N=64)
            return
        with pytest.raises(KernelFailed) as caught:
            kernel[(1,)](torch.ones(64), index, N=64)
    assert words in str(caught.value) and "# here" in str(caught.value)
    assert Path(__file__).name in str(caught.value)
