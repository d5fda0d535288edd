"""Where the k largest numbers of each row stand, in plain Triton: what the kernels of sample 08 are compared with.

The same steps: count buckets, take the larger ones, list those of the bucket of the k-th largest, look through the
list. Counts are those of ``tl.histogram``, or atomics in global memory; places are prefix sums.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def ordered(x):
    """f32 as unsigned numbers in the same order."""
    bits = x.to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) | -(2**31))).to(tl.uint32, bitcast=True)


@triton.jit
def bucket(x, BITS: tl.constexpr):
    """The first BITS bits of x as f16, in the order of the numbers."""
    bits = x.to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32)
    return ((bits ^ ((bits >> 15) | -(2**15))) & 0xFFFF) >> (16 - BITS)


@triton.jit
def last_reached(count, k):
    digit = tl.arange(0, count.shape[0])
    reached = tl.cumsum(count, 0, reverse=True)
    chosen = tl.sum((reached >= k).to(tl.int32), 0) - 1
    return chosen, k - tl.sum(tl.where(digit > chosen, count, 0), 0)


@triton.jit
def key_of_listed(x_ptr, list_ptr, i, total):
    column = tl.load(list_ptr + i, mask=i < total, other=0)
    return column, ordered(tl.load(x_ptr + column, mask=i < total, other=0.0))


@triton.jit
def count_digit(key, taken, known, SHIFT: tl.constexpr, WIDTH: tl.constexpr):
    if SHIFT + WIDTH < 32:
        taken &= key >> SHIFT + WIDTH == known >> SHIFT + WIDTH
    return tl.histogram(((key >> SHIFT) & (1 << WIDTH) - 1).to(tl.int32), 1 << WIDTH, mask=taken)


@triton.jit
def next_digit(
    x_ptr, list_ptr, total, key, known, left, SHIFT: tl.constexpr, WIDTH: tl.constexpr, L: tl.constexpr
):  # fmt: skip
    """``key`` are those of the first L listed numbers: they are read once."""
    count = count_digit(key, tl.arange(0, L) < total, known, SHIFT, WIDTH)
    for start in range(L, total, L):
        i = start + tl.arange(0, L)
        _, more = key_of_listed(x_ptr, list_ptr, i, total)
        count += count_digit(more, i < total, known, SHIFT, WIDTH)
    chosen, left = last_reached(count, left)
    return known | (chosen.to(tl.uint32) << SHIFT), left


@triton.jit
def pick_listed(x_ptr, list_ptr, total, o_ptr, left, WIDTH: tl.constexpr, L: tl.constexpr):
    known, equals = tl.zeros((), tl.uint32), left
    column, key = key_of_listed(x_ptr, list_ptr, tl.arange(0, L), total)
    if WIDTH == 11:
        known, equals = next_digit(x_ptr, list_ptr, total, key, known, equals, 21, 11, L)
        known, equals = next_digit(x_ptr, list_ptr, total, key, known, equals, 10, 11, L)
        known, equals = next_digit(x_ptr, list_ptr, total, key, known, equals, 0, 10, L)
    else:
        for number in tl.static_range(4):
            known, equals = next_digit(x_ptr, list_ptr, total, key, known, equals, 24 - 8 * number, 8, L)
    larger_before, equal_before = 0, 0
    for start in range(0, total, L):
        i = start + tl.arange(0, L)
        if start > 0:
            column, key = key_of_listed(x_ptr, list_ptr, i, total)
        larger, equal = (key > known) & (i < total), (key == known) & (i < total)
        both = larger.to(tl.int32) | (equal.to(tl.int32) << 16)
        place = tl.cumsum(both, 0) - both
        tl.store(o_ptr + larger_before + (place & 0xFFFF), column, mask=larger)
        place = equal_before + (place >> 16)
        tl.store(o_ptr + left - equals + place, column, mask=equal & (place < equals))
        all_ = tl.sum(both, 0)
        larger_before += all_ & 0xFFFF
        equal_before += all_ >> 16


@triton.jit
def count_parts(x_ptr, counts_ptr, columns, part, BITS: tl.constexpr, CHUNK: tl.constexpr, ATOMIC: tl.constexpr):
    """Adds the buckets of ``part`` columns of a row, a multiple of CHUNK, to ``counts[row]``."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr, counts_ptr = x_ptr + row * columns, counts_ptr + row * (1 << BITS)
    begin = tl.program_id(1) * part
    end = tl.minimum(begin + part, columns)
    count = tl.zeros((1 << BITS,), tl.int32)
    for start in range(begin, end, CHUNK):
        i = start + tl.arange(0, CHUNK)
        digit = bucket(tl.load(x_ptr + i, mask=i < end, other=0.0), BITS)
        if ATOMIC:
            tl.atomic_add(counts_ptr + digit, 1, mask=i < end, sem="relaxed")
        else:
            count += tl.histogram(digit, 1 << BITS, mask=i < end)
    if not ATOMIC:
        tl.atomic_add(counts_ptr + tl.arange(0, 1 << BITS), count, mask=count > 0, sem="relaxed")


@triton.jit
def select_parts(
    x_ptr, o_ptr, list_ptr, counts_ptr, ends_ptr, columns, k, part,
    BITS: tl.constexpr, CHUNK: tl.constexpr, WIDTH: tl.constexpr, LISTED: tl.constexpr,
):  # fmt: skip
    """Behind ``count_parts``. The last program of a row looks through its list, and leaves counts and ends at 0."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr, o_ptr, list_ptr = x_ptr + row * columns, o_ptr + row * k, list_ptr + row * columns
    counts_ptr, ends_ptr = counts_ptr + row * (1 << BITS) + tl.arange(0, 1 << BITS), ends_ptr + row * 3
    begin = tl.program_id(1) * part
    end = tl.minimum(begin + part, columns)
    i = begin + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + i, mask=i < end, other=0.0)  # on its way while the bucket is found
    chosen, left = last_reached(tl.load(counts_ptr), k)
    for start in range(begin, end, CHUNK):
        i = start + tl.arange(0, CHUNK)
        own = bucket(x, BITS)
        x = tl.load(x_ptr + i + CHUNK, mask=i + CHUNK < end, other=0.0)
        larger, equal = (own > chosen) & (i < end), (own == chosen) & (i < end)
        both = larger.to(tl.int32) | (equal.to(tl.int32) << 16)
        place, all_ = tl.cumsum(both, 0) - both, tl.sum(both, 0)
        first_o = tl.atomic_add(ends_ptr, all_ & 0xFFFF, sem="relaxed")
        first_listed = tl.atomic_add(ends_ptr + 1, all_ >> 16, sem="relaxed")
        tl.store(o_ptr + first_o + (place & 0xFFFF), i, mask=larger)
        tl.store(list_ptr + first_listed + (place >> 16), i, mask=equal)
    tl.debug_barrier()
    if tl.atomic_add(ends_ptr + 2, 1, sem="acq_rel") == tl.num_programs(1) - 1:
        total = tl.atomic_xchg(ends_ptr + 1, 0)
        pick_listed(x_ptr, list_ptr, total, o_ptr + k - left, left, WIDTH, LISTED)
        tl.store(counts_ptr, 0)
        tl.store(ends_ptr, 0)
        tl.store(ends_ptr + 2, 0)


@triton.jit
def select_row(
    x_ptr, o_ptr, list_ptr, columns, k,
    BITS: tl.constexpr, CHUNK: tl.constexpr, WIDTH: tl.constexpr, LISTED: tl.constexpr,
):  # fmt: skip
    """All of it in one launch: a program takes a row."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr, o_ptr, list_ptr = x_ptr + row * columns, o_ptr + row * k, list_ptr + row * columns
    count = tl.zeros((1 << BITS,), tl.int32)
    for start in range(0, columns, CHUNK):
        i = start + tl.arange(0, CHUNK)
        digit = bucket(tl.load(x_ptr + i, mask=i < columns, other=0.0), BITS)
        count += tl.histogram(digit, 1 << BITS, mask=i < columns)
    chosen, left = last_reached(count, k)
    picked, total = 0, 0
    for start in range(0, columns, CHUNK):
        i = start + tl.arange(0, CHUNK)
        own = bucket(tl.load(x_ptr + i, mask=i < columns, other=0.0), BITS)
        larger, equal = (own > chosen) & (i < columns), (own == chosen) & (i < columns)
        both = larger.to(tl.int32) | (equal.to(tl.int32) << 16)
        place, all_ = tl.cumsum(both, 0) - both, tl.sum(both, 0)
        tl.store(o_ptr + picked + (place & 0xFFFF), i, mask=larger)
        tl.store(list_ptr + total + (place >> 16), i, mask=equal)
        picked += all_ & 0xFFFF
        total += all_ >> 16
    tl.debug_barrier()
    pick_listed(x_ptr, list_ptr, total, o_ptr + k - left, left, WIDTH, LISTED)
