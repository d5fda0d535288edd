"""Sample 08: where the k largest numbers of each row stand, by counts of their digits in shared memory."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

BUCKETS = tl.constexpr(2048)


@triton.jit
def ordered(x):
    """f32 as unsigned numbers in the same order; NaN with the sign off is the largest."""
    bits = x.to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) | -(2**31))).to(tl.uint32, bitcast=True)


@triton.jit
def bucket(x):
    """The first 11 bits of x as f16, in the order of the numbers: few of a row have those of the k-th largest."""
    bits = x.to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32)
    return ((bits ^ ((bits >> 15) | -(2**15))) & 0xFFFF) >> 5


@triton.jit
def last_reached(count, k):
    """The largest digit that, with those above it, k numbers have; and how many of k are left to be found in it."""
    digit = tl.arange(0, count.shape[0])
    reached = tl.cumsum(count, 0, reverse=True)
    chosen = tl.sum((reached >= k).to(tl.int32), 0) - 1
    return chosen, k - tl.sum(tl.where(digit > chosen, count, 0), 0)


@triton.jit
def count_buckets(x_ptr, begin, end, counts, CHUNK: tl.constexpr, STAGES: tl.constexpr):
    lane = tl.arange(0, CHUNK)
    for start in tl.range(begin, end, CHUNK, num_stages=STAGES):
        i = start + lane
        x = tle.load(x_ptr + i, mask=i < end, other=0.0, is_async=STAGES > 1)
        tl.atomic_add(tle.gpu.local_ptr(counts, (bucket(x),)), 1, mask=i < end)


@triton.jit
def next_digit(x_ptr, list_ptr, total, counts, known, left, SHIFT: tl.constexpr, WIDTH: tl.constexpr, L: tl.constexpr):
    """``known`` with the WIDTH bits above SHIFT of the ``left``-th largest of the listed numbers that begin with
    ``known``, and how many are left to be found with these bits.
    """
    lane, digit = tl.arange(0, L), tl.arange(0, 1 << WIDTH)
    tl.store(tle.gpu.local_ptr(counts, (digit,)), 0)
    for start in range(0, total, L):
        i = start + lane
        taken = i < total
        key = ordered(tl.load(x_ptr + tl.load(list_ptr + i, mask=taken, other=0), mask=taken, other=0.0))
        if SHIFT + WIDTH < 32:
            taken &= key >> SHIFT + WIDTH == known >> SHIFT + WIDTH
        tl.atomic_add(tle.gpu.local_ptr(counts, ((key >> SHIFT) & (1 << WIDTH) - 1,)), 1, mask=taken)
    chosen, left = last_reached(tl.load(tle.gpu.local_ptr(counts, (digit,))), left)
    return known | (chosen.to(tl.uint32) << SHIFT), left


@triton.jit
def pick_listed(x_ptr, list_ptr, total, o_ptr, left, counts, L: tl.constexpr):
    """``o[:left]``: the columns of the ``left`` largest of ``x[list[:total]]``."""
    known, equals = tl.zeros((), tl.uint32), left
    known, equals = next_digit(x_ptr, list_ptr, total, counts, known, equals, 21, 11, L)
    known, equals = next_digit(x_ptr, list_ptr, total, counts, known, equals, 10, 11, L)
    known, equals = next_digit(x_ptr, list_ptr, total, counts, known, equals, 0, 10, L)
    lane = tl.arange(0, L)
    found = tle.gpu.alloc([2], tl.int32, init_value=0)  # larger ones, equal ones
    for start in range(0, total, L):
        i = start + lane
        column = tl.load(list_ptr + i, mask=i < total, other=0)
        key = ordered(tl.load(x_ptr + column, mask=i < total, other=0.0))
        larger, equal = (key > known) & (i < total), (key == known) & (i < total)
        place = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0,)), 1, mask=larger)
        tl.store(o_ptr + place, column, mask=larger)
        place = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0 + 1,)), 1, mask=equal)
        tl.store(o_ptr + left - equals + place, column, mask=equal & (place < equals))


@triton.jit
def split_row(x_ptr, begin, end, chosen, o_ptr, list_ptr, ends_ptr, CHUNK: tl.constexpr, STAGES: tl.constexpr):
    """Columns of larger buckets than the chosen one go to ``o``, its own to ``list``, from ``ends[0]`` and ``ends[1]``
    on, which other programs move too.
    """
    lane = tl.arange(0, CHUNK)
    found = tle.gpu.alloc([2], tl.int32)
    for start in tl.range(begin, end, CHUNK, num_stages=STAGES):
        i = start + lane
        own = bucket(tle.load(x_ptr + i, mask=i < end, other=0.0, is_async=STAGES > 1))
        larger, equal = (own > chosen) & (i < end), (own == chosen) & (i < end)
        tl.store(tle.gpu.local_ptr(found, (tl.arange(0, 2),)), 0)
        to_o = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0,)), 1, mask=larger)
        to_list = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0 + 1,)), 1, mask=equal)
        first_o = tl.atomic_add(ends_ptr, tl.load(tle.gpu.local_ptr(found, (0,))), sem="relaxed")
        first_listed = tl.atomic_add(ends_ptr + 1, tl.load(tle.gpu.local_ptr(found, (1,))), sem="relaxed")
        tl.store(o_ptr + first_o + to_o, i, mask=larger)
        tl.store(list_ptr + first_listed + to_list, i, mask=equal)


@triton.jit
def select_top(
    x_ptr, o_ptr, list_ptr, columns, k, CHUNK: tl.constexpr, STAGES: tl.constexpr, LISTED: tl.constexpr
):  # fmt: skip
    """``o[row, :k]``: columns of the k largest of ``x[row, :columns]``, f32, in any order; k is at most ``columns``.

    The bucket of the k-th largest number is found by counting. Numbers of larger buckets are among the k; those of
    this bucket are listed, few as a rule, and what is missing is found among them, digit by digit from the highest
    bits down. A program takes a row. ``list`` is a place for all columns of each row.
    """
    row = tl.program_id(0).to(tl.int64)
    x_ptr, o_ptr, list_ptr = x_ptr + row * columns, o_ptr + row * k, list_ptr + row * columns
    counts = tle.gpu.alloc([BUCKETS], tl.int32, init_value=0)
    count_buckets(x_ptr, 0, columns, counts, CHUNK, STAGES)
    chosen, left = last_reached(tl.load(tle.gpu.local_ptr(counts)), k)
    lane = tl.arange(0, CHUNK)
    found = tle.gpu.alloc([2], tl.int32, init_value=0)
    for start in tl.range(0, columns, CHUNK, num_stages=STAGES):
        i = start + lane
        own = bucket(tle.load(x_ptr + i, mask=i < columns, other=0.0, is_async=STAGES > 1))
        larger, equal = (own > chosen) & (i < columns), (own == chosen) & (i < columns)
        place = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0,)), 1, mask=larger)
        tl.store(o_ptr + place, i, mask=larger)
        place = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0 + 1,)), 1, mask=equal)
        tl.store(list_ptr + place, i, mask=equal)
    total = tl.load(tle.gpu.local_ptr(found, (1,)))
    tl.debug_barrier()
    pick_listed(x_ptr, list_ptr, total, o_ptr + k - left, left, counts, LISTED)


@triton.jit
def count_parts(x_ptr, counts_ptr, columns, part, CHUNK: tl.constexpr, STAGES: tl.constexpr):
    """Adds the buckets of ``part`` columns of a row, a multiple of CHUNK, to ``counts[row]``."""
    row = tl.program_id(0).to(tl.int64)
    counts = tle.gpu.alloc([BUCKETS], tl.int32, init_value=0)
    begin = tl.program_id(1) * part
    count_buckets(x_ptr + row * columns, begin, tl.minimum(begin + part, columns), counts, CHUNK, STAGES)
    count = tl.load(tle.gpu.local_ptr(counts))
    tl.atomic_add(counts_ptr + row * BUCKETS + tl.arange(0, BUCKETS), count, mask=count > 0, sem="relaxed")


@triton.jit
def select_parts(
    x_ptr, o_ptr, list_ptr, counts_ptr, ends_ptr, columns, k, part,
    CHUNK: tl.constexpr, STAGES: tl.constexpr, LISTED: tl.constexpr,
):  # fmt: skip
    """``select_top`` behind ``count_parts``, a row by several programs. The last of a row looks through its list, and
    leaves ``counts`` and ``ends``, three for each row, at 0 for the next launch.
    """
    row = tl.program_id(0).to(tl.int64)
    x_ptr, o_ptr, list_ptr = x_ptr + row * columns, o_ptr + row * k, list_ptr + row * columns
    counts_ptr, ends_ptr = counts_ptr + row * BUCKETS + tl.arange(0, BUCKETS), ends_ptr + row * 3
    chosen, left = last_reached(tl.load(counts_ptr), k)
    begin = tl.program_id(1) * part
    end = tl.minimum(begin + part, columns)
    split_row(x_ptr, begin, end, chosen, o_ptr, list_ptr, ends_ptr, CHUNK, STAGES)
    tl.debug_barrier()
    if tl.atomic_add(ends_ptr + 2, 1, sem="acq_rel") == tl.num_programs(1) - 1:
        counts = tle.gpu.alloc([BUCKETS], tl.int32)
        total = tl.atomic_xchg(ends_ptr + 1, 0)
        pick_listed(x_ptr, list_ptr, total, o_ptr + k - left, left, counts, LISTED)
        tl.store(counts_ptr, 0)
        tl.store(ends_ptr, 0)
        tl.store(ends_ptr + 2, 0)


def workspace(x):
    """What the kernels need beside x and the result: a list, counts and ends; the last two are 0 between launches."""
    import torch

    rows, columns = x.shape
    return (
        torch.empty(rows, columns, dtype=torch.int32, device=x.device),
        torch.zeros(rows, BUCKETS.value, dtype=torch.int32, device=x.device),
        torch.zeros(rows, 3, dtype=torch.int32, device=x.device),
    )


def launch(x, k, programs=1, chunk=8192, stages=3, warps=32, space=None, o=None):
    """``programs`` for each row; gives the kernel that ran last, and the columns."""
    import torch

    rows, columns = x.shape
    o = torch.full((rows, k), -1, dtype=torch.int32, device=x.device) if o is None else o
    listed, counts, ends = space or workspace(x)
    chunk = min(chunk, max(256, triton.next_power_of_2(columns)))
    warps = min(warps, chunk // 256)
    sizes = {"CHUNK": chunk, "STAGES": stages, "num_warps": warps}
    if programs == 1:
        return select_top[(rows,)](x, o, listed, columns, k, LISTED=1024, **sizes), o
    part = triton.cdiv(triton.cdiv(columns, programs), chunk) * chunk
    grid = (rows, triton.cdiv(columns, part))
    count_parts[grid](x, counts, columns, part, **sizes)
    return select_parts[grid](x, o, listed, counts, ends, columns, k, part, LISTED=1024, **sizes), o


def compile_for(target):
    types = {"x_ptr": "*fp32", "counts_ptr": "*i32", "columns": "i32:16", "part": "i32:16"}
    sizes = {"CHUNK": 8192, "STAGES": 3}
    yield common.compile_ahead(count_parts, target, types, sizes, num_warps=32)
    types |= {"o_ptr": "*i32", "list_ptr": "*i32", "k": "i32:16"}
    one = {name: types[name] for name in ("x_ptr", "o_ptr", "list_ptr", "columns", "k")}
    yield common.compile_ahead(select_top, target, one, sizes | {"LISTED": 1024}, num_warps=32)
    types |= {"ends_ptr": "*i32"}
    yield common.compile_ahead(select_parts, target, types, sizes | {"LISTED": 1024}, num_warps=32)


def check():
    import torch

    cases = common.sizes(
        gpu=((1, 1, 1, 1), (3, 1001, 17, 1), (64, 32_768, 2048, 1), (16, 131_072, 2048, 1), (2, 131_072, 2048, 16)),
        cpu=((2, 999, 17, 1), (2, 999, 17, 2)),
    )
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
