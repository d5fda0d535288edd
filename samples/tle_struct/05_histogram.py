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
def count(bins, values, BINS: tl.constexpr):
    """What lies beyond the bins is not counted."""
    is_in = (values >= 0) & (values < BINS)
    tl.atomic_add(tle.gpu.local_ptr(bins, (values,)), 1, mask=is_in)


@triton.jit
def histogram(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """``counts[v] += `` how often ``v`` stands in ``x[:n]``, both i32. The programs take turns, BLOCK elements each."""
    bins = tle.gpu.alloc([BINS], tl.int32, init_value=0)
    lane = tl.arange(0, BLOCK)
    whole = n // BLOCK * BLOCK
    for start in range(tl.program_id(0) * BLOCK, whole, tl.num_programs(0) * BLOCK):
        count(bins, tl.load(x_ptr + start + lane), BINS)
    if tl.program_id(0) == 0:
        i = whole + lane
        count(bins, tl.load(x_ptr + i, mask=i < n, other=-1), BINS)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), tl.load(tle.gpu.local_ptr(bins)), sem="relaxed")


BLOCK = 4096


def launch(x, bins):
    import torch

    counts = torch.zeros(bins, dtype=torch.int32, device=x.device)
    programs = max(1, min(triton.cdiv(x.numel(), BLOCK), 132 * 8))
    return histogram[(programs,)](x, counts, x.numel(), BINS=bins, BLOCK=BLOCK, num_warps=8), counts


def compile_for(target):
    types = {"x_ptr": "*i32", "counts_ptr": "*i32", "n": "i32"}
    return [common.compile_ahead(histogram, target, types, {"BINS": 256, "BLOCK": BLOCK}, num_warps=8)]


def check():
    import torch

    for n, bins in common.sizes(gpu=((1, 16), (100_003, 1024), (1 << 26, 256), (69_000_001, 4096)), cpu=((9001, 64),)):
        for what, low, high in (("all in", 0, bins), ("some beyond", -bins, 2 * bins), ("one value", 3, 4)):
            x = torch.randint(low, high, (n,), dtype=torch.int32).to(common.device())
            kernel, counts = launch(x, bins)
            want = torch.bincount(x[(x >= 0) & (x < bins)], minlength=bins)
            yield kernel, common.compare(f"{n} values, {bins} bins, {what}", counts, want)


if __name__ == "__main__":
    sys.exit(common.main("05 histogram in shared memory", compile_for, check))
