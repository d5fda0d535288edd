"""All-reduce, all-gather and reduce-scatter between devices: kernels of one step for small tensors, or tile by tile.

Sums are of f32, in the order of the members, so that all members have the same bits.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_barrier import program_number
from tle_raw.frontends.distributed.device_memory import own_part, rank_of, world_of
from tle_raw.frontends.distributed.language import distributed_barrier, remote

_EXPECTED = tl.constexpr(layout.EXPECTED)


@triton.jit  # type: ignore[untyped-decorator]
def push_small(  # type: ignore[no-untyped-def]
    context, x_ptr, out_ptr, staging_ptr, n, mesh: tl.constexpr, world: tl.constexpr, scatters: tl.constexpr,
    gathers: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """A collective of one barrier: each program sends its piece to all peers' staging memory, meets them, and adds.

    ``staging_ptr`` has ``BLOCK`` elements for each program, parity and sender, in the context's memory. Two parities
    are enough: who has met the peers once more has read what the meeting before brought. ``n`` is the number of
    elements that a member sends to each: ``scatters`` says that they differ for each, ``gathers`` that none are added.
    """
    me, row = rank_of(context), tl.program_id(0) * world
    lane = tl.arange(0, BLOCK)
    i = tl.program_id(0) * BLOCK + lane
    inside = i < n
    parities = 0
    for peer in tl.static_range(world):
        if peer != me:
            parity = _parity(context, peer)
            parities |= parity << peer
            piece = tl.load(x_ptr + i + (peer * n if scatters else 0), mask=inside)
            there = remote(staging_ptr + (2 * (row + me) + parity) * BLOCK, peer, context)
            tl.store(there + lane, piece, mask=inside)
    own = tl.load(x_ptr + i + (me * n if scatters else 0), mask=inside)
    distributed_barrier(mesh, context)
    total = tl.zeros([BLOCK], tl.float32)
    for peer in tl.static_range(world):
        came = own
        if peer != me:
            slot = 2 * (row + peer) + ((parities >> peer) & 1)
            came = tl.load(staging_ptr + slot * BLOCK + lane, mask=inside)
        if gathers:
            tl.store(out_ptr + peer * n + i, came, mask=inside)
        else:
            total += came.to(tl.float32)
    if not gathers:
        tl.store(out_ptr + i, total.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _parity(context, peer):  # type: ignore[no-untyped-def]
    """Whether this program has met the peer an odd number of times; both say the same."""
    expected = own_part(context, _EXPECTED, tl.int32) + program_number() * world_of(context) + peer
    return tl.load(expected) & 1


@triton.jit  # type: ignore[untyped-decorator]
def pull_sum(  # type: ignore[no-untyped-def]
    context, x_ptr, out_ptr, n, mesh: tl.constexpr, world: tl.constexpr, shares: tl.constexpr,
    spreads: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Add what all members have: of ``n`` elements, or of each member's own ``n`` of ``world * n`` where it ``shares``.

    Where it ``spreads`` them, the sums are written to all members' tensors, from the same element on (the second half
    of an all-reduce in two steps), and else to this member's ``out_ptr``.
    """
    me = rank_of(context)
    first = me * n if shares else 0
    distributed_barrier(mesh, context)
    for at in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = tl.multiple_of(at, BLOCK) + tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], tl.float32)
        for member in tl.static_range(world):
            total += tl.load(remote(x_ptr, member, context) + first + i, mask=i < n).to(tl.float32)
        result = total.to(out_ptr.dtype.element_ty)
        if spreads:
            for member in tl.static_range(world):
                tl.store(remote(out_ptr, member, context) + first + i, result, mask=i < n)
        else:
            tl.store(out_ptr + i, result, mask=i < n)
    distributed_barrier(mesh, context)


@triton.jit  # type: ignore[untyped-decorator]
def push_sum(  # type: ignore[no-untyped-def]
    context, x_ptr, out_ptr, n, mesh: tl.constexpr, world: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Add what all members have of ``world * n`` elements, each member ``n`` of them, by writing to peers alone.

    Links carry more when nothing is asked for over them. Each member sends to every peer what it has of the peer's
    share, then adds up its own share and sends the sums to all. What is to be added waits in ``out_ptr``: of two
    members where its sum will stand, which only the member itself writes; of more in the sender's share, which the
    sender's sums may not reach before all have been read.
    """
    me = rank_of(context)
    distributed_barrier(mesh, context)
    for at in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = tl.multiple_of(at, BLOCK) + tl.arange(0, BLOCK)
        for peer in tl.static_range(world):
            if peer != me:
                piece = tl.load(x_ptr + peer * n + i, mask=i < n)
                there = remote(out_ptr, peer, context) + (peer if world == 2 else me) * n
                tl.store(there + i, piece, mask=i < n)
    distributed_barrier(mesh, context)
    for at in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = tl.multiple_of(at, BLOCK) + tl.arange(0, BLOCK)
        own = tl.load(x_ptr + me * n + i, mask=i < n).to(tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        for member in tl.static_range(world):
            if member == me:
                total += own
            else:
                came = out_ptr + (me if world == 2 else member) * n
                total += tl.load(came + i, mask=i < n).to(tl.float32)
        result = total.to(out_ptr.dtype.element_ty)
        if world == 2:
            for member in tl.static_range(world):
                tl.store(remote(out_ptr, member, context) + me * n + i, result, mask=i < n)
        else:
            tl.store(out_ptr + me * n + i, result, mask=i < n)
    distributed_barrier(mesh, context)
    if world > 2:
        for at in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
            i = tl.multiple_of(at, BLOCK) + tl.arange(0, BLOCK)
            piece = tl.load(out_ptr + me * n + i, mask=i < n)
            for peer in tl.static_range(world):
                if peer != me:
                    tl.store(remote(out_ptr, peer, context) + me * n + i, piece, mask=i < n)
        distributed_barrier(mesh, context)


@triton.jit  # type: ignore[untyped-decorator]
def push_all(  # type: ignore[no-untyped-def]
    context, x_ptr, out_ptr, n, mesh: tl.constexpr, world: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Write this member's ``n`` elements to its place in all members' ``out_ptr``."""
    me = rank_of(context)
    distributed_barrier(mesh, context)
    for at in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = tl.multiple_of(at, BLOCK) + tl.arange(0, BLOCK)
        piece = tl.load(x_ptr + i, mask=i < n)
        for member in tl.static_range(world):
            tl.store(remote(out_ptr, member, context) + me * n + i, piece, mask=i < n)
    distributed_barrier(mesh, context)


@triton.jit  # type: ignore[untyped-decorator]
def pull_all(  # type: ignore[no-untyped-def]
    context, x_ptr, out_ptr, n, mesh: tl.constexpr, world: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Read the ``n`` elements that each member has, into this member's ``out_ptr``."""
    distributed_barrier(mesh, context)
    for at in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = tl.multiple_of(at, BLOCK) + tl.arange(0, BLOCK)
        for member in tl.static_range(world):
            piece = tl.load(remote(x_ptr, member, context) + i, mask=i < n)
            tl.store(out_ptr + member * n + i, piece, mask=i < n)
    distributed_barrier(mesh, context)
