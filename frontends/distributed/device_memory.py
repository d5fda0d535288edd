"""Peers' memory in kernels: who this device is, and pointers to the same place in a peer's memory.

``context`` is a pointer to the table of ``context_layout``. A peer's memory is read and written with ordinary loads,
stores and atomics: its region is mapped into this device's addresses.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tle_raw.frontends.distributed import context_layout as layout

_RANK = tl.constexpr(layout.RANK)
_WORLD = tl.constexpr(layout.WORLD)
_HEAPS = tl.constexpr(layout.HEAPS)
_PER_NODE = tl.constexpr(layout.PER_NODE)


@triton.jit
def rank_of(context):  # type: ignore[no-untyped-def]
    """The number of this member, i32."""
    return tl.load(context + _RANK).to(tl.int32)


@triton.jit
def world_of(context):  # type: ignore[no-untyped-def]
    """How many members the context has, i32."""
    return tl.load(context + _WORLD).to(tl.int32)


@triton.jit
def region_of(context, member):  # type: ignore[no-untyped-def]
    """The address of a member's region, i64; 0 where no pointer leads there."""
    return tl.load(context + _HEAPS + member).to(tl.int64)


@triton.jit
def is_on_own_node(context, member):  # type: ignore[no-untyped-def]
    """Whether members, a scalar or a tensor of numbers, are of the same host as this one."""
    size = tl.load(context + _PER_NODE).to(tl.int32)
    return member // size == rank_of(context) // size


@triton.jit  # type: ignore[untyped-decorator]
def own_part(context, word: tl.constexpr, dtype: tl.constexpr):  # type: ignore[no-untyped-def]
    """A pointer to a part of this member's region, by the word of the table that has its offset."""
    own = region_of(context, rank_of(context))
    return (own + tl.load(context + word)).to(tl.pointer_type(dtype))


@triton.jit
def peer_pointer(x, peer, context):  # type: ignore[no-untyped-def]
    """Where a peer has what ``x`` points to here: a pointer, or a tensor of pointers, into the context's tensors.

    It is ``x`` moved by the distance of the two regions, which are aligned to 256 bytes: what Triton knows of ``x``,
    that it is contiguous and how it is aligned, it knows of the result.
    """
    itemsize: tl.constexpr = (x.dtype.element_ty.primitive_bitwidth + 7) // 8
    distance = region_of(context, peer) - region_of(context, rank_of(context))
    return x + tl.multiple_of(distance // itemsize, 256 // itemsize)
