"""Barriers between devices in kernels: each program of a launch meets the program of the same number on the peers.

A member adds one to its own arrivals on each peer, by a release of system scope, and waits until as many have come
from each peer as it expects. Both counts only grow, so that there is nothing to reset between barriers or launches,
and any group of members may meet as long as each two of them meet in the same order.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_memory import is_on_own_node, rank_of, region_of, world_of
from tle_raw.frontends.distributed.device_waits import is_given_up, record_fault
from tle_raw.frontends.distributed.nvshmem_calls import change_number, see_what_came, wait_for_puts

_HEAPS = tl.constexpr(layout.HEAPS)
_BLOCKS = tl.constexpr(layout.BLOCKS)
_ARRIVALS = tl.constexpr(layout.ARRIVALS)
_EXPECTED = tl.constexpr(layout.EXPECTED)
_AT_BARRIER = tl.constexpr(layout.AT_BARRIER)
_TOO_MANY_BLOCKS = tl.constexpr(layout.TOO_MANY_BLOCKS)
_OTHER_WORLD = tl.constexpr(layout.OTHER_WORLD)
_OTHER_NODES = tl.constexpr(layout.OTHER_NODES)
_PER_NODE = tl.constexpr(layout.PER_NODE)


@triton.jit
def program_number():  # type: ignore[no-untyped-def]
    """The number of this program among all of the launch, i32."""
    row = tl.program_id(1) + tl.num_programs(1) * tl.program_id(2)
    return tl.program_id(0) + tl.num_programs(0) * row


@triton.jit  # type: ignore[untyped-decorator]
def arrive(context, others, by_nvshmem: tl.constexpr):  # type: ignore[no-untyped-def]
    """Tell those peers that this program has come; what all its threads wrote before is theirs to see.

    ``others`` is an i1 tensor with an element for each member, and some more. Peers of other nodes are told
    ``by_nvshmem``, after all that was put has arrived.
    """
    me = rank_of(context)
    peers = tl.arange(0, others.shape[0])
    place = tl.load(context + _ARRIVALS).to(tl.int64) + 4 * (program_number() * world_of(context) + me)
    near = others
    if by_nvshmem:
        near = others & is_on_own_node(context, peers)
        wait_for_puts()
    tl.debug_barrier()
    regions = tl.load(context + _HEAPS + peers, mask=near, other=0).to(tl.int64)
    tl.atomic_add((regions + place).to(tl.pointer_type(tl.int32)), 1, mask=near, sem="release", scope="sys")
    if by_nvshmem:
        number = (region_of(context, me) + place).to(tl.pointer_type(tl.int32))
        far = others & (near == 0)
        for peer in range(world_of(context)):
            if tl.max((far & (peers == peer)).to(tl.int32)) != 0:
                change_number(number, 1, True, peer)


@triton.jit  # type: ignore[untyped-decorator]
def await_arrivals(context, others, by_nvshmem: tl.constexpr):  # type: ignore[no-untyped-def]
    """Wait for those peers, once for each time that they arrive; all threads see what they wrote before.

    ``(missing, found, wanted)``: whether the wait was given up, and what came from each peer and should have.
    """
    me = rank_of(context)
    peers = tl.arange(0, others.shape[0])
    row = region_of(context, me) + 4 * (program_number() * world_of(context) + peers)
    arrivals = (row + tl.load(context + _ARRIVALS)).to(tl.pointer_type(tl.int32))
    expected = (row + tl.load(context + _EXPECTED)).to(tl.pointer_type(tl.int32))
    wanted = tl.atomic_add(expected, 1, mask=others, sem="relaxed", scope="gpu") + 1
    found = tl.atomic_add(arrivals, 0, mask=others, sem="acquire", scope="sys")
    waits = _is_missing(found, wanted, others)
    if waits:
        turns = 0
        start = tl.full([], 0, tl.int64)
        given_up = False
        while waits & (not given_up):
            turns += 1
            found = tl.atomic_add(arrivals, 0, mask=others, sem="relaxed", scope="sys")
            waits = _is_missing(found, wanted, others)
            given_up, start = is_given_up(context, turns, start)
        found = tl.atomic_add(arrivals, 0, mask=others, sem="acquire", scope="sys")
    if by_nvshmem:
        see_what_came(region_of(context, me).to(tl.pointer_type(tl.int32)))
    tl.debug_barrier()
    return waits, found, wanted


@triton.jit
def _is_missing(found, wanted, others):  # type: ignore[no-untyped-def]
    return tl.max((others & (found - wanted < 0)).to(tl.int32)) != 0


@triton.jit  # type: ignore[untyped-decorator]
def meet(  # type: ignore[no-untyped-def]
    context, others, world: tl.constexpr, per_node: tl.constexpr, arrives: tl.constexpr, waits: tl.constexpr,
    by_nvshmem: tl.constexpr, place
):  # fmt: skip
    """A barrier, or one half of it, of a launch that fits its context; a fault of one that does not.

    ``others`` are the peers to meet, ``world`` is the number of members that the kernel's mesh has, and ``per_node``
    that of a node, where the context has several.
    """
    members, block, blocks = world_of(context), program_number(), tl.load(context + _BLOCKS).to(tl.int32)
    kind, awaited, came, should = 0, -1, members, 0 + world
    of_node = per_node if per_node == 0 else tl.load(context + _PER_NODE).to(tl.int32)
    if members != world:
        kind += _OTHER_WORLD
    elif of_node != per_node:
        kind += _OTHER_NODES
        came, should = of_node, 0 + per_node
    elif block >= blocks:
        kind += _TOO_MANY_BLOCKS
        came, should = block + 1, blocks
    else:
        if arrives:
            arrive(context, others, by_nvshmem)
        if waits:
            is_missing, found, wanted = await_arrivals(context, others, by_nvshmem)
            if is_missing:
                kind += _AT_BARRIER
                peers = tl.arange(0, others.shape[0])
                awaited = tl.min(tl.where(others & (found - wanted < 0), peers, others.shape[0]))
                came = tl.sum(tl.where(peers == awaited, found, 0))
                should = tl.sum(tl.where(peers == awaited, wanted, 0))
    if kind != 0:
        record_fault(context, kind, awaited, block, block - block, came, should, place)
