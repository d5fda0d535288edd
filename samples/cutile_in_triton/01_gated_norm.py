"""Program 01, RMS norm: a function of tiles written with cuTile, between Triton code before it and after it.

The function is what a cuTile kernel would call: it needs no decorator of cuTile's, and its types are those of the call.
"""

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("cuda.tile", "cutile")
import cuda.tile as ct  # noqa: E402

EPSILON = 1e-6


def mean_of_squares(x, width):
    return ct.sum(x * x, axis=1, keepdims=True) / width


@tle_raw.dialect("cutile", alone=True)  # the Triton code around it touches no memory of W
def rms_norm(x, W, width):
    """Rows of a tile whose columns from ``width`` on are zeros, and the weights as an array."""
    weight = ct.load(W, (0,), (x.shape[1],), padding_mode=ct.PaddingMode.ZERO)
    return x * ct.rsqrt(mean_of_squares(x, width) + EPSILON) * weight


@triton.jit
def add_norm_gate(x_ptr, residual_ptr, weight_ptr, gate_ptr, y_ptr, m, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, 256)[None, :]
    at, inside = row * COLUMNS + column, (row < m) & (column < COLUMNS)
    total = tl.load(x_ptr + at, inside, 0.0) + tl.load(residual_ptr + at, inside, 0.0)
    tl.store(residual_ptr + at, total, inside)
    gate = tl.load(gate_ptr + at, inside, 0.0).to(tl.float32)
    y = rms_norm(total.to(tl.float32), (weight_ptr, (COLUMNS,), (1,)), COLUMNS)
    tl.store(y_ptr + at, y * gate * tl.sigmoid(gate), inside)


COLUMNS, ROWS = 200, 4


def compile_for(target):
    types = dict.fromkeys(("x_ptr", "residual_ptr", "weight_ptr", "gate_ptr", "y_ptr"), "*fp16") | {"m": "i32"}
    return [common.compile_ahead(add_norm_gate, target, types, {"COLUMNS": COLUMNS, "ROWS": ROWS})]


def check():
    import torch

    device = common.device()
    for m in common.sizes(gpu=(1, 1023, 16384), cpu=(1, 13), watched=(1, 101)):
        x, residual, gate = (torch.randn(m, COLUMNS, device=device).half() for _ in range(3))
        weight = torch.randn(COLUMNS, device=device).half()
        total, y = residual.clone(), torch.empty_like(x)
        grid = (triton.cdiv(m, ROWS),)
        compiled = add_norm_gate[grid](x, total, weight, gate, y, m, COLUMNS=COLUMNS, ROWS=ROWS)
        sums = x.double() + residual.double()
        yield compiled, common.compare(f"{m} × {COLUMNS}, the sum", total, sums, relative=2**-11)
        normal = total.double() * (total.double().pow(2).mean(1, keepdim=True) + EPSILON).rsqrt() * weight.double()
        want = normal * torch.nn.functional.silu(gate.double())
        yield compiled, common.compare(f"{m} × {COLUMNS}, the norm", y, want, relative=2**-10, absolute=1e-6)


if __name__ == "__main__":
    sys.exit(common.main("01 RMS norm in cuTile, in a Triton kernel", compile_for, check))
