"""Program 03, matrix multiplication: Triton walks along K, the function multiplies the tiles; 2 × 2 for each thread."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Tile, mlir

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("mlir")
def multiply(c: InOut[Tile["f32", "M", "N"]], a: Tile["f32", "M", "K"], b: Tile["f32", "K", "N"]):
    columns = N // 2
    for part in range(mlir.thread_id(), M // 2 * columns, mlir.block_dim()):
        row, column = 2 * (part // columns), 2 * (part % columns)
        c00, c01 = c[row, column], c[row, column + 1]
        c10, c11 = c[row + 1, column], c[row + 1, column + 1]
        for k in range(K):
            a0, a1 = a[row, k], a[row + 1, k]
            b0, b1 = b[k, column], b[k, column + 1]
            c00, c01 = c00 + a0 * b0, c01 + a0 * b1
            c10, c11 = c10 + a1 * b0, c11 + a1 * b1
        c[row, column], c[row, column + 1] = c00, c01
        c[row + 1, column], c[row + 1, column + 1] = c10, c11


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        inside = (row[:, None] < m) & (inner[None, :] < k)
        a = tl.load(a_ptr + row[:, None] * k + inner[None, :], mask=inside, other=0.0)
        inside = (inner[:, None] < k) & (col[None, :] < n)
        b = tl.load(b_ptr + inner[:, None] * n + col[None, :], mask=inside, other=0.0)
        acc = multiply(acc, a, b)
    tl.store(c_ptr + row[:, None] * n + col[None, :], acc, mask=(row[:, None] < m) & (col[None, :] < n))


BLOCKS = {"BM": 32, "BN": 32, "BK": 32}


def compile_for(target):
    types = {"a_ptr": "*fp32", "b_ptr": "*fp32", "c_ptr": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
    return [common.compile_ahead(matmul, target, types, BLOCKS)]


def check():
    import torch

    device = common.device()
    sizes = ((1, 1, 1), (33, 65, 31), (512, 512, 512), (1000, 777, 333))
    for m, n, k in common.sizes(gpu=sizes, cpu=((33, 65, 31), (97, 64, 130))):
        a, b = torch.randn(m, k, device=device), torch.randn(k, n, device=device)
        c = torch.empty(m, n, device=device)
        grid = (triton.cdiv(m, BLOCKS["BM"]), triton.cdiv(n, BLOCKS["BN"]))
        compiled = matmul[grid](a, b, c, m, n, k, **BLOCKS)
        want = a.double() @ b.double()
        yield compiled, common.compare(f"{m} × {n} × {k}", c, want, relative=1e-6, absolute=1e-6 * k)


if __name__ == "__main__":
    sys.exit(common.main("03 matrix multiplication in the MLIR eDSL", compile_for, check))
