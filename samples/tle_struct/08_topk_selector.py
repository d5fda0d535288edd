"""Sample 08: where the k largest numbers of each row stand, by counts of their digits in shared memory."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def ordered(x):
    """f32 as unsigned numbers in the same order; NaN with the sign off is the largest."""
    bits = x.to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) | -(2**31))).to(tl.uint32, bitcast=True)


@triton.jit
def next_digit(x_ptr, columns, counts, known, left, SHIFT: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr):
    """``known`` with the WIDTH bits above SHIFT of the ``left``-th largest of the numbers that begin with ``known``,
    and how many numbers are left to be found with these bits.
    """
    lane, digit = tl.arange(0, CHUNK), tl.arange(0, 1 << WIDTH)
    tl.store(tle.gpu.local_ptr(counts, (digit,)), 0)
    for start in range(0, columns, CHUNK):
        i = start + lane
        key = ordered(tl.load(x_ptr + i, mask=i < columns, other=0.0))
        taken = i < columns
        if SHIFT + WIDTH < 32:
            taken &= key >> SHIFT + WIDTH == known >> SHIFT + WIDTH
        tl.atomic_add(tle.gpu.local_ptr(counts, ((key >> SHIFT) & (1 << WIDTH) - 1,)), 1, mask=taken)
    count = tl.load(tle.gpu.local_ptr(counts, (digit,)))
    reached = tl.cumsum(count, 0, reverse=True)  # how many have this digit or a larger one
    chosen = tl.sum((reached >= left).to(tl.int32), 0) - 1
    left -= tl.sum(tl.where(digit > chosen, count, 0), 0)
    return known | (chosen.to(tl.uint32) << SHIFT), left


@triton.jit
def select_top(x_ptr, o_ptr, columns, k, K: tl.constexpr, CHUNK: tl.constexpr):
    """``o[row, :k]``: columns of the k largest of ``x[row, :columns]``, f32, in any order.

    k is at most ``columns``, and at most K, a power of two.
    The k-th largest number is found digit by digit, from the highest bits down: it is counted how often each digit
    stands behind those that are known, and the largest digit that k numbers reach is the next.
    """
    x_ptr += tl.program_id(0).to(tl.int64) * columns
    o_ptr += tl.program_id(0).to(tl.int64) * k
    counts = tle.gpu.alloc([2048], tl.int32)
    known, left = next_digit(x_ptr, columns, counts, tl.zeros((), tl.uint32), k, 21, 11, CHUNK)
    known, left = next_digit(x_ptr, columns, counts, known, left, 10, 11, CHUNK)
    known, left = next_digit(x_ptr, columns, counts, known, left, 0, 10, CHUNK)
    lane, entry = tl.arange(0, CHUNK), tl.arange(0, K)
    picked = tle.gpu.alloc([K], tl.int32)
    found = tle.gpu.alloc([2], tl.int32, init_value=0)  # larger ones, equal ones
    for start in range(0, columns, CHUNK):
        i = start + lane
        key = ordered(tl.load(x_ptr + i, mask=i < columns, other=0.0))
        larger, equal = (key > known) & (i < columns), (key == known) & (i < columns)
        place = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0,)), 1, mask=larger)
        tl.store(tle.gpu.local_ptr(picked, (place,)), i, mask=larger)
        place = tl.atomic_add(tle.gpu.local_ptr(found, (lane * 0 + 1,)), 1, mask=equal)
        tl.store(tle.gpu.local_ptr(picked, (k - left + place,)), i, mask=equal & (place < left))
    tl.store(o_ptr + entry, tl.load(tle.gpu.local_ptr(picked), mask=entry < k), mask=entry < k)


def launch(x, k):
    import torch

    rows, columns = x.shape
    o = torch.full((rows, k), -1, dtype=torch.int32, device=x.device)
    chunk = min(8192, max(256, triton.next_power_of_2(columns)))
    return select_top[(rows,)](
        x, o, columns, k, K=triton.next_power_of_2(k), CHUNK=chunk, num_warps=min(32, chunk // 256)
    ), o


def compile_for(target):
    types = {"x_ptr": "*fp32", "o_ptr": "*i32", "columns": "i32:16", "k": "i32:16"}
    return [common.compile_ahead(select_top, target, types, {"K": 2048, "CHUNK": 8192}, num_warps=32)]


def check():
    import torch

    cases = common.sizes(gpu=((1, 1, 1), (3, 1001, 17), (64, 32_768, 2048), (16, 131_072, 2048)), cpu=((2, 999, 17),))
    for rows, columns, k in cases:
        for what in ("random", "equal", "few values"):
            x = torch.randn(rows, columns)
            x = {"random": x, "equal": torch.ones_like(x), "few values": (x * 2).round()}[what].to(common.device())
            kernel, o = launch(x, k)
            label = f"{rows} × {columns}, {k} of {what}"
            values = x.gather(1, o.long().clamp(0, columns - 1)).sort(1, descending=True).values
            yield kernel, common.compare(label, values, x.topk(k).values)
            once = o.sort(1).values.diff(dim=1) > 0
            yield kernel, common.compare(f"{label}: each once", once, torch.ones_like(once))


if __name__ == "__main__":
    sys.exit(common.main("08 columns of the largest numbers", compile_for, check))
