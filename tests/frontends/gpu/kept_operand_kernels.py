"""Products whose operand is loaded some time before: what happens between, and who may write there."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.compat.flagtree.pipes import pipe as sharing_pipe


@triton.jit
def kept(x_ptr, o_ptr, count, SLOTS: tl.constexpr, HOW: tl.constexpr, B: tl.constexpr):
    """The sum of the products of the square of each tile's maxima with the tile, by way of two pipes."""
    data = tle.pipe(capacity=SLOTS, name="data", tile=tle.gpu.alloc([SLOTS, B, B], tl.float16))
    other = tle.pipe(capacity=1, name="other", row=tle.gpu.alloc([1, B], tl.float32))
    tle.gpu.warp_specialize(
        [
            (_multiply, (data.reader(), other.reader(), o_ptr, count, HOW, B)),
            (_fill, (data.writer(), other.writer(), x_ptr, count, HOW, B)),
        ],
        [4],
    )


@triton.jit
def _multiply(data, other, o_ptr, count, HOW: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for k in range(count):
        tile = data.wait(k).slot
        x = tile.tile.load()
        if HOW == "given back before":
            data.release(k)
        row = other.wait(k).slot.row.load()
        other.release(k)
        weights = tl.broadcast_to(row[:, None], (B, B)).to(tl.float16)
        total = tl.dot(weights, x, total)
        if HOW != "given back before":
            data.release(k)
    tl.store(o_ptr + i[:, None] * B + i[None, :], total)


@triton.jit
def _fill(data, other, x_ptr, count, HOW: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(count):
        x = tl.load(x_ptr + k * B * B + i[:, None] * B + i[None, :])
        slot = data.acquire(k)
        slot.tile.store(x)
        data.commit(k)
        row = other.acquire(k)
        row.row.store(tl.max(x, 1).to(tl.float32))
        other.commit(k)


@triton.jit
def halves(x_ptr, o_ptr, count, HOW: tl.constexpr, B: tl.constexpr):
    """One buffer of two pipes: the left half of a tile is one's, the right one the other's."""
    both = tle.gpu.alloc([1, B, 2 * B], tl.float16)
    left = sharing_pipe(capacity=1, name="left", tile=both)
    right = sharing_pipe(capacity=1, name="right", tile=both)
    tle.gpu.warp_specialize(
        [
            (_multiply_halves, (left.reader(), right.reader(), o_ptr, count, B)),
            (_fill_halves, (left.writer(), right.writer(), x_ptr, count, HOW, B)),
        ],
        [4],
    )


@triton.jit
def _multiply_halves(left, right, o_ptr, count, B: tl.constexpr):
    """left @ right + left.T @ right: the left one is given back before the second product reads the right one."""
    i = tl.arange(0, B)
    rows, columns = tl.broadcast_to(i[:, None], (B, B)), tl.broadcast_to(i[None, :], (B, B))
    total = tl.zeros((B, B), tl.float32)
    for k in range(count):
        at_right = tle.gpu.local_ptr(right.wait(k).slot.tile, (rows, B + columns))
        at_left = tle.gpu.local_ptr(left.wait(k).slot.tile, (rows, columns))
        y, x = tl.load(at_right), tl.load(at_left)
        sums = tl.sum(x.to(tl.float32), 1)
        left.release(k)
        total = tl.dot(tl.broadcast_to(sums[:, None], (B, B)).to(tl.float16), y, total)
        right.release(k)
    tl.store(o_ptr + i[:, None] * B + i[None, :], total)


@triton.jit
def _fill_halves(left, right, x_ptr, count, HOW: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    rows, columns = tl.broadcast_to(i[:, None], (B, B)), tl.broadcast_to(i[None, :], (B, B))
    for k in range(count):
        at = x_ptr + k * 2 * B * B + i[:, None] * B + i[None, :]
        slot = right.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.tile, (rows, B + columns)), tl.load(at + B * B))
        right.commit(k)
        slot = left.acquire(k)
        if HOW == "where the kernel says":
            first = tl.minimum(count, 0)
            tl.store(tle.gpu.local_ptr(slot.tile, (rows, first + columns)), tl.load(at))
        else:
            tl.store(tle.gpu.local_ptr(slot.tile, (rows, columns)), tl.load(at))
        left.commit(k)
