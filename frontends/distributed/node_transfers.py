"""Tiles to and from devices of other nodes, whose memory no pointer reaches: by NVSHMEM, in pieces as large as may be.

A row of a tile that lies in memory without gaps is sent in one piece, by way of a stage of the program in the context's
memory, since what registers hold cannot be read by a network card. Other tiles go number by number.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_barrier import program_number
from tle_raw.frontends.distributed.device_memory import (
    is_on_own_node,
    own_part,
    peer_pointer,
    rank_of,
    region_of,
    world_of,
)
from tle_raw.frontends.distributed.device_waits import record_fault
from tle_raw.frontends.distributed.nvshmem_calls import get_bytes, get_elements, put_bytes, put_elements

_SHARES_MEMORY = tl.constexpr(layout.SHARES_MEMORY)
_BLOCKS = tl.constexpr(layout.BLOCKS)
_STAGES = tl.constexpr(layout.STAGES)
_STAGE_BYTES = tl.constexpr(layout.STAGE_BYTES)
_NOT_REACHED = tl.constexpr(layout.NOT_REACHED)
_NO_SUCH_MEMBER = tl.constexpr(layout.NO_SUCH_MEMBER)


@triton.jit
def reached_pointer(x, peer, context, place):  # type: ignore[no-untyped-def]
    """``peer_pointer`` where there is one; else a fault, and the own memory in its place."""
    world = world_of(context)
    exists = (peer >= 0) & (peer < world)
    known = tl.where(exists, peer, 0)
    shares = is_on_own_node(context, known) | (tl.load(context + _SHARES_MEMORY) != 0)
    if (not exists) | (not shares) | (region_of(context, known) == 0):
        kind = tl.where(exists, _NOT_REACHED, _NO_SUCH_MEMBER)
        record_fault(context, kind, peer, program_number(), peer * 0, peer, world, place)
        peer = rank_of(context)
    return peer_pointer(x, peer, context)


@triton.jit  # type: ignore[untyped-decorator]
def put_tile(  # type: ignore[no-untyped-def]
    pointer, value, mask, peer, context, rows: tl.constexpr, columns: tl.constexpr
):
    """Store a tile where a peer has what ``pointer`` points to here, whichever way leads there.

    ``rows`` and ``columns`` are its sizes where it may go row by row; 0 where it may not.
    """
    if is_on_own_node(context, peer):
        tl.store(peer_pointer(pointer, peer, context), value, mask=mask)
    else:
        heap = region_of(context, rank_of(context))
        offsets, words = tl.where(mask, pointer.to(tl.int64) - heap, -1), _as_integers(value)
        row_bytes: tl.constexpr = columns * words.dtype.primitive_bitwidth // 8
        by_rows = False
        if rows:
            starts, lengths, by_rows = _rows_of(offsets, words, context, rows, columns)
            if by_rows:
                stage = _stage_of(context)
                at = tl.reshape(tl.arange(0, rows * columns), offsets.shape)
                tl.store(stage.to(tl.pointer_type(words.dtype)) + at, words, mask=mask)
                tl.debug_barrier()
                for row in range(rows):
                    start, length = _of_row(starts, row), _of_row(lengths, row)
                    if length > 0:
                        here = stage + row * row_bytes
                        put_bytes((heap + start).to(tl.pointer_type(tl.int8)), here, length, peer)
                tl.debug_barrier()
        if not by_rows:
            put_elements(heap.to(tl.pointer_type(tl.int8)), offsets, words, peer)


@triton.jit  # type: ignore[untyped-decorator]
def get_tile(  # type: ignore[no-untyped-def]
    pointer, mask, other, peer, context, rows: tl.constexpr, columns: tl.constexpr
):
    """The tile that a peer has where ``pointer`` points to here, by whichever way; sizes as in ``put_tile``."""
    found = other
    if is_on_own_node(context, peer):
        found = tl.load(peer_pointer(pointer, peer, context), mask=mask, other=other)
    else:
        heap = region_of(context, rank_of(context))
        offsets, words = tl.where(mask, pointer.to(tl.int64) - heap, -1), _as_integers(other)
        row_bytes: tl.constexpr = columns * words.dtype.primitive_bitwidth // 8
        by_rows = False
        if rows:
            starts, lengths, by_rows = _rows_of(offsets, words, context, rows, columns)
            if by_rows:
                stage = _stage_of(context)
                tl.debug_barrier()
                for row in range(rows):
                    start, length = _of_row(starts, row), _of_row(lengths, row)
                    if length > 0:
                        here = stage + row * row_bytes
                        get_bytes(here, (heap + start).to(tl.pointer_type(tl.int8)), length, peer)
                tl.debug_barrier()
                at = tl.reshape(tl.arange(0, rows * columns), offsets.shape)
                # Volatile: what came before to the same stage may stand in the first cache.
                words = tl.load(stage.to(tl.pointer_type(words.dtype)) + at, mask=mask, other=words, volatile=True)
                tl.debug_barrier()
        if not by_rows:
            words = get_elements(heap.to(tl.pointer_type(tl.int8)), offsets, words, peer)
        found = tl.where(mask, _from_integers(words, other.dtype), other)
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _rows_of(offsets, words, context, rows: tl.constexpr, columns: tl.constexpr):  # type: ignore[no-untyped-def]
    """Where each row begins, how many bytes it has, and whether the tile goes row by row.

    It does where all rows lie without gaps, but for what is cut off behind, and the program's stage holds them.
    ``offsets`` are those of a tile's numbers, negative for such as are left out.
    """
    itemsize: tl.constexpr = words.dtype.primitive_bitwidth // 8
    of_rows, lane = tl.reshape(offsets, [rows, columns]), tl.arange(0, columns)[None, :]
    starts = tl.sum(tl.where(lane == 0, of_rows, 0), axis=1)
    counts = tl.sum((of_rows >= 0).to(tl.int64), axis=1)
    expected = tl.where(lane < counts[:, None], starts[:, None] + lane * itemsize, -1)
    gaps = tl.sum(tl.sum((of_rows != expected).to(tl.int32), axis=1), axis=0)
    return starts, counts * itemsize, (gaps == 0) & _has_stage(context, rows * columns * itemsize)


@triton.jit
def _of_row(numbers, row):  # type: ignore[no-untyped-def]
    return tl.sum(tl.where(tl.arange(0, numbers.shape[0]) == row, numbers, 0), axis=0)


@triton.jit
def _has_stage(context, size):  # type: ignore[no-untyped-def]
    """Whether this program has a stage of so many bytes."""
    return (program_number() < tl.load(context + _BLOCKS)) & (size <= tl.load(context + _STAGE_BYTES))


@triton.jit
def _stage_of(context):  # type: ignore[no-untyped-def]
    """This program's stage, a pointer to i8."""
    return own_part(context, _STAGES, tl.int8) + program_number() * tl.load(context + _STAGE_BYTES).to(tl.int64)


@triton.jit
def _as_integers(value):  # type: ignore[no-untyped-def]
    """The same bits as integers."""
    bits: tl.constexpr = value.dtype.primitive_bitwidth
    if bits == 1:
        words = value.to(tl.int8)
    elif bits == 8:
        words = value.to(tl.int8, bitcast=True)
    elif bits == 16:
        words = value.to(tl.int16, bitcast=True)
    elif bits == 32:
        words = value.to(tl.int32, bitcast=True)
    else:
        words = value.to(tl.int64, bitcast=True)
    return words


@triton.jit  # type: ignore[untyped-decorator]
def _from_integers(words, dtype: tl.constexpr):  # type: ignore[no-untyped-def]
    if dtype == tl.int1:
        value = words != 0
    else:
        value = words.to(dtype, bitcast=True)
    return value
