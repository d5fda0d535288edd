"""Kernels whose programs stay and take tiles in an order of ``tle.gpu.alloc_tile_scheduler``."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def taken_by(o_ptr, counter_ptr, total, KIND: tl.constexpr):
    """Which program takes each tile, and as its how many-th; fetched and taken by the same warps."""
    order = tle.gpu.alloc_tile_scheduler(KIND, counter_ptr)
    number, turn = tl.program_id(0), 0
    while number < total:
        tl.atomic_add(o_ptr + number, tl.program_id(0) * 1000 + turn + 1)
        fetched = tle.gpu.fetch_tile(order, turn, total)
        number = tle.gpu.next_tile(order, turn, total)
        tl.device_assert(number == fetched)
        turn += 1


@triton.jit
def fetch_all(order, total):
    number, turn = tl.program_id(0), 0
    while number < total:
        number = tle.gpu.fetch_tile(order, turn, total)
        turn += 1


@triton.jit
def count_all(order, o_ptr, total):
    number, turn = tl.program_id(0), 0
    while number < total:
        tl.atomic_add(o_ptr + number, 1)
        number = tle.gpu.next_tile(order, turn, total)
        turn += 1


@triton.jit
def counted_twice(o_ptr, counter_ptr, total, KIND: tl.constexpr, SLOTS: tl.constexpr):
    """One warp fetches numbers, as far ahead as there are slots; two partitions of four and two count the tiles."""
    order = tle.gpu.alloc_tile_scheduler(KIND, counter_ptr, readers=2, slots=SLOTS)
    tle.gpu.warp_specialize(
        [(count_all, (order, o_ptr, total)), (count_all, (order, o_ptr, total)), (fetch_all, (order, total))], [2, 1]
    )


@triton.jit
def grouped(o_ptr, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The number of each tile, by its place."""
    number = tl.program_id(0)
    m, n = tle.gpu.grouped_tile(number, tiles_m, tiles_n, GROUP)
    tl.store(o_ptr + m * tiles_n + n, number)


@triton.jit
def wrong(x, n, WHAT: tl.constexpr):
    order = tle.gpu.alloc_tile_scheduler()
    if WHAT == "no kind":
        tle.gpu.alloc_tile_scheduler("guided")
    if WHAT == "no counter":
        tle.gpu.alloc_tile_scheduler("dynamic")
    if WHAT == "a counter of floats":
        tle.gpu.alloc_tile_scheduler("dynamic", x)
    if WHAT == "no scheduler":
        tle.gpu.next_tile(n, 0, 3)
    if WHAT == "a turn of floats":
        tle.gpu.fetch_tile(order, 1.5, 3)
    if WHAT == "a total of many":
        tle.gpu.next_tile(order, 0, tl.arange(0, 2))
    if WHAT == "no rows":
        tle.gpu.grouped_tile(n, 3, 3, 0)
    if WHAT == "a group of floats":
        tle.gpu.grouped_tile(n, 3, 3, 1.5)
