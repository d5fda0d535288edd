"""Program 01, RMS norm: a TileLang kernel between Triton code before it and after it, in one launch.

``tiles=`` names the buffers that are not read from memory any more: Triton's block tensor takes the place of the copy
into ``x``, and the copy out of it becomes the region's result.
"""

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("tilelang", "tilelang")
import tilelang.language as T  # noqa: E402

EPSILON = 1e-6


def rms_norm(columns, rows=4, dtype="float16"):
    """The kernel as TileLang alone would run it: any number of rows, ``rows`` of them to a block."""
    m = T.dynamic("m")

    @T.prim_func
    def rms_norm(X: T.Tensor((m, columns), dtype), W: T.Tensor((columns,), dtype), Y: T.Tensor((m, columns), dtype)):
        with T.Kernel(T.ceildiv(m, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, columns), "float32")
            squares = T.alloc_fragment((rows, columns), "float32")
            power = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows, 0], x)
            for i, j in T.Parallel(rows, columns):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, power, dim=1)
            for i, j in T.Parallel(rows, columns):
                x[i, j] *= T.rsqrt(power[i] / columns + EPSILON) * W[j]
            T.copy(x, Y[bx * rows, 0])

    return rms_norm


COLUMNS, ROWS = 200, 4
normalise = tle_raw.fragment(rms_norm(COLUMNS, ROWS), tiles=["X", "Y"])


@triton.jit
def add_norm_gate(x_ptr, residual_ptr, weight_ptr, gate_ptr, y_ptr, m, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, 256)[None, :]  # Triton's blocks are powers of two; the region looks at COLUMNS of them
    at, inside = row * COLUMNS + column, (row < m) & (column < COLUMNS)
    total = tl.load(x_ptr + at, inside, 0.0) + tl.load(residual_ptr + at, inside, 0.0)
    tl.store(residual_ptr + at, total, inside)
    gate = tl.load(gate_ptr + at, inside, 0.0).to(tl.float32)
    y = normalise(total, weight_ptr, m)
    tl.store(y_ptr + at, y * gate * tl.sigmoid(gate), inside)


def compile_for(target):
    types = dict.fromkeys(("x_ptr", "residual_ptr", "weight_ptr", "gate_ptr", "y_ptr"), "*fp16") | {"m": "i32"}
    return [common.compile_ahead(add_norm_gate, target, types, {"COLUMNS": COLUMNS, "ROWS": ROWS})]


def check():
    import torch

    device = common.device()
    for m in common.sizes(gpu=(1, 1023, 16384), cpu=(1, 13)):
        x, residual, gate = (torch.randn(m, COLUMNS, device=device).half() for _ in range(3))
        weight = torch.randn(COLUMNS, device=device).half()
        total, y = residual.clone(), torch.empty_like(x)
        grid = (triton.cdiv(m, ROWS),)
        compiled = add_norm_gate[grid](x, total, weight, gate, y, m, COLUMNS=COLUMNS, ROWS=ROWS)
        sums = x.double() + residual.double()
        yield compiled, common.compare(f"{m} × {COLUMNS}, the sum", total, sums, relative=2**-11)
        normal = total.double() * (total.double().pow(2).mean(1, keepdim=True) + EPSILON).rsqrt() * weight.double()
        want = normal * torch.nn.functional.silu(gate.double())
        # Rounded to half twice: what the region returns, and the product with the gate.
        yield compiled, common.compare(f"{m} × {COLUMNS}, the norm", y, want, relative=2**-9, absolute=1e-6)


if __name__ == "__main__":
    sys.exit(common.main("01 RMS norm in TileLang, in a Triton kernel", compile_for, check))
