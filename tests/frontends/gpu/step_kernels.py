"""Kernels whose programs keep in step."""

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def walk(o_ptr, came_ptr, counter_ptr, turns):
    """Program p has p % 3 turns fewer than most; each notes how many had come when it went on."""
    program = tl.program_id(0)
    own = tl.maximum(turns - program % 3, 0)
    for turn in range(own):
        tl.atomic_add(came_ptr + turn, 1)
        tle.gpu.keep_in_step(counter_ptr, turn)
        seen = tl.load(came_ptr + turn, volatile=True)
        tl.store(o_ptr + program * turns + turn, seen)
    tle.gpu.leave_step(counter_ptr, own, turns)


@triton.jit
def copy_in_step(x_ptr, buffer, full, empty, counter_ptr, n, B: tl.constexpr):
    turn = 0
    for start in range(0, n, B):
        tle.gpu.keep_in_step(counter_ptr, turn)
        i = start + tl.arange(0, B)
        tle.gpu.barrier_wait(empty, turn)
        tle.gpu.local_store(buffer, tl.load(x_ptr + i, mask=i < n, other=0.0))
        tle.gpu.barrier_arrive(full, 1, turn)
        turn += 1
    tle.gpu.leave_step(counter_ptr, turn, turn)


@triton.jit
def add_all(o_ptr, buffer, full, empty, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for turn in range(tl.cdiv(n, B)):
        tle.gpu.barrier_wait(full, turn)
        total += tle.gpu.local_load(buffer)
        tle.gpu.barrier_arrive(empty, 1, turn)
    tl.store(o_ptr + tl.program_id(0) * B + tl.arange(0, B), total)


@triton.jit
def in_a_partition(x_ptr, o_ptr, counter_ptr, n, B: tl.constexpr):
    """A worker of one warp copies, in step with those of other programs."""
    buffer = tle.gpu.alloc([B], dtype=tl.float32)
    full, empty = tle.gpu.alloc_barrier(1), tle.gpu.alloc_barrier(1, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (add_all, (o_ptr, buffer, full, empty, n, B)),
            (copy_in_step, (x_ptr, buffer, full, empty, counter_ptr, n, B)),
        ],
        [1],
    )


@triton.jit
def wrong(x_ptr, counter_ptr, n, WHAT: tl.constexpr):
    if WHAT == "a counter of 32 bits":
        tle.gpu.keep_in_step(x_ptr, 0)
    elif WHAT == "no counter":
        tle.gpu.leave_step(n, 0, 0)
    elif WHAT == "a turn of floats":
        tle.gpu.keep_in_step(counter_ptr, 1.0)
    elif WHAT == "many turns":
        tle.gpu.leave_step(counter_ptr, tl.arange(0, 4), 4)
