"""Kernels with shared buffers, for the tests of what they compile to and of what they give."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def step(current, following, pointers, acc):
    following.store(tl.load(pointers))
    return acc + current.load(), following


@triton.jit
def ring(x, o, n, B: tl.constexpr):
    """The sum of n tiles through two slots; one is carried by the loop and passed through a function."""
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    acc = tl.zeros([B, B], tl.float32)
    slots = tle.gpu.alloc([2, B, B], tl.float32)
    current = slots.slot(0)
    current.store(tl.load(x + at))
    for i in range(n):
        following = slots[(i + 1) % 2]
        acc, current = step(current, following, x + at + (i + 1) * B * B, acc)
    tl.store(o + at, acc)


@triton.jit
def while_ring(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    acc = tl.zeros([B, B], tl.float32)
    slots = tle.gpu.alloc([2, B, B], tl.float32)
    current, other = slots[0], slots[1]
    current.store(tl.load(x + at))
    i = 0
    while i < n:
        i += 1
        other.store(tl.load(x + at + i * B * B))
        acc += current.load()
        current, other = other, current
    tl.store(o + at, acc)


@triton.jit
def chosen(x, o, n, B: tl.constexpr):
    """A buffer that a branch gives."""
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    slots = tle.gpu.alloc([3, B, B], tl.float32)
    for i in tl.static_range(3):
        slots.slot(i).store(tl.load(x + i * B * B + at))
    taken = slots.slot(0)
    if n > 1:
        taken = slots.slot(n)
    tl.store(o + at, taken.load())


@triton.jit
def copied(x, o, n, B: tl.constexpr):
    """In and out again, transposed."""
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tile = tle.gpu.alloc([B, B], x.dtype.element_ty)
    tle.gpu.copy(x + at, tile, [B, B])
    tle.gpu.copy(tile.trans(), o + at, [B, B])


@triton.jit
def masked(x, o, n, B: tl.constexpr):
    """What the mask leaves out is 0 in the buffer, and stays as it is in global memory."""
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    at = rows * B + columns
    tile = tle.gpu.alloc([B, B], x.dtype.element_ty)
    tle.gpu.copy(x + at, tile, [B, B], mask=columns < n)
    tle.gpu.copy(tile, o + at, [B, B], mask=rows < n)


@triton.jit
def groups(x, o, n, B: tl.constexpr, S: tl.constexpr):
    """A ring of asynchronous copies, S - 1 ahead."""
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    slots = tle.gpu.alloc([S, B, B], tl.float32)
    for s in tl.static_range(S - 1):
        tle.gpu.copy(x + s * B * B + at, slots.slot(s), [B, B], mask=s < n, is_async=True)
        tle.gpu.async_commit_group()
    acc = tl.zeros([B, B], tl.float32)
    for i in range(n):
        tle.gpu.async_wait_group(S - 2)
        acc += slots[i % S].load() * (i + 1)
        j = i + S - 1
        tle.gpu.copy(x + j * B * B + at, slots[j % S], [B, B], mask=j < n, is_async=True)
        tle.gpu.async_commit_group()
    tl.store(o + at, acc)


@triton.jit
def parts(x, o, n, B: tl.constexpr):
    """Quarters change places, by views of one buffer."""
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    half: tl.constexpr = B // 2
    small = tl.arange(0, half)[:, None] * B + tl.arange(0, half)[None, :]
    tile = tle.gpu.alloc([B, B], tl.float32, nv_mma_shared_layout=False)
    tile.store(tl.load(x + rows * B + columns))
    for i in tl.static_range(2):
        for j in tl.static_range(2):
            part = tile.subslice(i * half, half, 0).subslice(j * half, half)
            tl.store(o + (1 - i) * half * B + (1 - j) * half + small, part.load())


@triton.jit
def reshaped(x, o, n, B: tl.constexpr):
    """Rows of 2 B of the same memory, and single rows of B."""
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tile = tle.gpu.alloc([B, B], tl.float32, nv_mma_shared_layout=False)
    tile.store(tl.load(x + at))
    wide = tile.reshape([B // 2, 2 * B])
    wide_at = tl.arange(0, B // 2)[:, None] * 2 * B + tl.arange(0, 2 * B)[None, :]
    tl.store(o + wide_at, wide.load() * 2)
    row = tile.slot(n)
    tl.store(o + tl.arange(0, B), row.load())


@triton.jit
def aliased(x, o, n, B: tl.constexpr):
    """The second half of a buffer's bytes as integers."""
    i = tl.arange(0, B)
    words = tle.gpu.alloc([2 * B], tl.float32, init_value=1.0)
    bits = tle.gpu.alloc([B], tl.int32, alias=words, alias_offset_bytes=4 * B)
    words.subslice(B, B).store(tl.load(x + i))
    tl.store(o + i, bits.load().to(tl.float32, bitcast=True))
    tl.store(o + B + i, words.subslice(0, B).load())


@triton.jit
def uneven(x, o, n, B: tl.constexpr):
    """Dims that are no powers of two: three slots, and a buffer of 3/2 B rows, of which two parts are used."""
    i = tl.arange(0, B)
    at = tl.arange(0, B)[:, None] * B + i[None, :]
    slots = tle.gpu.alloc([3, B, B], tl.float32, init_value=0)
    slots.slot(2).store(tl.load(x + at))
    rows = tle.gpu.alloc([3 * B // 2, B], tl.float32, nv_mma_shared_layout=False)
    rows.subslice(0, B, 0).store(slots.slot(2).load() + slots.slot(1).load())
    rows.subslice(B, B // 2, 0).store(1.0)
    tl.store(o + at, rows.subslice(0, B, 0).load())
    half = tl.arange(0, B // 2)[:, None] * B + i[None, :]
    tl.store(o + B * B + half, rows.subslice(B, B // 2, 0).load())


@triton.jit
def laid_out(x, o, n, B: tl.constexpr, LAYOUT: tl.constexpr):
    """Through a buffer of a layout of the kernel's own."""
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    if LAYOUT == "swizzled":
        tile = tle.gpu.alloc([B, B], x.dtype.element_ty, tle.gpu.swizzled_shared_layout(4, 1, 8, [1, 0]))
    elif LAYOUT == "columns":
        tile = tle.gpu.alloc([B, B], x.dtype.element_ty, tle.gpu.swizzled_shared_layout(1, 1, 1, [0, 1]))
    elif LAYOUT == "padded":
        padded: tl.constexpr = tle.gpu.padded_shared_layout.make_default([B, B], x.dtype.element_ty)
        tile = tle.gpu.alloc([B, B], x.dtype.element_ty, padded)
    elif LAYOUT == "mma columns":
        layout: tl.constexpr = tle.gpu.nv_mma_shared_layout([B, B], [0, 1], x.dtype.element_ty)
        tile = tle.gpu.alloc([B, B], x.dtype.element_ty, layout)
    else:
        tile = tle.gpu.alloc([B, B], x.dtype.element_ty)
    tle.gpu.copy(x + at, tile, [B, B])
    tl.store(o + at, tl.trans(tile.trans().load()) + tile.load())


@triton.jit
def dtypes(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tile = tle.gpu.alloc([B], x.dtype.element_ty)
    tle.gpu.copy(x + i, tile, [B])
    value = tile.load()
    tile.store(value)
    tl.store(o + i, tle.local_load(tile))
