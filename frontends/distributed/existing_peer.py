"""A peer that the context does not have: on a CPU a fault, and not an access to anybody's memory.

On a GPU the table has zeros behind its members, and the address that comes of it is one that the hardware refuses; a
look at each call would cost there.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_barrier import program_number
from tle_raw.frontends.distributed.device_memory import rank_of, world_of
from tle_raw.frontends.distributed.device_waits import record_fault
from tle_raw.frontends.distributed.traced_call import place_of_call
from tle_raw.frontends.lite.traced_call import call_kernel_function
from tle_raw.regions.stages import compiled_target

_NO_SUCH_MEMBER = tl.constexpr(layout.NO_SUCH_MEMBER)


def existing_peer(peer: core.tensor, context: core.tensor, semantic: Any, generator: Any) -> core.tensor:
    """A peer's number, i32; on a CPU this device's own in place of one that the context does not have."""
    if compiled_target() != "cpu":
        return peer
    place = place_of_call(semantic, generator)
    return call_kernel_function(_existing, peer, context, place, semantic=semantic, generator=generator)


@triton.jit
def _existing(peer, context, place):  # type: ignore[no-untyped-def]
    world = world_of(context)
    if (peer < 0) | (peer >= world):
        record_fault(context, peer * 0 + _NO_SUCH_MEMBER, peer, program_number(), peer * 0, peer, world, place)
        peer = rank_of(context)
    return peer
