"""Copies of one tile into the buffers of several blocks of a cluster, of which each makes a part (TMA multicast)."""

from __future__ import annotations

from math import prod
from typing import Any

from tle_raw.errors import ArgumentTypeError, Row, ShapeError, SharedBufferError
from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.barrier_value import COUNTING, check_kind
from tle_raw.frontends.gpu.barriers import check_barrier
from tle_raw.frontends.gpu.buffered_tensor import buffered_tensor
from tle_raw.frontends.gpu.checks import check_buffer, check_in_shared_memory, check_whole_tensor
from tle_raw.frontends.gpu.cluster_group import cluster_group
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import memory_bits
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.tile_places import tile_places
from tle_raw.frontends.gpu.tma_copy import expect, is_descriptor, is_tma_layout, issue, load_tile
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.regions.stages import compiled_target

_ORDER = 8  # rows after which the order of runs in the swizzle is the same again


def load_to_blocks(
    descriptor: Any,
    dst: Any,
    dims: tuple[int, ...],
    offsets: Any,
    bar: Any,
    multicast: Any,
    semantic: Any,
    generator: Any,
) -> None:
    """Copy a tile into this block's buffer, and into those of its neighbours along an axis of a mesh.

    Each block begins the copy of a part, into all buffers, and tells its own barrier of the bytes of the whole tile.
    Elsewhere than on NVIDIA GPUs each copies the whole tile into its own.

    Raises
    ------
    ArgumentTypeError : no descriptor, barrier or axis of blocks of a cluster.
    ShapeError : a descriptor whose block is not the part of one block.
    SharedBufferError : a buffer of which the parts do not lie in one piece each.
    """
    buffer = check_buffer("copy", "dst", dst)
    check_in_shared_memory("copy", "dst", buffer)
    check_whole_tensor("copy", buffer.type)
    if not is_descriptor(descriptor):
        raise ArgumentTypeError(
            "tle.gpu.copy: what goes to several blocks comes by a tensor descriptor",
            table=[Row("src", "a tensor descriptor", describe_value(descriptor))],
        )
    group = plain(multicast)
    if not isinstance(group, cluster_group):
        raise ArgumentTypeError(
            "tle.gpu.copy: to which blocks of the cluster it goes",
            table=[Row("multicast", "tle.multicast_group(mesh, axis)", describe_value(multicast))],
        )
    if group.members == 1:
        load_tile(descriptor, dst, dims, offsets, bar, semantic, generator)
        return
    members = group.members
    one = check_barrier("copy", bar)
    check_kind("copy", one, COUNTING)
    split = _split_axis(descriptor, buffer, dims, members)
    part = _part_type(buffer, split, members)
    places = tile_places(offsets, buffer.type, is_store=False, semantic=semantic)
    expect(one, buffer.type.bytes, semantic, generator)
    slots = part.changed(
        **{name: (members, *getattr(part, name)) for name in ("shape", "memory", "whole")},
    )
    handle = perform(operations.MEMDESC_REINTERPRET, semantic, generator, slots, buffer.handle)
    step = semantic.to_tensor(part.shape[split])
    on_gpu = compiled_target() == "cuda"
    for number in [group.place] if on_gpu else map(semantic.to_tensor, range(members)):
        into = perform(operations.MEMDESC_INDEX, semantic, generator, part, handle, number.handle)
        begin = list(places)
        begin[split] = semantic.add(begin[split], semantic.mul(number, step, False), False)
        among = group.ranks if on_gpu else None
        issue(descriptor, buffered_tensor(into, part), begin, one, semantic, generator, among)


def _split_axis(descriptor: Any, buffer: Any, dims: tuple[int, ...], members: int) -> int:
    """Along which axis of the tile the descriptor's block is one of so many parts."""
    block = tuple(int(plain(dim)) for dim in descriptor.block_shape)
    shape = buffer.type.shape
    if descriptor.dtype != buffer.type.dtype:
        raise ArgumentTypeError(
            "tle.gpu.copy: descriptor and buffer have one dtype",
            table=[Row("dst", str(descriptor.dtype), str(buffer.type.dtype))],
        )
    for axis in range(len(shape)):
        if dims == shape == (*block[:axis], block[axis] * members, *block[axis + 1 :]):
            return axis
    raise ShapeError(
        f"tle.gpu.copy: each of {members} blocks copies a part of the tile, which is the descriptor's block",
        table=[
            Row("shape", str(list(shape)), str(list(dims))),
            Row("block of the descriptor", f"{list(shape)} with one dim divided by {members}", str(list(block))),
        ],
    )


def _part_type(buffer: Any, axis: int, members: int) -> Any:
    """Of a part, which lies in one piece, as a buffer of its shape would."""
    type_ = buffer.type
    shape = tuple(dim // members if number == axis else dim for number, dim in enumerate(type_.shape))
    layout = nv_mma_shared_layout.make_default(list(shape), type_.dtype)
    part = type_.changed(shape=shape, memory=shape, whole=shape, layout=layout, storage=None)
    leading = prod(shape[:axis])
    row = layout.swizzle * 8 // memory_bits(type_.dtype)  # elements that lie side by side
    in_one_piece = leading == 1 and shape[-1] <= row if axis < len(shape) - 1 else shape[-1] % row == 0
    is_whole = is_tma_layout(buffer) and layout == type_.layout and in_one_piece
    if not is_whole or (axis < len(shape) - 1 and shape[axis] % _ORDER):
        raise SharedBufferError(
            "tle.gpu.copy: the parts that blocks copy of a tile lie in one piece each",
            table=[
                Row(
                    "part",
                    f"a multiple of {_ORDER} rows of {row} elements at most, or of {row} columns",
                    f"{list(shape)} of {list(type_.shape)}",
                )
            ],
            hint="divide the rows of a tile as wide as the swizzle (64 elements of 16 bits), or a wider one's columns",
        )
    return part
