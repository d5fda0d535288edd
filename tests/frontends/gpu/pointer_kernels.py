"""Kernels with pointers into shared buffers, for the tests of what they compile to and of what they give.

How often a loop runs is a constant: Triton 3.6's interpreter runs no other with a recent NumPy.
"""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def histogram(x, o, n: tl.constexpr, B: tl.constexpr, N: tl.constexpr):
    counts = tle.gpu.alloc([N], tl.int32, init_value=0)
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        values = tl.load(x + at, mask=at < n, other=0)
        tl.atomic_add(tle.gpu.local_ptr(counts, (values,)), 1, mask=at < n)
    tl.store(o + tl.arange(0, N), tl.load(tle.gpu.local_ptr(counts)))


@triton.jit
def laid_out_buffer(dtype: tl.constexpr, R: tl.constexpr, C: tl.constexpr, LAYOUT: tl.constexpr):
    if LAYOUT == "plain":
        buffer = tle.gpu.alloc([R, C], dtype, nv_mma_shared_layout=False)
    elif LAYOUT == "swizzled":
        buffer = tle.gpu.alloc([R, C], dtype, tle.gpu.swizzled_shared_layout(4, 2, 4, [1, 0]))
    elif LAYOUT == "swizzled columns":
        buffer = tle.gpu.alloc([R, C], dtype, tle.gpu.swizzled_shared_layout(2, 1, 8, [0, 1]))
    elif LAYOUT == "columns":
        buffer = tle.gpu.alloc([R, C], dtype, tle.gpu.swizzled_shared_layout(1, 1, 1, [0, 1]))
    elif LAYOUT == "padded":
        buffer = tle.gpu.alloc([R, C], dtype, tle.gpu.padded_shared_layout([[C, 16]], [R, C]))
    elif LAYOUT == "padded twice":
        buffer = tle.gpu.alloc([R, C], dtype, tle.gpu.padded_shared_layout([[16, 16], [C, 32]], [R, C], [0, 1]))
    elif LAYOUT == "mma columns":
        buffer = tle.gpu.alloc([R, C], dtype, tle.gpu.nv_mma_shared_layout([R, C], [0, 1], dtype))
    elif LAYOUT == "mma unswizzled":
        buffer = tle.gpu.alloc([R, C], dtype, tle.gpu.nv_mma_shared_layout([R, C], None, dtype, swizzled=False))
    else:
        buffer = tle.gpu.alloc([R, C], dtype)
    return buffer


LAYOUTS = ["plain", "swizzled", "swizzled columns", "columns", "padded", "padded twice"]
LAYOUTS += ["mma columns", "mma unswizzled", "default"]


@triton.jit
def gathered(x, rows, columns, o, R: tl.constexpr, C: tl.constexpr, N: tl.constexpr, LAYOUT: tl.constexpr):
    """Any elements of a tile, in any order: written by the buffer, read by pointers."""
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    i = tl.arange(0, N)
    tile = laid_out_buffer(x.dtype.element_ty, R, C, LAYOUT)
    tile.store(tl.load(x + at))
    tl.store(o + i, tl.load(tle.gpu.local_ptr(tile, (tl.load(rows + i), tl.load(columns + i)))))


@triton.jit
def scattered(x, rows, columns, o, R: tl.constexpr, C: tl.constexpr, N: tl.constexpr, LAYOUT: tl.constexpr):
    """Written by pointers, first to all elements and then to some; read by the buffer."""
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    i = tl.arange(0, N)
    tile = laid_out_buffer(x.dtype.element_ty, R, C, LAYOUT)
    tl.store(tle.gpu.local_ptr(tile), tl.load(x + at))
    elements = tle.gpu.local_ptr(tile, (tl.load(rows + i), tl.load(columns + i)))
    tl.store(elements, tl.load(x + R * C + i))
    tl.store(o + at, tile.load())


@triton.jit
def masked(x, index, o, n, N: tl.constexpr):
    """What the mask leaves out is ``other``, or is not written."""
    i = tl.arange(0, N)
    buffer = tle.gpu.alloc([N], x.dtype.element_ty)
    buffer.store(tl.full([N], 3, tl.float32).to(x.dtype.element_ty))
    to = tl.load(index + i)
    tl.store(tle.gpu.local_ptr(buffer, (to,)), tl.load(x + i), mask=i % 3 != 0)
    other = tl.full([N], 10, tl.float32).to(x.dtype.element_ty)
    found = tl.load(tle.gpu.local_ptr(buffer, (N - 1 - i,)), mask=i < n, other=other)
    tl.store(o + i, found)


@triton.jit
def reversed_rows(x, o, R: tl.constexpr, C: tl.constexpr):
    """Constants and broadcast indices: rows that come in runs are read in wide accesses."""
    rows, columns = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    tile = tle.gpu.alloc([R, C], x.dtype.element_ty, nv_mma_shared_layout=False)
    tile.store(tl.load(x + rows * C + columns))
    tl.store(o + rows * C + columns, tl.load(tle.gpu.local_ptr(tile, (R - 1 - rows, columns))))
    tl.store(o + R * C + tl.arange(0, C), tl.load(tle.gpu.local_ptr(tile, (1, tl.arange(0, C)))))


@triton.jit
def scalars(x, o, n: tl.constexpr, N: tl.constexpr):
    """One element after the other: the sums of all beginnings, each from the one before."""
    sums = tle.gpu.alloc([N], x.dtype.element_ty)
    tl.store(tle.gpu.local_ptr(sums, (0,)), tl.load(x))
    for i in range(1, n):
        before = tl.load(tle.gpu.local_ptr(sums, (i - 1,)))
        tl.store(tle.gpu.local_ptr(sums, [i]), before + tl.load(x + i))
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(tle.gpu.local_ptr(sums, i), mask=i < n, other=0))


@triton.jit
def doubling_sums(x, o, N: tl.constexpr):
    """The sums of all beginnings, in steps that double: each writes what the next one reads elsewhere."""
    i = tl.arange(0, N)
    sums = tle.gpu.alloc([N], x.dtype.element_ty)
    own = tle.gpu.local_ptr(sums)
    tl.store(own, tl.load(x + i))
    step = 1
    while step < N:
        before = tl.load(tle.gpu.local_ptr(sums, (tl.maximum(i - step, 0),)), mask=i >= step, other=0)
        tl.store(own, tl.load(own) + before)
        step *= 2
    tl.store(o + i, sums.load())


@triton.jit
def in_two_buffers(x, o, n: tl.constexpr, N: tl.constexpr):
    """The same from one slot into the other: one barrier a step."""
    i = tl.arange(0, N)
    slots = tle.gpu.alloc([2, N], x.dtype.element_ty, nv_mma_shared_layout=False)
    slots[0].store(tl.load(x + i))
    for step in range(n):
        before = i - (1 << step)
        given = tl.load(tle.gpu.local_ptr(slots, (step % 2, i)))
        given += tl.load(tle.gpu.local_ptr(slots[step % 2], (tl.maximum(before, 0),)), mask=before >= 0, other=0)
        tl.store(tle.gpu.local_ptr(slots, ((step + 1) % 2, i)), given)
    tl.store(o + i, slots[n % 2].load())


@triton.jit
def views(x, o, B: tl.constexpr, PLAIN: tl.constexpr):
    """Slots, parts and transposed views are pointed into as what they are."""
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    at = rows * B + columns
    H: tl.constexpr = B // 2
    tiles = tle.gpu.alloc([3, B, B], x.dtype.element_ty, nv_mma_shared_layout=not PLAIN)
    for i in tl.static_range(3):
        tl.store(tle.gpu.local_ptr(tiles.slot(i)), tl.load(x + i * B * B + at))
    middle = tiles.slot(1)
    tl.store(o + at, tl.load(tle.gpu.local_ptr(middle.trans(), (rows, columns))))
    half = tl.arange(0, H)
    lower = middle.subslice(H, H, 0).subslice(H, H, 1)
    part = tl.load(tle.gpu.local_ptr(lower, (half[:, None], half[None, :])))
    tl.store(o + B * B + half[:, None] * H + half[None, :], part)
    part = tl.load(tle.gpu.local_ptr(lower.trans()))
    tl.store(o + B * B + H * H + half[:, None] * H + half[None, :], part)
    tl.store(o + 2 * B * B + at, tl.load(tle.gpu.local_ptr(tiles, (2, rows, B - 1 - columns))))


@triton.jit
def bump(buffer, index, by):
    tl.atomic_add(tle.gpu.local_ptr(buffer, (index,)), by)
    return tle.gpu.local_ptr(buffer, (index,))


@triton.jit
def through_functions(x, o, n: tl.constexpr, N: tl.constexpr):
    """Pointers are passed, returned, chosen and carried like any other."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32, init_value=1)
    b = tle.gpu.alloc([N], tl.int32, init_value=2)
    values = tl.load(x + i)
    first = bump(a, values, 10)
    second = bump(b, values, 20)
    taken = first
    if n > 2:
        taken = second
    tl.store(o + i, tl.load(taken))
    for _ in range(n):
        first, second = second, first
    tl.store(o + N + i, tl.load(tl.where(values % 2 == 0, first, second)))


@triton.jit
def reduced(x, index, o, old, KIND: tl.constexpr, N: tl.constexpr, M: tl.constexpr):
    """One atomic operation for each of N values on M elements; what was there before each of them."""
    i = tl.arange(0, N)
    j = tl.arange(0, M)
    buffer = tle.gpu.alloc([M], x.dtype.element_ty)
    buffer.store(tl.load(x + N + j))
    values = tl.load(x + i)
    p = tle.gpu.local_ptr(buffer, (tl.load(index + i),))
    m = i % 7 != 3
    if KIND == "add":
        before = tl.atomic_add(p, values, mask=m)
    elif KIND == "max":
        before = tl.atomic_max(p, values, mask=m)
    elif KIND == "min":
        before = tl.atomic_min(p, values, mask=m)
    elif KIND == "and":
        before = tl.atomic_and(p, values, mask=m)
    elif KIND == "or":
        before = tl.atomic_or(p, values, mask=m)
    elif KIND == "xor":
        before = tl.atomic_xor(p, values, mask=m)
    else:
        before = tl.atomic_xchg(p, values, mask=m)
    if KIND == "xchg" or KIND == "add":
        tl.store(old + i, before, mask=m)
    tl.store(o + j, tl.load(tle.gpu.local_ptr(buffer)))


@triton.jit
def swapped(x, index, o, old, N: tl.constexpr, M: tl.constexpr):
    """Who comes first gets the element."""
    i = tl.arange(0, N)
    j = tl.arange(0, M)
    owners = tle.gpu.alloc([M], x.dtype.element_ty, init_value=0)
    before = tl.atomic_cas(
        tle.gpu.local_ptr(owners, (tl.load(index + i),)), tl.zeros_like(i).to(x.dtype.element_ty), tl.load(x + i)
    )
    tl.store(old + i, before)
    tl.store(o + j, owners.load())


@triton.jit
def claimed(x, index, o, old, N: tl.constexpr, M: tl.constexpr):
    """The same, and all that is done with the buffer is done by pointers."""
    i = tl.arange(0, N)
    owners = tle.gpu.alloc([M], x.dtype.element_ty, init_value=0)
    nobody = tl.zeros_like(i).to(x.dtype.element_ty)
    before = tl.atomic_cas(tle.gpu.local_ptr(owners, (tl.load(index + i),)), nobody, tl.load(x + i))
    tl.store(old + i, before)
    tl.store(o + tl.arange(0, M), tl.load(tle.gpu.local_ptr(owners)))


@triton.jit
def ranked(keys, o, N: tl.constexpr, M: tl.constexpr):
    """Places within groups: the number of an element among those with its key, in any order."""
    i = tl.arange(0, N)
    key = tl.load(keys + i)
    counts = tle.gpu.alloc([M], tl.int32, init_value=0)
    place = tl.atomic_add(tle.gpu.local_ptr(counts, (key,)), 1)
    order = tle.gpu.alloc([N], tl.int32)
    total = tl.load(tle.gpu.local_ptr(counts))
    starts = tle.gpu.alloc([M], tl.int32)
    starts.store(tl.cumsum(total, 0) - total)
    tl.store(tle.gpu.local_ptr(order, (tl.load(tle.gpu.local_ptr(starts, (key,))) + place,)), i)
    tl.store(o + i, order.load())


@triton.jit
def counted_scalar(x, o, n: tl.constexpr, N: tl.constexpr):
    """One counter for the block: scalar atomics are done once, by all its threads together."""
    counter = tle.gpu.alloc([1], tl.int32, init_value=0)
    largest = tle.gpu.alloc([1], tl.int32, init_value=-1)
    for i in range(n):
        ticket = tl.atomic_add(tle.gpu.local_ptr(counter, (0,)), 2)
        tl.atomic_max(tle.gpu.local_ptr(largest, (0,)), tl.load(x + i))
        tl.store(o + i, ticket)
    tl.store(o + n, tl.load(tle.gpu.local_ptr(counter, (0,))))
    tl.store(o + n + 1, tl.load(tle.gpu.local_ptr(largest, (0,))))


@triton.jit
def freed(x, o, N: tl.constexpr):
    """What is freed is used again by the next buffer."""
    i = tl.arange(0, N)
    first = tle.gpu.alloc([N], tl.float32)
    tl.store(tle.gpu.local_ptr(first, (N - 1 - i,)), tl.load(x + i))
    turned = tl.load(tle.gpu.local_ptr(first))
    first.free()
    second = tle.gpu.alloc([N], tl.float32)
    tl.store(tle.gpu.local_ptr(second, (i ^ 1,)), turned + tl.sum(turned, 0))
    tl.store(o + i, tl.load(tle.gpu.local_ptr(second)))


@triton.jit
def with_reductions(x, o, n: tl.constexpr, N: tl.constexpr):
    """Reductions and scans, which need shared memory of their own, between accesses by pointers."""
    i = tl.arange(0, N)
    buffer = tle.gpu.alloc([N], tl.float32)
    p = tle.gpu.local_ptr(buffer)
    tl.store(p, tl.load(x + i))
    for k in range(n):
        values = tl.load(tle.gpu.local_ptr(buffer, ((i + k) % N,)))
        total = tl.sum(values * (i == k), 0)
        values = tl.cumsum(values, 0) / N + total
        tl.store(p, values)
    tl.store(o + i, tl.load(p))


@triton.jit
def written_between(x, o, N: tl.constexpr, WHAT: tl.constexpr):
    """Two equal loads, and between them a store by another way: the second gives what was stored."""
    i = tl.arange(0, N)
    buffer = tle.gpu.alloc([N], x.dtype.element_ty)
    p = tle.gpu.local_ptr(buffer, (i ^ 1,))
    buffer.store(tl.load(x + i))
    if WHAT == "the buffer":
        before = tl.load(p)
        buffer.store(tl.load(x + N + i))
        after = tl.load(p)
    elif WHAT == "a pointer":
        before = buffer.load()
        tl.store(p, tl.load(x + N + i))
        after = buffer.load()
    else:
        before = tl.load(p)
        tl.store(tle.gpu.local_ptr(buffer, (i ^ 3,)), tl.load(x + N + i))
        after = tl.load(p)
    tl.store(o + i, before)
    tl.store(o + N + i, after)


@triton.jit
def products(x, o, n: tl.constexpr, N: tl.constexpr, HOW: tl.constexpr):
    """A tile that stays, one that each turn replaces, and their product with what was computed of them."""
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    a, b = tle.gpu.alloc([N, N], tl.float16), tle.gpu.alloc([N, 2 * N], tl.float16)
    tl.store(tle.gpu.local_ptr(a), tl.load(x + at))
    acc = tl.zeros([N, N], tl.float32)
    rows, columns = tl.broadcast_to(i[:, None], (N, N)), tl.broadcast_to(N + i[None, :], (N, N))
    for k in range(n):
        right = tle.gpu.local_ptr(b, (rows, columns))
        tl.store(right, tl.load(x + k * N * N + at))
        if HOW == "whole":
            left = tle.gpu.local_ptr(a)
        elif HOW == "rectangles":
            left = tle.gpu.local_ptr(a, (i[:, None], i[None, :]))
        else:
            left = tle.gpu.local_ptr(a, (i[:, None], i[None, :] ^ 1))
            right = tle.gpu.local_ptr(b, (rows, columns ^ 1))
        acc = tl.dot(tl.load(left), tl.trans(tl.load(right)), acc)
        acc = tl.dot((acc * 0.5).to(tl.float16), tl.load(right), acc)
    tl.store(o + at, acc.to(tl.float16))
