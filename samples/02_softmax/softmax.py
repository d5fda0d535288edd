"""Sample 02: fused softmax. Triton loads, scales and stores; the reduction is CUDA with warp shuffles."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Tile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("cuda", file="softmax.cu")
def softmax_rows(t: InOut[Tile["f32", "M", "N"]]): ...


@triton.jit
def softmax(x_ptr, y_ptr, scale, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    x = tl.load(x_ptr + row * cols + col, mask=inside, other=-float("inf"))
    y = softmax_rows(x * scale)
    tl.store(y_ptr + row * cols + col, y, mask=inside)


ROWS = 4  # with 4 warps, a row for each
SCALE = 0.7
SIZES = ((1, 1), (3, 31), (4, 32), (1823, 781), (257, 4095), (4096, 1024))


def compile_for(target):
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "scale": "fp32", "rows": "i32", "cols": "i32"}
    return [common.compile_ahead(softmax, target, types, {"ROWS": ROWS, "COLS": 1024})]


def launch(x, y):
    rows, cols = x.shape
    columns = triton.next_power_of_2(cols)
    warps = 4 if columns <= 2048 else 8
    return softmax[(triton.cdiv(rows, ROWS),)](x, y, SCALE, rows, cols, ROWS=ROWS, COLS=columns, num_warps=warps)


def reference(x):
    import torch

    return torch.softmax(x.double() * SCALE, dim=-1)


def check():
    import torch

    device = common.device()
    for rows, cols in common.sizes(gpu=SIZES, cpu=((3, 31), (257, 781))):
        x = 4 * torch.randn(rows, cols, device=device)
        y = torch.empty_like(x)
        compiled = launch(x, y)
        # __expf is good to some units in the last place, more of them the farther x is from the maximum.
        yield compiled, common.compare(f"{rows} × {cols}", y, reference(x), relative=1e-5, absolute=1e-9)


if __name__ == "__main__":
    sys.exit(common.main("02 fused softmax with warp shuffles", compile_for, check))
