"""Tutorial 03, matrix product: programs ordered in groups of rows, an activation on the way out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parent))
import arrays


@triton.jit
def tile_of_program(program, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """GROUP_M rows of tiles are walked column by column: neighbours in time share what they read of both matrices."""
    in_group = GROUP_M * tiles_n
    first_m = program // in_group * GROUP_M
    height = tl.minimum(tiles_m - first_m, GROUP_M)  # the last group may be lower
    return first_m + program % in_group % height, program % in_group // height


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    tile_m, tile_n = tile_of_program(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Rows and columns beyond the edge are read from the beginning instead: their results are never stored.
    a_at = a_ptr + (m % M)[:, None] * a_row + k[None, :] * a_column
    b_at = b_ptr + k[:, None] * b_row + (n % N)[None, :] * b_column
    c = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for left in range(K, 0, -BLOCK_K):
        a = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        b = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        c = tl.dot(a, b, c, input_precision="ieee")
        a_at += BLOCK_K * a_column
        b_at += BLOCK_K * b_row
    if ACTIVATION == "leaky_relu":
        c = leaky_relu(c)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * c_row + n[None, :] * c_column, c.to(c_ptr.dtype.element_ty), mask=inside)


def matmul(a: Any, b: Any, activation: str = "", blocks: tuple[int, int, int, int] = (64, 64, 32, 8), out: Any = None):
    """``blocks``: rows and columns of a tile, the step along K, and how many rows of tiles are one group."""
    (M, K), N = a.shape, b.shape[1]
    c = arrays.empty((M, N), a) if out is None else out
    block_m, block_n, block_k, group = blocks
    grid = (triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)
    matmul_kernel[grid](
        a, b, c, M, N, K, *arrays.strides(a), *arrays.strides(b), *arrays.strides(c),
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=group, ACTIVATION=activation,
    )  # fmt: skip
    return c


def reference(a: Any, b: Any, activation: str = "") -> np.ndarray:
    c = arrays.double(a) @ arrays.double(b)
    return np.where(c >= 0, c, 0.01 * c) if activation == "leaky_relu" else c


def check():
    import torch

    for dtype, relative in ((torch.float32, 2e-6), (torch.float16, 2**-10)):
        for (M, N, K), activation in (((64, 64, 64), ""), ((129, 67, 45), "leaky_relu"), ((512, 512, 512), "")):
            a, b = torch.randn(M, K), torch.randn(K, N)
            a, b = (t.to(arrays.device(), dtype) for t in (a, b))
            got, want = matmul(a, b, activation), reference(a, b, activation)
            yield f"{dtype}, {M} x {N} x {K} {activation}", arrays.largest_share(got, want, relative, 3e-5 * K**0.5)


if __name__ == "__main__":
    sys.exit(arrays.main("03 matrix product", check))
