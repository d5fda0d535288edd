"""Program 05, top-k: each key's rank is the number of keys before it; keys of rank below K go to their places."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import Out, Tile, mlir

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("mlir")
def block_topk(keys: Tile["f32", "N"], values: Out[Tile["f32", "K"]], indices: Out[Tile["i32", "K"]]):
    for i in range(mlir.thread_id(), N, mlir.block_dim()):
        key, rank = keys[i], 0
        for j in range(N):
            before = keys[j] > key or (keys[j] == key and j < i)
            rank += 1 if before else 0
            if rank == K:
                break
        if rank < K:
            values[rank] = key
            indices[rank] = i


@triton.jit
def topk(x_ptr, values_ptr, indices_ptr, cols, k, COLS: tl.constexpr, KEPT: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, COLS)
    keys = tl.load(x_ptr + row * cols + col, mask=col < cols, other=-float("inf"))
    values, indices = block_topk(keys, K=KEPT)  # no argument has K: the call says it
    rank = tl.arange(0, KEPT)
    tl.store(values_ptr + row * k + rank, values, mask=rank < k)
    tl.store(indices_ptr + row * k + rank, indices, mask=rank < k)


def compile_for(target):
    types = {"x_ptr": "*fp32", "values_ptr": "*fp32", "indices_ptr": "*i32", "cols": "i32", "k": "i32"}
    return [common.compile_ahead(topk, target, types, {"COLS": 1024, "KEPT": 32})]


def reference(x, k):
    """As torch.topk, and of equal keys the first comes first."""
    import torch

    values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
    return values[:, :k], indices[:, :k]


def check():
    import torch

    device = common.device()
    sizes = ((1, 5, 3), (17, 100, 100), (100, 1000, 20), (64, 2047, 50))
    for rows, cols, k in common.sizes(gpu=sizes, cpu=((1, 5, 3), (9, 513, 30))):
        distinct = torch.randn(rows, cols, device=device)
        tied = torch.randint(-9, 9, (rows, cols), device=device).float()
        for name, x in (("", distinct), (", ties", tied)):
            values = torch.empty(rows, k, device=device)
            indices = torch.empty(rows, k, device=device, dtype=torch.int32)
            columns, kept = triton.next_power_of_2(cols), triton.next_power_of_2(k)
            compiled = topk[(rows,)](x, values, indices, cols, k, COLS=columns, KEPT=kept)
            wanted_values, wanted_indices = reference(x, k)
            what = f"{k} of {rows} × {cols}{name}"
            yield compiled, common.compare(f"values,  {what}", values, wanted_values)
            yield compiled, common.compare(f"indices, {what}", indices, wanted_indices)


if __name__ == "__main__":
    sys.exit(common.main("05 top-k in the MLIR eDSL", compile_for, check))
