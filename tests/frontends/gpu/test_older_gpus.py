"""GPUs before sm_90: every operation of TLE-Struct compiles there, within partitions and outside, or says why not."""

import re

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of, compile_kernel, ptx_calls

TYPES = {"x": "*fp32", "y": "*fp16", "count": "*i32", "desc": "tensordesc<fp16[64, 64]>", "n": "i32"}


@triton.jit
def everything(x, y, count, desc, n, buf, more, bar, meet, order, taken, ends):
    i, j = tl.arange(0, 64), tl.arange(0, 64)
    at = i[:, None] * 64 + j[None, :]
    buf.store(tl.load(y + at))
    tle.gpu.local_store(more, buf.load())
    tl.atomic_add(tle.gpu.local_ptr(buf, (i, j)), tl.full((64,), 1.0, tl.float16))
    tle.gpu.copy(y + at, buf, [64, 64], is_async=True)
    tle.gpu.async_commit_group()
    tle.gpu.async_wait_group(0)
    tle.gpu.copy(desc, more, [64, 64], [0, 0])
    acc = tle.gpu.wgmma(buf, more, tl.zeros((64, 64), tl.float32))
    acc = tl.dot(buf.load(), more.load(), tle.gpu.wgmma_wait(0, acc))
    tl.store(x + at, acc)
    tle.gpu.copy(buf, desc, [64, 64], [0, 64])
    tle.gpu.copy(buf, desc, [64, 64], [0, 0], reduce="add")
    value = tle.gpu.set_layout(tl.load(y + at), tle.gpu.BlockEncoding([1, 8], [4, 8], [4, 1], [1, 0]))
    tl.store(y + at, tle.gpu.memory_space(value, "shared_memory"))
    tle.gpu.barrier_arrive(bar, 1, 0)
    tle.gpu.barrier_wait(bar, 0)
    tle.gpu.barrier_wait(meet)
    tl.store(count + 1, tle.gpu.fetch_tile(order, 0, n) + tle.gpu.fetch_tile(taken, 0, n))
    for k in range(n):
        slot = ends[0].acquire(k)
        tle.gpu.copy(desc, slot.a, [64, 64], [0, k * 64])
        tle.gpu.copy(y + at, slot.b, [64, 64])
        ends[0].commit(k)
        slot = ends[1].wait(k).slot
        tl.store(y + at, slot.a.load() + slot.b.load())
        ends[1].release(k)


@triton.jit
def nothing(x):
    pass


@triton.jit
def kernel(x, y, count, desc, n, WITHIN: tl.constexpr):
    buf, more = tle.gpu.alloc([64, 64], tl.float16), tle.gpu.alloc([64, 64], tl.float16)
    bar, meet = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(128)
    order = tle.gpu.alloc_tile_scheduler("dynamic", count)
    taken = tle.gpu.alloc_tile_scheduler("try_cancel")
    p = tle.pipe(capacity=2, a=tle.gpu.alloc([2, 64, 64], tl.float16), b=tle.gpu.alloc([2, 64, 64], tl.float16))
    ends = (p.writer(), p.reader())
    if WITHIN:
        given = (x, y, count, desc, n, buf, more, bar, meet, order, taken, ends)
        tle.gpu.warp_specialize([(nothing, (x,)), (everything, given)], [4], [64])
    else:
        everything(x, y, count, desc, n, buf, more, bar, meet, order, taken, ends)


@pytest.mark.parametrize("within", [False, True])
def test_every_operation_compiles_for_sm_80(within):
    kernel_ = compile_kernel(kernel, TYPES, {"WITHIN": within}, 80)
    ptx = kernel_.asm["ptx"]
    assert "cubin" in kernel_.asm and not ptx_calls(kernel_)
    for there in ("cp.async.c", "mbarrier.test_wait", "mma.sync"):
        assert there in ptx, there
    for newer in (
        "setmaxnreg",
        "bulk.tensor",
        "wgmma",
        "expect_tx",
        "try_wait",
        "elect.sync",
        "fence.proxy",
        "clusterl",
    ):
        assert newer not in ptx, newer
    assert bool(re.search(r"partition0\(", kernel_.asm["ttgir"])) == within


@triton.jit
def newer(x, y, desc, WHAT: tl.constexpr):
    buf = tle.gpu.alloc([64, 64], tl.float16)
    if WHAT == "copies that complete a barrier":
        tle.gpu.copy(desc, buf, [64, 64], [0, 0], barrier=tle.gpu.alloc_barrier(expect_bytes=8192))
    if WHAT == "no tensor memory":
        tle.gpu.alloc([128, 64], tl.float32, scope=tle.gpu.tmem)
    if WHAT == "no barriers in shared memory":
        tle.gpu.alloc_barrier()
    if WHAT == "tle.pipe: this GPU has no barriers":
        tle.pipe(capacity=2, a=tle.gpu.alloc([2, 64, 64], tl.float16))
    buf.store(tl.zeros((64, 64), tl.float16))


@pytest.mark.every_triton(1)
@pytest.mark.parametrize(
    "what, capability",
    [
        ("copies that complete a barrier", 80),
        ("no tensor memory", 90),
        ("no barriers in shared memory", 75),
        ("tle.pipe: this GPU has no barriers", 75),
    ],
)
def test_what_a_gpu_does_not_have_is_a_named_error_at_its_line(what, capability):
    with pytest.raises(Exception) as raised:
        compile_kernel(newer, {"x": "*fp32", "y": "*fp16", "desc": TYPES["desc"]}, {"WHAT": what}, capability)
    cause = cause_of(raised.value)
    assert isinstance(cause, tle_raw.TLEError) and what in str(cause) and "test_older_gpus.py:" in str(cause), cause
    assert ("tle.pipe, which works on every GPU" in str(cause)) == (capability == 80)
