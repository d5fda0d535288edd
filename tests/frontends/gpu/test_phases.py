"""Phases of barriers that cannot be, and buffers that are used after their end: said before anything is lowered."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import our_error
from tests.frontends.gpu import barrier_kernels as kernels
from tests.support import compile_kernel
from tle_raw.errors import ArgumentTypeError, SharedBufferError

pytestmark = pytest.mark.every_triton(3)

TYPES = {"d": "tensordesc<fp16[64,64]>", "x": "*fp16", "n": "i32"}


@triton.jit
def kernel(d, x, n, WHAT: tl.constexpr):
    tile = tle.gpu.alloc([64, 64], tl.float16)
    full = tle.gpu.alloc_barrier(expect_bytes=64 * 64 * 2)
    bars = tle.gpu.alloc_barriers(2, arrive_count=2)
    if WHAT == "nobody":
        tle.gpu.barrier_wait(full, 0)  # wrong
    if WHAT == "too early":
        for i in range(n):
            tle.gpu.barrier_wait(full, 0)  # wrong
            tle.gpu.copy(d, tile, [64, 64], offsets=[i * 64, 0], barrier=full)
    if WHAT == "another slot":
        tle.gpu.barrier_arrive(bars[1], 2, 0)
        tle.gpu.barrier_wait(bars[0], 0)  # wrong
    if WHAT == "the same phase in a loop":
        for i in range(n):
            tle.gpu.copy(d, tile, [64, 64], offsets=[i * 64, 0], barrier=full)
            tle.gpu.barrier_wait(full, 0)  # wrong
    if WHAT == "the same phase again":
        tle.gpu.copy(d, tile, [64, 64], offsets=[0, 0], barrier=full)
        tle.gpu.barrier_wait(full, 0)
        tle.gpu.copy(d, tile, [64, 64], offsets=[64, 0], barrier=full)
        tle.gpu.barrier_wait(full, 0)  # wrong
    if WHAT == "the same phase of several arrivals":
        tle.gpu.barrier_arrive(bars[0], 2, 0)
        tle.gpu.barrier_wait(bars[0], 0)
        tle.gpu.barrier_arrive(bars[0], 1, 1)
        tle.gpu.barrier_arrive(bars[0], 1, 1)
        tle.gpu.barrier_wait(bars[0], 0)  # wrong
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(x + at, tile.load())


WRONG = {
    "nobody": "nothing in front of it completes",
    "too early": "nothing in front of it completes",
    "another slot": "nothing in front of it completes",
    "the same phase in a loop": "waited for before",
    "the same phase again": "waited for before",
    "the same phase of several arrivals": "waited for before",
}


@pytest.mark.parametrize("what", WRONG)
def test_a_phase_that_cannot_be_is_refused_at_the_kernels_line(what):
    with pytest.raises(ArgumentTypeError, match=WRONG[what]) as caught:
        compile_kernel(kernel, TYPES, {"WHAT": what})
    site = caught.value.context.call_site
    assert site.file == __file__ and site.text.endswith("# wrong")


@triton.jit
def right(d, x, n, WHAT: tl.constexpr):
    tile = tle.gpu.alloc([64, 64], tl.float16)
    full = tle.gpu.alloc_barrier(expect_bytes=64 * 64 * 2)
    ready = tle.gpu.alloc_barriers(2, init=tle.gpu.READY)
    if WHAT == "both phases in a loop":
        for i in range(n):
            tle.gpu.copy(d, tile, [64, 64], offsets=[i * 64, 0], barrier=full)
            tle.gpu.barrier_wait(full, 0)
            tle.gpu.copy(d, tile, [64, 64], offsets=[i * 64, 64], barrier=full)
            tle.gpu.barrier_wait(full, 1)
    if WHAT == "twice for one phase":
        tle.gpu.copy(d, tile, [64, 64], offsets=[0, 0], barrier=full)
        tle.gpu.barrier_wait(full, 0)
        tle.gpu.barrier_wait(full, 0)
    if WHAT == "once in a loop":
        for i in range(n):
            if i == 0:
                tle.gpu.copy(d, tile, [64, 64], offsets=[0, 0], barrier=full)
            tle.gpu.barrier_wait(full, 0)
    if WHAT == "from the second iteration on":
        for i in range(n):
            if i == 1:
                tle.gpu.barrier_wait(full, 0)
            if i == 0:
                tle.gpu.copy(d, tile, [64, 64], offsets=[0, 0], barrier=full)
    if WHAT == "ready":
        tle.gpu.barrier_wait(ready[0], 0)
        tle.gpu.barrier_wait(ready[n % 2], 0)
    if WHAT == "two completed between":
        for i in tl.static_range(2):
            tle.gpu.barrier_arrive(ready[0], 1, i)
        tle.gpu.barrier_wait(ready[0], 0)
        for i in tl.static_range(2):
            tle.gpu.barrier_arrive(ready[0], 1, i)
        tle.gpu.barrier_wait(ready[0], 2)
    if WHAT == "any slot":
        tle.gpu.barrier_arrive(ready[n % 2], 1, 0)
        tle.gpu.barrier_wait(ready[0], 1)
    if WHAT == "carried":
        bar = ready[0]
        for i in range(n):
            tle.gpu.barrier_wait(bar, 1)
            tle.gpu.barrier_arrive(bar, 1, 1)
            bar = ready[i % 2]
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(x + at, tile.load())


@pytest.mark.parametrize(
    "what",
    [
        "both phases in a loop",
        "twice for one phase",
        "once in a loop",
        "from the second iteration on",
        "ready",
        "two completed between",
        "any slot",
        "carried",
    ],
)
def test_what_may_be_right_is_compiled(what):
    assert "mbarrier" in compile_kernel(right, TYPES, {"WHAT": what}).asm["ptx"]


def test_a_region_may_complete_a_phase():
    @triton.jit
    def completed(y, n):
        buffer = tle.gpu.alloc([16, 8], tl.float32, nv_mma_shared_layout=False)
        full = tle.gpu.alloc_barrier(128)
        kernels.number(buffer, full, 3)
        tle.gpu.barrier_wait(full, 0)
        tl.store(y + tl.arange(0, 16)[:, None] * 8 + tl.arange(0, 8)[None, :], buffer.load())

    assert tle_raw.report(compile_kernel(completed, {"y": "*fp32", "n": "i32"})).one_kernel


@triton.jit
def freed(x, n, WHAT: tl.constexpr):
    tile = tle.gpu.alloc([16], tl.float32)
    tile.store(1.0)
    if WHAT == "before a loop":
        tile.free()
        for i in range(n):
            tl.store(x + i * 16 + tl.arange(0, 16), tile.load())
    if WHAT == "behind a loop":
        for i in range(n):
            tl.store(x + i * 16 + tl.arange(0, 16), tile.load())
        tile.free()
        tile.store(2.0)
    if WHAT == "by a slot":
        slots = tle.gpu.alloc([2, 16], tl.float32, nv_mma_shared_layout=False)
        slots.free()
        slots[1].store(0.0)


@pytest.mark.parametrize("what", ["before a loop", "behind a loop", "by a slot"])
def test_a_buffer_is_not_used_after_its_end(what):
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(freed, {"x": "*fp32", "n": "i32"}, {"WHAT": what})
    error = our_error(caught.value)
    assert type(error) is SharedBufferError and "was freed before" in str(error) and "free()" not in error.message
    assert error.context.call_site.file == __file__
