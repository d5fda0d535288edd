"""Sample 08: where the k largest numbers of each row stand, by counts of their digits in shared memory."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

BELOW = tl.constexpr(20)  # bits below the first digit, which are two digits of 10 bits
BUCKETS = tl.constexpr(1 << 12)  # first digits: a sign, an exponent and three bits of a mantissa
PROGRAM = tl.constexpr(1 << 24)  # what a program adds to a row's second end: columns are fewer
# Not on Triton 3.6, where atomic operations have four that lie together in any case.
SWAP = tl.constexpr(int(not triton.__version__.startswith("3.6.")))


@triton.jit
def ordered(x):
    """f32 as unsigned numbers in the same order; NaN with the sign off is the largest."""
    bits = x.to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) | -(2**31))).to(tl.uint32, bitcast=True)


@triton.jit
def swapped(COUNT: tl.constexpr):
    """0 to COUNT, neighbours swapped: threads load single numbers, side by side all the same. Of four that lie
    together, as a load would take them, all would move to other threads before each scattered store.
    """
    return tl.arange(0, COUNT) ^ SWAP


@triton.jit
def bucket(key):
    return (key >> BELOW).to(tl.int32)


@triton.jit
def sum_and_largest(a, b, c, d):
    return a + c, tl.maximum(b, d)


@triton.jit
def last_reached(count, k):
    """The largest digit that, with those above it, k numbers have; and how many of k are left to be found in it."""
    reached = tl.cumsum(count, 0, reverse=True)
    enough = reached >= k
    digits, above = tl.reduce((enough.to(tl.int32), tl.where(enough, 0, reached)), 0, sum_and_largest)
    return digits - 1, k - above


@triton.jit
def count_buckets(x_ptr, lane, begin, end, counts, k, CHUNK: tl.constexpr, SKIP: tl.constexpr):
    """With SKIP, what is below the k-th largest of the first CHUNK numbers is not counted behind these."""
    i = begin + lane
    key = ordered(tl.load(x_ptr + i, mask=i < end, other=0.0))
    x = tl.load(x_ptr + i + CHUNK, mask=i + CHUNK < end, other=0.0)
    tl.atomic_add(tle.gpu.local_ptr(counts, (bucket(key),)), 1, mask=i < end)
    least = 0
    if SKIP:
        least, _ = last_reached(tl.load(tle.gpu.local_ptr(counts)), k)
    for start in range(begin + CHUNK, end, CHUNK):
        i = start + lane
        own = bucket(ordered(x))
        x = tl.load(x_ptr + i + CHUNK, mask=i + CHUNK < end, other=0.0)  # a turn ahead
        tl.atomic_add(tle.gpu.local_ptr(counts, (own,)), 1, mask=(i < end) & (own >= least))


@triton.jit
def next_digit(counts, known, left, SHIFT: tl.constexpr):
    """``known`` with the counted digit of the ``left``-th largest, and how many are left to be found with it."""
    chosen, left = last_reached(tl.load(tle.gpu.local_ptr(counts)), left)
    return known | (chosen.to(tl.uint32) << SHIFT), left


@triton.jit
def count_digits(key, taken, counts, known, SHIFT: tl.constexpr):
    """The 10 bits above SHIFT of the taken keys that begin with ``known``."""
    taken &= (key >> SHIFT + 10) == (known >> SHIFT + 10)
    tl.atomic_add(tle.gpu.local_ptr(counts, (((key >> SHIFT) & 1023).to(tl.int32),)), 1, mask=taken)


@triton.jit
def place_listed(key, column, taken, known, found, o_ptr, left, equals):
    """Larger keys than ``known`` from ``o[0]`` on, and ``equals`` of its equals in front of ``o[left]``."""
    equal = key == known
    place = tl.atomic_add(tle.gpu.local_ptr(found, (equal.to(tl.int32),)), 1, mask=taken & (key >= known))
    tl.store(o_ptr + place, column, mask=taken & (key > known))
    tl.store(o_ptr + left - equals + place, column, mask=taken & equal & (place < equals))


@triton.jit
def pick_listed(x_ptr, list_ptr, total, o_ptr, left, chosen, L: tl.constexpr):
    """``o[:left]``: the columns of the ``left`` largest of ``x[list[:total]]``, all of the chosen bucket.

    Up to L numbers are read once and stay in registers; more are read for each digit.
    """
    known, equals, lane = chosen.to(tl.uint32) << BELOW, left, swapped(L)
    high = tle.gpu.alloc([1024], tl.int32, init_value=0)
    low = tle.gpu.alloc([1024], tl.int32, init_value=0)
    found = tle.gpu.alloc([2], tl.int32, init_value=0)  # larger ones, equal ones
    if total <= L:
        taken = lane < total
        column = tl.load(list_ptr + lane, mask=taken, other=0)
        key = ordered(tl.load(x_ptr + column, mask=taken, other=0.0))
        count_digits(key, taken, high, known, 10)
        known, equals = next_digit(high, known, equals, 10)
        count_digits(key, taken, low, known, 0)
        known, equals = next_digit(low, known, equals, 0)
        place_listed(key, column, taken, known, found, o_ptr, left, equals)
    else:
        for start in range(0, total, L):
            taken = start + lane < total
            column = tl.load(list_ptr + start + lane, mask=taken, other=0)
            count_digits(ordered(tl.load(x_ptr + column, mask=taken, other=0.0)), taken, high, known, 10)
        known, equals = next_digit(high, known, equals, 10)
        for start in range(0, total, L):
            taken = start + lane < total
            column = tl.load(list_ptr + start + lane, mask=taken, other=0)
            count_digits(ordered(tl.load(x_ptr + column, mask=taken, other=0.0)), taken, low, known, 0)
        known, equals = next_digit(low, known, equals, 0)
        for start in range(0, total, L):
            taken = start + lane < total
            column = tl.load(list_ptr + start + lane, mask=taken, other=0)
            key = ordered(tl.load(x_ptr + column, mask=taken, other=0.0))
            place_listed(key, column, taken, known, found, o_ptr, left, equals)


@triton.jit
def select_top(
    x_ptr, o_ptr, list_ptr, columns, k, CHUNK: tl.constexpr, SKIP: tl.constexpr, LISTED: tl.constexpr
):  # fmt: skip
    """``o[row, :k]``: columns of the k largest of ``x[row, :columns]``, f32, in any order; k is at most ``columns``.

    The bucket of the k-th largest number is found by counting. Numbers of larger buckets are among the k; those of
    this bucket are listed, few as a rule, and what is missing is found among them, digit by digit from the highest
    bits down. A program takes a row. ``list`` is a place for all columns of each row.
    """
    row = tl.program_id(0).to(tl.int64)
    x_ptr, o_ptr, list_ptr = x_ptr + row * columns, o_ptr + row * k, list_ptr + row * columns
    counts = tle.gpu.alloc([BUCKETS], tl.int32, init_value=0)
    found = tle.gpu.alloc([2], tl.int32, init_value=0)  # of larger buckets, of the chosen one
    lane = swapped(CHUNK)
    count_buckets(x_ptr, lane, 0, columns, counts, k, CHUNK, SKIP)
    x = tl.load(x_ptr + lane, mask=lane < columns, other=0.0)
    chosen, left = last_reached(tl.load(tle.gpu.local_ptr(counts)), k)
    for start in range(0, columns, CHUNK):
        i = start + lane
        own = bucket(ordered(x))
        x = tl.load(x_ptr + i + CHUNK, mask=i + CHUNK < columns, other=0.0)
        kept, equal = (own >= chosen) & (i < columns), own == chosen
        place = tl.atomic_add(tle.gpu.local_ptr(found, (equal.to(tl.int32),)), 1, mask=kept)
        tl.store(o_ptr + place, i, mask=kept & (own > chosen))
        tl.store(list_ptr + place, i, mask=kept & equal)
    total = tl.load(tle.gpu.local_ptr(found, (1,)))
    tl.debug_barrier()
    pick_listed(x_ptr, list_ptr, total, o_ptr + k - left, left, chosen, LISTED)


@triton.jit
def count_parts(x_ptr, counts_ptr, columns, k, part, CHUNK: tl.constexpr, SKIP: tl.constexpr):
    """Adds the buckets of ``part`` columns of a row, a multiple of CHUNK, to ``counts[row]``."""
    row = tl.program_id(0).to(tl.int64)
    counts = tle.gpu.alloc([BUCKETS], tl.int32, init_value=0)
    lane, begin = tl.arange(0, CHUNK), tl.program_id(1) * part
    count_buckets(x_ptr + row * columns, lane, begin, tl.minimum(begin + part, columns), counts, k, CHUNK, SKIP)
    count = tl.load(tle.gpu.local_ptr(counts))
    tl.atomic_add(counts_ptr + row * BUCKETS + tl.arange(0, BUCKETS), count, mask=count > 0, sem="relaxed")


@triton.jit
def split_part(x_ptr, begin, end, x, chosen, o_ptr, list_ptr, ends_ptr, CHUNK: tl.constexpr):
    """Columns of larger buckets than the chosen one go to ``o``, its own to ``list``, from ``ends[0]`` and ``ends[1]``
    on, which other programs move too. ``x`` are the first CHUNK numbers.
    """
    lane, two = swapped(CHUNK), tl.arange(0, 2)
    found = tle.gpu.alloc([2], tl.int32)
    for start in range(begin, end, CHUNK):
        i = start + lane
        own = bucket(ordered(x))
        x = tl.load(x_ptr + i + CHUNK, mask=i + CHUNK < end, other=0.0)
        kept, equal = (own >= chosen) & (i < end), own == chosen
        tl.store(tle.gpu.local_ptr(found, (two,)), 0)
        place = tl.atomic_add(tle.gpu.local_ptr(found, (equal.to(tl.int32),)), 1, mask=kept)
        first = tl.atomic_add(ends_ptr + two, tl.load(tle.gpu.local_ptr(found)), sem="relaxed")
        tl.store(tle.gpu.local_ptr(found, (two,)), first & (PROGRAM - 1))
        place += tl.load(tle.gpu.local_ptr(found, (equal.to(tl.int32),)))
        tl.store(o_ptr + place, i, mask=kept & (own > chosen))
        tl.store(list_ptr + place, i, mask=kept & equal)


@triton.jit
def select_parts(
    x_ptr, o_ptr, list_ptr, counts_ptr, ends_ptr, columns, k, part, CHUNK: tl.constexpr, LISTED: tl.constexpr
):  # fmt: skip
    """``select_top`` behind ``count_parts``, a row by several programs. The last of a row looks through its list, and
    leaves ``counts`` and ``ends``, two for each row, at 0 for the next launch.
    """
    row = tl.program_id(0).to(tl.int64)
    x_ptr, o_ptr, list_ptr = x_ptr + row * columns, o_ptr + row * k, list_ptr + row * columns
    counts_ptr, ends_ptr = counts_ptr + row * BUCKETS + tl.arange(0, BUCKETS), ends_ptr + row * 2
    begin = tl.program_id(1) * part
    end = tl.minimum(begin + part, columns)
    i = begin + swapped(CHUNK)
    x = tl.load(x_ptr + i, mask=i < end, other=0.0)  # on its way while the bucket is found
    chosen, left = last_reached(tl.load(counts_ptr), k)
    split_part(x_ptr, begin, end, x, chosen, o_ptr, list_ptr, ends_ptr, CHUNK)
    tl.debug_barrier()
    came = tl.atomic_add(ends_ptr + 1, PROGRAM, sem="acq_rel")  # how many programs, and the length of the list
    if came // PROGRAM == tl.num_programs(1) - 1:
        tl.store(counts_ptr, 0)
        tl.store(ends_ptr + tl.arange(0, 2), 0)
        pick_listed(x_ptr, list_ptr, came % PROGRAM, o_ptr + k - left, left, chosen, LISTED)


def workspace(x):
    """What the kernels need beside x and the result: a list, counts and ends; the last two are 0 between launches."""
    import torch

    rows, columns = x.shape
    return (
        torch.empty(rows, columns, dtype=torch.int32, device=x.device),
        torch.zeros(rows, BUCKETS.value, dtype=torch.int32, device=x.device),
        torch.zeros(rows, 2, dtype=torch.int32, device=x.device),
    )


def launch(x, k, programs=1, chunk=8192, warps=32, space=None, o=None):
    """``programs`` for each row, at most 127; gives the kernel that ran last, and the columns, fewer than 2**24."""
    import torch

    rows, columns = x.shape
    o = torch.full((rows, k), -1, dtype=torch.int32, device=x.device) if o is None else o
    listed, counts, ends = space or workspace(x)
    chunk = min(chunk, max(256, triton.next_power_of_2(columns)))
    part = triton.cdiv(triton.cdiv(columns, programs), chunk) * chunk
    warps = min(warps, chunk // 128)
    # Where a chunk is not much longer than k, nearly all that comes behind it would be counted all the same.
    skip = part > chunk and chunk >= 2 * k
    if programs == 1:
        sizes = {"CHUNK": chunk, "LISTED": 2048, "num_warps": warps}
        return select_top[(rows,)](x, o, listed, columns, k, SKIP=skip, **sizes), o
    grid = (rows, triton.cdiv(columns, part))
    count_parts[grid](x, counts, columns, k, part, CHUNK=chunk, SKIP=skip, num_warps=warps)
    sizes = {"CHUNK": chunk, "LISTED": 2048, "num_warps": warps}
    return select_parts[grid](x, o, listed, counts, ends, columns, k, part, **sizes), o


def compile_for(target):
    types = {"x_ptr": "*fp32", "counts_ptr": "*i32", "columns": "i32:16", "part": "i32:16", "k": "i32:16"}
    counting, chunk = {"CHUNK": 8192, "SKIP": True}, {"CHUNK": 8192, "LISTED": 2048}
    yield common.compile_ahead(count_parts, target, types, counting, num_warps=32)
    types |= {"o_ptr": "*i32", "list_ptr": "*i32"}
    one = {name: types[name] for name in ("x_ptr", "o_ptr", "list_ptr", "columns", "k")}
    yield common.compile_ahead(select_top, target, one, counting | chunk, num_warps=32)
    types |= {"ends_ptr": "*i32"}
    yield common.compile_ahead(select_parts, target, types, chunk, num_warps=32)


def check():
    import torch

    cases = common.sizes(
        gpu=(
            (1, 1, 1, 1), (3, 1001, 17, 1), (64, 32_768, 2048, 1), (16, 131_072, 2048, 1), (2, 131_072, 2048, 16),
            (3, 100_001, 2048, 4),
        ),
        cpu=((2, 2999, 17, 1), (2, 2999, 17, 2)),
    )  # fmt: skip
    for rows, columns, k, programs in cases:
        for what in ("random", "equal", "few values"):
            x = torch.randn(rows, columns)
            x = {"random": x, "equal": torch.ones_like(x), "few values": (x * 2).round()}[what].to(common.device())
            space = workspace(x)
            for chunk in (8192, 256):
                kernel, o = launch(x, k, programs, chunk, space=space)
                label = f"{rows} × {columns}, {k} of {what}, {programs} × {chunk}"
                values = x.gather(1, o.long().clamp(0, columns - 1)).sort(1, descending=True).values
                yield kernel, common.compare(label, values, x.topk(k).values)
                once = o.sort(1).values.diff(dim=1) > 0
                yield kernel, common.compare(f"{label}: each once", once, torch.ones_like(once))


if __name__ == "__main__":
    sys.exit(common.main("08 columns of the largest numbers", compile_for, check))
