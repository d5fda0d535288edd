"""Inline assembly on the CPU that waits for other programs and devices, or for memory that nobody writes."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.support import cause_of
from tle_raw import Element, Pointer
from tle_raw.distributed import simulate
from tle_raw.errors import KernelFailed, LoweringError
from tle_raw.knobs import knobs

pytestmark = pytest.mark.every_triton(2)


@pytest.fixture(autouse=True)
def cpu():
    with knobs.scope():
        knobs.target = "cpu"
        yield


@triton.jit
def meet_in_assembly(count, order, ARRIVE: tl.constexpr, WAIT: tl.constexpr):
    """Each program adds one, and goes on when all have."""
    before = tl.inline_asm_elementwise(ARRIVE, "=r,l", [count], tl.int32, is_pure=False, pack=1)
    all_of_them = tl.num_programs(0)
    tl.inline_asm_elementwise(WAIT, "=r,l,r", [count, all_of_them], tl.int32, is_pure=False, pack=1)
    tl.store(order + before, tl.load(count))


ARRIVE = "atom.global.add.release.gpu.u32 $0, [$1], 1;"
WAITS = {
    "ordered": "{ .reg .pred p; again: ld.global.acquire.gpu.u32 $0, [$1]; setp.ne.u32 p, $0, $2; @p bra again; }",
    "volatile": "{ .reg .pred p; again: ld.volatile.u32 $0, [$1]; setp.ne.u32 p, $0, $2; @p bra again; }",
    "plain": "{ .reg .pred p; again: ld.global.u32 $0, [$1]; setp.ne.u32 p, $0, $2; @p bra again; }",
    "sleeps": "{ .reg .pred p; again: nanosleep.u32 20; ld.relaxed.gpu.global.u32 $0, [$1];"
    " setp.ne.u32 p, $0, $2; @p bra again; }",
    "exchanges": "{ .reg .pred p; again: atom.global.cas.b32 $0, [$1], $2, $2; setp.ne.u32 p, $0, $2; @p bra again; }",
}


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("how", WAITS)
def test_programs_meet_in_assembly(how, debug):
    knobs.debug = debug
    count, order = np.zeros(1, np.int32), np.zeros(7, np.int32)
    meet_in_assembly[(7,)](count, order, ARRIVE, WAITS[how])
    np.testing.assert_array_equal(order, np.full(7, 7))


@pytest.mark.parametrize("how", WAITS)
def test_nobody_comes(how):
    knobs.cpu.patience = 0.5
    with pytest.raises(KernelFailed, match="`inline_asm` waits in a loop for memory that no program") as caught:
        meet_in_assembly[(3,)](np.zeros(1, np.int32), np.zeros(9, np.int32), "mov.u32 $0, 0;", WAITS[how])
    assert caught.value.kind == "standstill"


@triton.jit
def pass_on(flags, LOOK: tl.constexpr):
    """Each program waits, in a loop of the kernel, for the one before it."""
    me = tl.program_id(0)
    found = me * 0
    while found != me:
        found = tl.inline_asm_elementwise(LOOK, "=r,l", [flags], tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise("red.global.add.u32 [$1], 1; mov.u32 $0, 0;", "=r,l", [flags], tl.int32, False, 1)


LOOKS = ["ld.acquire.sys.global.u32 $0, [$1];", "ld.global.u32 $0, [$1];", "atom.global.or.b32 $0, [$1], 0;"]


@pytest.mark.parametrize("look", LOOKS)
def test_a_loop_of_the_kernel_waits(look):
    flags = np.zeros(1, np.int32)
    pass_on[(9,)](flags, look)
    assert flags[0] == 9


@pytest.mark.parametrize("look", LOOKS)
def test_a_loop_of_the_kernel_waits_for_ever(look):
    knobs.cpu.patience = 0.5
    with pytest.raises(KernelFailed, match="a loop waits for memory that no program of the launch changes") as caught:
        pass_on[(4,)](np.full(1, 7, np.int32), look)
    assert "while found != me" in str(caught.value)


@tle_raw.dialect("cuda", source=r"""
#include <cuda/atomic>
__device__ int look(int i, int* p) {
  return cuda::atomic_ref<int, cuda::thread_scope_device>(p[i]).load(cuda::memory_order_acquire);
}
""")  # fmt: skip
def look(i: Element["i32"], p: Pointer["i32"]) -> Element["i32"]: ...


@triton.jit
def pass_on_together(flags, N: tl.constexpr, BY_ASSEMBLY: tl.constexpr):
    """The same, with as many flags as a tile has elements."""
    me, i = tl.program_id(0), tl.arange(0, N)
    lowest = me * 0
    while lowest != me:
        if BY_ASSEMBLY:
            load: tl.constexpr = "ld.acquire.gpu.global.u32 $0, [$1];"
            lowest = tl.min(tl.inline_asm_elementwise(load, "=r,l", [flags + i], tl.int32, False, 1))
        else:
            lowest = tl.min(tle_raw.call(look, [i, flags]))
    tl.atomic_add(flags + i, 1)


@pytest.mark.parametrize("by_assembly", [False, True])
def test_a_loop_waits_for_a_tile(by_assembly):
    flags = np.zeros(64, np.int32)
    pass_on_together[(9,)](flags, 64, by_assembly)
    np.testing.assert_array_equal(flags, np.full(64, 9))
    knobs.cpu.patience = 0.5
    with pytest.raises(KernelFailed, match="a loop waits for memory that no program of the launch changes"):
        pass_on_together[(4,)](np.full(64, 7, np.int32), 64, by_assembly)


@triton.jit
def add_one_each(counts, N: tl.constexpr):
    i = tl.arange(0, N)
    before = tl.inline_asm_elementwise("atom.global.add.u32 $0, [$1], 1;", "=r,l", [counts + i % 3], tl.int32, False, 1)
    tl.store(counts + 3 + i, before)


def test_each_element_of_a_tile_adds_once():
    counts = np.zeros(3 + 64, np.int32)
    add_one_each[(1,)](counts, 64)
    np.testing.assert_array_equal(counts[:3], [22, 21, 21])
    np.testing.assert_array_equal(counts[3:], np.arange(64) // 3)


@triton.jit
def exchange(places, ORDER: tl.constexpr, OLD: tl.constexpr, NEW: tl.constexpr):
    """Put NEW where OLD is, as soon as it is there."""
    tl.inline_asm_elementwise(
        f"""{{
            .reg .u32 %old; .reg .pred %p;
            again: atom.global.{ORDER}.cas.b32 %old, [$1], {OLD}, {NEW};
            setp.eq.u32 %p, %old, {OLD};
            @!%p bra again;
            mov.u32 $0, %old;
        }}""",
        "=r,l", [places], tl.int32, is_pure=False, pack=1,
    )  # fmt: skip


@triton.jit
def signal_all(context, signals, values, out, N: tl.constexpr, world: tl.constexpr, mesh: tl.constexpr):
    """Devices put a one into each other's signal pads, wait for all of theirs and take them away: twice."""
    me, i, peers = tle.shard_id(mesh, "device", context), tl.arange(0, N), tl.arange(0, world)
    for turn in range(2):
        tl.store(values + i, tl.load(values + i) + turn + me)
        for peer in range(world):
            there = tle.remote(signals, peer, context) + me
            exchange(there, "release.sys", 0, 1)
        exchange(signals + peers, "sys.acquire", 1, 0)
        total = tl.zeros((N,), tl.float32)
        for peer in range(world):
            total += tl.load(tle.remote(values, peer, context) + i)
        tl.store(out + turn * N + i, total)
        tle.distributed_barrier(mesh, context)


@pytest.mark.parametrize("world", [2, 4])
def test_devices_signal_each_other_in_assembly(world):
    devices = simulate(world, bytes=1 << 16)
    start = np.random.default_rng(world).random((world, 32), np.float32)
    values, signals = devices.tensors(start), devices.zeros(world, "int32")
    outs = [np.zeros(64, np.float32) for _ in range(world)]
    mesh = tle.device_mesh({"device": world})
    devices.launch(
        lambda rank, context: signal_all[(1,)](context, signals[rank], values[rank], outs[rank], 32, world, mesh)
    )
    ranks, sums = world * (world - 1) // 2, start.astype(np.float64).sum(0)
    for out in outs:
        np.testing.assert_allclose(out[:32], sums + ranks, rtol=1e-5)
        np.testing.assert_allclose(out[32:], sums + 2 * ranks + world, rtol=1e-5)


@triton.jit
def reads_a_pair(flags, out):
    found = tl.program_id(0) * 0
    while found == 0:
        value, found = tl.inline_asm_elementwise(
            "ld.volatile.global.v2.u32 {$0, $1}, [$2];", "=r,=r,l", [flags], (tl.int32, tl.int32), False, 1
        )
        tl.store(out, value)


def test_a_pair_that_others_write_is_refused():
    with pytest.raises(Exception, match="waits for memory has one result on a CPU, not several") as caught:
        reads_a_pair[(1,)](np.ones(2, np.int32), np.zeros(1, np.int32))
    assert isinstance(cause_of(caught.value), LoweringError)
