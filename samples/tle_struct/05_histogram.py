"""Sample 05: a histogram. Each block counts in shared memory, by atomics at addresses that its values name."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def count(bins, values, copies, BINS: tl.constexpr):
    """What lies beyond the bins is not counted."""
    is_in = (values >= 0) & (values < BINS)
    tl.atomic_add(tle.gpu.local_ptr(bins, (values, copies)), 1, mask=is_in)


@triton.jit
def histogram(
    x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr, COPIES: tl.constexpr, AHEAD: tl.constexpr
):  # fmt: skip
    """``counts[v] += `` how often ``v`` stands in ``x[:n]``, both i32. The programs take turns, BLOCK elements each.

    Neighbours count in different ones of COPIES histograms, which lie side by side: where 32 threads count at once,
    fewer meet in one bank of shared memory. With AHEAD a turn's values are loaded while those of the last are counted.
    """
    bins = tle.gpu.alloc([BINS, COPIES], tl.int32, init_value=0)
    lane = tl.arange(0, BLOCK)
    copies = lane // 4 % COPIES  # a thread loads four values at once
    first, stride, whole = tl.program_id(0) * BLOCK, tl.num_programs(0) * BLOCK, n // BLOCK * BLOCK
    if AHEAD:
        values = tl.load(x_ptr + first + lane, mask=first + lane < whole, other=-1)
        for start in range(first + stride, whole, stride):
            following = tl.load(x_ptr + start + lane)
            count(bins, values, copies, BINS)
            values = following
        count(bins, values, copies, BINS)
    else:
        for start in range(first, whole, stride):
            count(bins, tl.load(x_ptr + start + lane), copies, BINS)
    if tl.program_id(0) == 0:
        i = whole + lane
        count(bins, tl.load(x_ptr + i, mask=i < n, other=-1), copies, BINS)
    counts = tl.sum(tl.load(tle.gpu.local_ptr(bins)), axis=1)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), counts, sem="relaxed")


BLOCK, COPIES, AHEAD = 4096, 1, False


def launch(x, bins, copies=COPIES, ahead=AHEAD):
    import torch

    counts = torch.zeros(bins, dtype=torch.int32, device=x.device)
    programs = max(1, min(triton.cdiv(x.numel(), BLOCK), 132 * 8))
    sizes = {"BINS": bins, "BLOCK": BLOCK, "COPIES": copies, "AHEAD": ahead}
    return histogram[(programs,)](x, counts, x.numel(), **sizes, num_warps=8), counts


def compile_for(target):
    types = {"x_ptr": "*i32", "counts_ptr": "*i32", "n": "i32"}
    return [
        common.compile_ahead(
            histogram, target, types, {"BINS": 256, "BLOCK": BLOCK, "COPIES": COPIES, "AHEAD": AHEAD}, num_warps=8
        )
    ]


def check():
    import torch

    for n, bins in common.sizes(gpu=((1, 16), (100_003, 1024), (1 << 26, 256), (69_000_001, 4096)), cpu=((9001, 64),)):
        for what, low, high in (("all in", 0, bins), ("some beyond", -bins, 2 * bins), ("one value", 3, 4)):
            x = torch.randint(low, high, (n,), dtype=torch.int32).to(common.device())
            want = torch.bincount(x[(x >= 0) & (x < bins)], minlength=bins)
            for copies, ahead in ((1, False), (8, True)):
                kernel, counts = launch(x, bins, copies, ahead)
                yield kernel, common.compare(f"{n} values, {bins} bins × {copies}, {what}", counts, want)


if __name__ == "__main__":
    sys.exit(common.main("05 histogram in shared memory", compile_for, check))
