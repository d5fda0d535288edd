"""Sample 03: residual plus input, and its RMS norm. A long row waits in shared memory for its mean square."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def add_rms_norm(
    x_ptr, residual_ptr, weight_ptr, columns, eps,
    CHUNKS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """Row ``program_id(0)``: ``residual += x``, and ``x = residual * weight / sqrt(mean(residual ** 2) + eps)``.

    The row is read once, CHUNK elements at a time, into CHUNKS slots of shared memory.
    """
    x_ptr += tl.program_id(0) * columns
    residual_ptr += tl.program_id(0) * columns
    row = tle.gpu.alloc([CHUNKS, CHUNK], dtype=tl.float32, nv_mma_shared_layout=False)
    squares = tl.zeros((CHUNK,), tl.float32)
    lane = tl.arange(0, CHUNK)
    for chunk in tl.static_range(CHUNKS):
        i = chunk * CHUNK + lane
        x = tl.load(x_ptr + i, mask=i < columns, other=0.0).to(tl.float32)
        sum = x + tl.load(residual_ptr + i, mask=i < columns, other=0.0).to(tl.float32)
        sum = sum.to(residual_ptr.dtype.element_ty)
        tl.store(residual_ptr + i, sum, mask=i < columns)
        sum = sum.to(tl.float32)
        row.slot(chunk).store(sum)
        squares += sum * sum
    scale = tl.rsqrt(tl.sum(squares) / columns + eps)
    for chunk in tl.static_range(CHUNKS):
        i = chunk * CHUNK + lane
        weight = tl.load(weight_ptr + i, mask=i < columns, other=0.0).to(tl.float32)
        y = row.slot(chunk).load() * scale * weight
        tl.store(x_ptr + i, y.to(x_ptr.dtype.element_ty), mask=i < columns)


EPS = 1e-6


def launch(x, residual, weight):
    rows, columns = x.shape
    chunk = min(triton.next_power_of_2(columns), 4096)
    chunks = triton.cdiv(columns, chunk)
    return add_rms_norm[(rows,)](x, residual, weight, columns, EPS, CHUNKS=chunks, CHUNK=chunk, num_warps=8)


def compile_for(target):
    types = {"x_ptr": "*bf16", "residual_ptr": "*bf16", "weight_ptr": "*bf16", "columns": "i32", "eps": "fp32"}
    return [common.compile_ahead(add_rms_norm, target, types, {"CHUNKS": 4, "CHUNK": 4096}, num_warps=8)]


def check():
    import torch

    for rows, columns in common.sizes(gpu=((1, 1), (7, 5000), (4096, 8192), (1000, 16_384)), cpu=((1, 1), (3, 5000))):
        for dtype, unit in ((torch.float32, 2e-6), (torch.bfloat16, 2**-8)):
            x, residual = (torch.randn(rows, columns).to(common.device(), dtype) for _ in range(2))
            weight = torch.randn(columns).to(common.device(), dtype)
            sum = (x.double() + residual.double()).to(dtype)
            want = sum.double() * (sum.double().square().mean(1, keepdim=True) + EPS).rsqrt() * weight.double()
            kernel = launch(x, residual, weight)
            what = f"{rows} × {columns} {str(dtype).removeprefix('torch.')}"
            yield kernel, common.compare(f"{what}: sum", residual, sum, relative=unit / 2**8)
            yield kernel, common.compare(f"{what}: norm", x, want, relative=unit, absolute=1e-6)


if __name__ == "__main__":
    sys.exit(common.main("03 residual plus input and its RMS norm", compile_for, check))
