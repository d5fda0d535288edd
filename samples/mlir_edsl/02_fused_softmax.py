"""Program 02, fused softmax: Triton loads, scales and stores; each warp reduces a row of the tile by shuffles."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Tile, mlir

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@mlir.function
def warp_max(value):
    for step in mlir.static_range(5):
        value = max(value, mlir.shuffle_xor(value, 16 >> step))
    return value


@mlir.function
def warp_sum(value):
    for step in mlir.static_range(5):
        value += mlir.shuffle_xor(value, 16 >> step)
    return value


@tle_raw.dialect("mlir")
def softmax_rows(t: InOut[Tile["f32", "M", "N"]]):
    lane = mlir.lane_id()
    for row in range(mlir.warp_id(), M, mlir.block_dim() // 32):
        largest = -math.inf
        for column in range(lane, N, 32):
            largest = max(largest, t[row, column])
        largest = warp_max(largest)
        if largest == -math.inf:  # a row of the padding
            continue
        total = 0.0
        for column in range(lane, N, 32):
            power = mlir.exp(t[row, column] - largest)
            t[row, column] = power
            total += power
        total = warp_sum(total)
        for column in range(lane, N, 32):
            t[row, column] /= total


@triton.jit
def softmax(x_ptr, y_ptr, scale, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    x = tl.load(x_ptr + row * cols + col, mask=inside, other=-float("inf"))
    tl.store(y_ptr + row * cols + col, softmax_rows(x * scale), mask=inside)


ROWS = 4  # with 4 warps, a row for each
SCALE = 0.7


def compile_for(target):
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "scale": "fp32", "rows": "i32", "cols": "i32"}
    return [common.compile_ahead(softmax, target, types, {"ROWS": ROWS, "COLS": 1024})]


def reference(x):
    import torch

    return torch.softmax(x.double() * SCALE, dim=-1)


def check():
    import torch

    sizes = ((1, 1), (3, 31), (4, 32), (1823, 781), (257, 4095), (4096, 1024))
    for rows, cols in common.sizes(gpu=sizes, cpu=((3, 31), (257, 781))):
        x = 4 * torch.randn(rows, cols, device=common.device())
        y = torch.empty_like(x)
        grid = (triton.cdiv(rows, ROWS),)
        compiled = softmax[grid](x, y, SCALE, rows, cols, ROWS=ROWS, COLS=triton.next_power_of_2(cols))
        yield compiled, common.compare(f"{rows} × {cols}", y, reference(x), relative=1e-5, absolute=1e-9)


if __name__ == "__main__":
    sys.exit(common.main("02 fused softmax in the MLIR eDSL", compile_for, check))
