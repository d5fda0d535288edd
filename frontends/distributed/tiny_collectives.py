"""Collective operations on a few KB: each word travels with a number that says to which call it belongs.

Who receives waits for the words themselves, so that nothing is fenced and no barrier is needed: one way over the link
is all that it takes, for twice the bytes. A GPU stores and loads eight bytes that are aligned as one; on a CPU they are
atomics.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_barrier import program_number
from tle_raw.frontends.distributed.device_memory import peer_pointer, rank_of
from tle_raw.frontends.distributed.device_waits import is_given_up, is_on_gpu, record_fault
from tle_raw.frontends.distributed.traced_call import place_of_call
from tle_raw.frontends.lite.kernel_function import kernel_function

_AT_BARRIER = tl.constexpr(layout.AT_BARRIER)


@kernel_function
def _place(_semantic: Any = None, _generator: Any = None) -> core.tuple:
    return place_of_call(_semantic, _generator)


@triton.jit  # type: ignore[untyped-decorator]
def push_words(  # type: ignore[no-untyped-def]
    context, x_ptr, out_ptr, staging_ptr, calls_ptr, n, dtype: tl.constexpr, world: tl.constexpr,
    scatters: tl.constexpr, gathers: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Send ``n`` words of 4 bytes to each peer, and add what comes from them, or where it ``gathers`` keep all.

    ``staging_ptr`` has ``BLOCK`` words of 8 bytes for each program, parity and sender, in the context's memory, and is
    zero at first. ``calls_ptr`` counts this member's calls for each program. ``dtype`` is what words are made of. Two
    parities are enough: whose words of a call have come has read those of the call before.
    """
    me, row = rank_of(context), tl.program_id(0) * world
    lane = tl.arange(0, BLOCK)
    i = tl.program_id(0) * BLOCK + lane
    inside = i < n
    call = tl.load(calls_ptr + tl.program_id(0)) + 1
    half, stamp = (call & 1) * BLOCK, call.to(tl.int64) << 32
    for peer in tl.static_range(world):
        if peer != me:
            word = tl.load(x_ptr + i + (peer * n if scatters else 0), mask=inside, other=0)
            there = peer_pointer(staging_ptr + 2 * (row + me) * BLOCK + half, peer, context)
            _send(there + lane, (word.to(tl.int64) & 0xFFFFFFFF) | stamp, inside)
    own = tl.load(x_ptr + i + (me * n if scatters else 0), mask=inside, other=0)
    low, high = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for peer in tl.static_range(world):
        came = own
        if peer != me:
            came = _await_words(context, staging_ptr + 2 * (row + peer) * BLOCK + half + lane, call, inside, peer)
        if gathers:
            tl.store(out_ptr + peer * n + i, came, mask=inside)
        else:
            first, second = _unpacked(came, dtype)
            low += first
            high += second
    if not gathers:
        tl.store(out_ptr + i, _packed(low, high, dtype), mask=inside)
    tl.debug_barrier()  # all threads know the call
    tl.store(calls_ptr + tl.program_id(0), call)


@triton.jit
def _await_words(context, pointers, call, inside, peer):  # type: ignore[no-untyped-def]
    found = _received(pointers, inside)
    waits = _is_missing(found, call, inside)
    if waits:
        turns = 0
        start = tl.full([], 0, tl.int64)
        given_up = False
        while waits & (not given_up):
            turns += 1
            found = _received(pointers, inside)
            waits = _is_missing(found, call, inside)
            given_up, start = is_given_up(context, turns, start)
        if waits:
            kind = call * 0 + _AT_BARRIER
            record_fault(context, kind, kind * 0 + peer, program_number(), kind * 0, call - 1, call, _place())
    return found.to(tl.int32)


@triton.jit
def _send(pointers, words, inside):  # type: ignore[no-untyped-def]
    if is_on_gpu():
        tl.store(pointers, words, mask=inside, cache_modifier=".wt")
    else:
        tl.atomic_xchg(pointers, words, mask=inside, sem="relaxed", scope="sys")


@triton.jit
def _received(pointers, inside):  # type: ignore[no-untyped-def]
    if is_on_gpu():
        words = tl.load(pointers, mask=inside, other=0, volatile=True)
    else:
        words = tl.atomic_add(pointers, 0, mask=inside, sem="relaxed", scope="sys")
    return words


@triton.jit
def _is_missing(found, call, inside):  # type: ignore[no-untyped-def]
    return tl.max((inside & ((found >> 32).to(tl.int32) != call)).to(tl.int32)) != 0


@triton.jit  # type: ignore[untyped-decorator]
def _unpacked(word, dtype: tl.constexpr):  # type: ignore[no-untyped-def]
    """The numbers in a word, as f32: two of 16 bits, or one and a zero."""
    if dtype == tl.float32:
        first, second = word.to(tl.float32, bitcast=True), tl.zeros(word.shape, tl.float32)
    else:
        first = word.to(tl.int16).to(dtype, bitcast=True).to(tl.float32)
        second = (word >> 16).to(tl.int16).to(dtype, bitcast=True).to(tl.float32)
    return first, second


@triton.jit  # type: ignore[untyped-decorator]
def _packed(first, second, dtype: tl.constexpr):  # type: ignore[no-untyped-def]
    if dtype == tl.float32:
        word = first.to(tl.int32, bitcast=True)
    else:
        low = first.to(dtype).to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF
        word = low | (second.to(dtype).to(tl.int16, bitcast=True).to(tl.int32) << 16)
    return word
