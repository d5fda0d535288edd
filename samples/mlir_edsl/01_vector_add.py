"""Program 01, vector add: the types are spelled as MLIR has them, the body is Python."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Input
from tle_raw.mlir import block_dim, thread_id

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("mlir")
def vector_add(
    output: InOut["memref<?xf32, 3>"],
    x: Input["memref<?xf32, 3>"],
    y: Input["memref<?xf32, 3>"],
):
    for i in range(thread_id(), len(output), block_dim()):
        output[i] = x[i] + y[i]


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    x = tl.load(x_ptr + index, mask=inside)
    y = tl.load(y_ptr + index, mask=inside)
    tl.store(out_ptr + index, vector_add(tl.zeros((BLOCK,), tl.float32), x, y), mask=inside)


BLOCK = 1024


def compile_for(target):
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    return [common.compile_ahead(add, target, types, {"BLOCK": BLOCK})]


def check():
    import torch

    for n in common.sizes(gpu=(1, 1023, 1 << 20, 1_000_003), cpu=(1, 99_999)):
        x, y, out = (torch.randn(n, device=common.device()) for _ in range(3))
        compiled = add[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
        yield compiled, common.compare(f"n = {n}", out, x.double() + y.double(), relative=2**-24, absolute=2**-40)


if __name__ == "__main__":
    sys.exit(common.main("01 vector add in the MLIR eDSL", compile_for, check))
