"""Waiting for a peer in a kernel: until memory has what is wanted, a time limit has passed, or another wait has failed.

Every thread of the program leaves at the same turn: what ends the loop comes from atomics, whose results Triton gives
to all of them alike. A clock that each thread reads for itself would part them at the next barrier.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_memory import own_part, rank_of
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.regions.stages import compiled_target

_CLOCK = tl.constexpr(layout.CLOCK)
_FAULT = tl.constexpr(layout.FAULT)
_REPORT = tl.constexpr(layout.REPORT)
_TIME_LIMIT = tl.constexpr(layout.TIME_LIMIT)
_PLACE = tl.constexpr(layout.FAULT_PLACE)
_TURNS = tl.constexpr(256)  # of a loop, about as many microseconds, between two looks at the clock


@kernel_function
def is_on_gpu(_semantic: Any = None, _generator: Any = None) -> Any:
    """Whether the kernel is for a GPU. There a wait has a time limit; on a CPU a launch that stands still is ended."""
    return tl.constexpr(_generator is not None and compiled_target() == "cuda")


@triton.jit
def time_now(context):  # type: ignore[no-untyped-def]
    """Nanoseconds, the same for all threads: the latest time that any program of the device has read."""
    clock = own_part(context, _CLOCK, tl.int64)
    read = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
    tl.atomic_max(clock, read, sem="relaxed", scope="gpu")
    return tl.atomic_add(clock, 0, sem="relaxed", scope="gpu")


@triton.jit
def has_failed(context):  # type: ignore[no-untyped-def]
    """Whether a wait of this device came to nothing: then no other one waits."""
    return tl.atomic_add(own_part(context, _FAULT, tl.int64), 0, sem="relaxed", scope="gpu") != 0


@triton.jit
def is_given_up(context, turns, start):  # type: ignore[no-untyped-def]
    """``(whether to leave a wait, when it began)``, asked at each turn; now and then it looks."""
    leave = False
    if is_on_gpu():  # noqa: SIM102  (the first is known while tracing, the second is not)
        if turns & (_TURNS - 1) == 1:
            now = time_now(context)
            if turns == 1:
                start = now
            limit = tl.load(context + _TIME_LIMIT)
            leave = ((limit != 0) & (now - start > limit)) | has_failed(context)
    return leave, start


@triton.jit
def record_fault(context, kind, awaited, block, slot, found, wanted, place):  # type: ignore[no-untyped-def]
    """Report the device's first fault to the host; later ones are left out. The numbers are integers of any size."""
    fault = own_part(context, _FAULT, tl.int64)
    if tl.atomic_cas(fault, tl.full([], 0, tl.int64), kind.to(tl.int64), sem="relaxed", scope="gpu") == 0:
        report = tl.load(context + _REPORT).to(tl.pointer_type(tl.int64))
        tl.store(report + 1, rank_of(context).to(tl.int64))
        tl.store(report + 2, awaited.to(tl.int64))
        tl.store(report + 3, block.to(tl.int64))
        tl.store(report + 4, slot.to(tl.int64))
        tl.store(report + 5, found.to(tl.int64))
        tl.store(report + 6, wanted.to(tl.int64))
        for word in tl.static_range(len(place)):
            tl.store(report + _PLACE + word, place[word])
        tl.atomic_add(fault, 0, sem="release", scope="sys")  # the words come before their kind
        tl.store(report, kind.to(tl.int64))
