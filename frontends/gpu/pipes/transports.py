"""How the fields of a slot got there, and the arrival that says so.

A copy by a tensor descriptor is one of the copy engine (TMA) and counts its bytes at the slot's barrier. A copy from
pointers is ``cp.async``, and each thread's arrives at the barrier when it is done; where tensor cores may read the
field, which see memory another way, the partition waits for its copies and arrives itself. What the kernel's threads
store otherwise is there when they have met. However many fields a slot has, one thread arrives once.
"""

from __future__ import annotations

from typing import Any

from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.pipes.account import Window
from tle_raw.regions.stages import compiled_target

_HOPPER = 90


def copied(window: Window, buffer: Any) -> None:
    """A copy from pointers into a field was begun."""
    window.copies = True
    window.background |= isinstance(buffer.layout, nv_mma_shared_layout)


def publish(window: Window, semantic: Any, generator: Any) -> None:
    """Arrive at the slot's barrier: what was done to the slot is done for whoever waits."""
    on_gpu = generator is not None and compiled_target() == "cuda"
    if window.copies:
        if on_gpu and not (window.background and capability_of(semantic) >= _HOPPER):
            perform(operations.ASYNC_ARRIVE, semantic, generator, window.full.handle)
        else:
            perform(operations.ASYNC_COMMIT_GROUP, semantic, generator)
            perform(operations.ASYNC_WAIT, semantic, generator, 0)
    if not window.bytes:
        perform(operations.BARRIER_ARRIVE, semantic, generator, window.full.handle, 1)
        return
    if on_gpu and (window.touched or window.copies):  # all threads are done before one of them arrives
        perform(operations.FENCE, semantic, generator)
        semantic.debug_barrier()
    perform(operations.BARRIER_EXPECT, semantic, generator, window.full.handle, window.bytes)
