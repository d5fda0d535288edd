"""A peer, or memory, that the context does not have: on a CPU a fault, and not an access to anybody's memory.

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
from tle_raw.frontends.distributed.device_memory import peer_pointer, rank_of, region_of, world_of
from tle_raw.frontends.distributed.device_waits import record_fault
from tle_raw.frontends.distributed.traced_call import place_of_call
from tle_raw.frontends.lite.traced_call import call_kernel_function
from tle_raw.regions.peers import OUTSIDE
from tle_raw.regions.stages import compiled_target

_NO_SUCH_MEMBER = tl.constexpr(layout.NO_SUCH_MEMBER)
_BYTES = tl.constexpr(layout.BYTES)
_OUTSIDE = tl.constexpr(OUTSIDE)


def pointer_of_peer(
    x: core.tensor, peer: core.tensor, context: core.tensor, semantic: Any, generator: Any
) -> core.tensor:
    """``peer_pointer``, on a CPU of what the context has."""
    own, there = own_pointer(x, context, semantic, generator), existing_peer(peer, context, semantic, generator)
    return call_kernel_function(peer_pointer, own, there, context, semantic=semantic, generator=generator)


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


def own_pointer(x: core.tensor, context: core.tensor, semantic: Any, generator: Any) -> core.tensor:
    """Pointers that a peer's are to be made of; under ``knobs.debug`` those outside of the context's memory lead
    nowhere, so that an access tells of them even where the moved pointer happens to hit another array."""
    if compiled_target() != "cpu" or not semantic.builder.options.debug_checks:
        return x
    return call_kernel_function(_own, x, context, semantic=semantic, generator=generator)


@triton.jit
def _own(x, context):  # type: ignore[no-untyped-def]
    begin, address = region_of(context, rank_of(context)), x.to(tl.int64)
    is_own = (address >= begin) & (address < begin + tl.load(context + _BYTES).to(tl.int64))
    return tl.where(is_own, address, _OUTSIDE).to(x.dtype)
