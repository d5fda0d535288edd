"""Sample 04: top-k of every row with CUB's block radix sort inside a Triton kernel."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import Const, Out, Tile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("cuda", file="topk.cu")
def block_topk(
    threads: Const["THREADS"],  # known at compile time: a template parameter, not an argument
    keys: Tile["f32", "N"],
    values: Out[Tile["f32", "K"]],
    indices: Out[Tile["i32", "K"]],
): ...


@triton.jit
def topk(x_ptr, values_ptr, indices_ptr, cols, k, COLS: tl.constexpr, KEPT: tl.constexpr, num_warps: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, COLS)
    keys = tl.load(x_ptr + row * cols + col, mask=col < cols, other=-float("inf"))
    values, indices = block_topk(32 * num_warps, keys, K=KEPT)  # no argument has K: the call says it
    rank = tl.arange(0, KEPT)
    tl.store(values_ptr + row * k + rank, values, mask=rank < k)
    tl.store(indices_ptr + row * k + rank, indices, mask=rank < k)


NUM_WARPS = 4
SIZES = ((1, 5, 3), (17, 100, 100), (100, 1000, 20), (512, 1024, 32), (64, 2047, 50))


def compile_for(target):
    types = {"x_ptr": "*fp32", "values_ptr": "*fp32", "indices_ptr": "*i32", "cols": "i32", "k": "i32"}
    constants = {"COLS": 1024, "KEPT": 32, "num_warps": NUM_WARPS}
    return [common.compile_ahead(topk, target, types, constants, num_warps=NUM_WARPS)]


def launch(x, k, num_warps=NUM_WARPS):
    import torch

    rows, cols = x.shape
    values = torch.empty(rows, k, device=x.device)
    indices = torch.empty(rows, k, device=x.device, dtype=torch.int32)
    # Every thread gets at least one key.
    columns = max(triton.next_power_of_2(cols), 32 * num_warps)
    kept = triton.next_power_of_2(k)
    compiled = topk[(rows,)](x, values, indices, cols, k, COLS=columns, KEPT=kept, num_warps=num_warps)
    return compiled, values, indices


def reference(x, k):
    """As torch.topk, and of equal keys the first comes first: torch.topk leaves that open."""
    import torch

    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    assert torch.equal(values[:, :k], torch.topk(x, k).values)
    return values[:, :k], indices[:, :k]


def check():
    import torch

    device = common.device()
    for rows, cols, k in common.sizes(gpu=SIZES, cpu=((1, 513, 30), (100, 1000, 20))):
        distinct = torch.randn(rows, cols, device=device)
        tied = torch.randint(-9, 9, (rows, cols), device=device).float()
        for name, x in (("", distinct), (", ties", tied)):
            compiled, values, indices = launch(x, k)
            wanted_values, wanted_indices = reference(x, k)
            what = f"{k} of {rows} × {cols}{name}"
            yield compiled, common.compare(f"values,  {what}", values, wanted_values)
            yield compiled, common.compare(f"indices, {what}", indices, wanted_indices)


if __name__ == "__main__":
    sys.exit(common.main("04 top-k with CUB's block radix sort", compile_for, check))
