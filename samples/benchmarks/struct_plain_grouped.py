"""Products of a mixture of experts in plain Triton: what the kernel of sample 10 is compared with."""

from __future__ import annotations

import triton
import triton.language as tl
from struct_kernels import tile_of


@triton.jit
def store_pairs(y_ptr, pair, is_pair, column, N, y, SWAP: tl.constexpr):
    """Store columns of the rows of pairs, where ``is_pair``; with SWAP the pairs are the columns of ``y``."""
    if SWAP:
        at = pair.to(tl.int64)[None, :] * N + column[:, None]
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=is_pair[None, :])
    else:
        at = pair.to(tl.int64)[:, None] * N + column[None, :]
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=is_pair[:, None])


@triton.jit
def multiply_tile(
    x_ptr, pairs_ptr, experts_ptr, w_ptr, w_desc, y_ptr, tile, blocks, choices, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, TMA: tl.constexpr,
    SWAP: tl.constexpr,
):  # fmt: skip
    block, tile_n = tile_of(tile, blocks, tl.cdiv(N, BLOCK_N), GROUP_M)
    pair = tl.load(pairs_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M))
    row = tl.load(experts_ptr + block) * N + tile_n * BLOCK_N
    is_pair = pair >= 0
    k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (pair // choices).to(tl.int64)[:, None] * K + k[None, :]
    w_ptrs = w_ptr + (row + tl.arange(0, BLOCK_N)).to(tl.int64)[:, None] * K + k[None, :]
    y = tl.zeros((BLOCK_N, BLOCK_M) if SWAP else (BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=is_pair[:, None], other=0.0)
        if TMA:
            w = w_desc.load([row, start])
        else:
            w = tl.load(w_ptrs)
            w_ptrs += BLOCK_K
        y = tl.dot(w, x.T, y) if SWAP else tl.dot(x, w.T, y)
        x_ptrs += BLOCK_K
    store_pairs(y_ptr, pair, is_pair, tile_n * BLOCK_N + tl.arange(0, BLOCK_N), N, y, SWAP)


@triton.jit(do_not_specialize=["blocks", "choices"])
def grouped(
    x_ptr, pairs_ptr, experts_ptr, w_ptr, w_desc, y_ptr, blocks, choices, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, TMA: tl.constexpr,
    SWAP: tl.constexpr, STAYS: tl.constexpr,
):  # fmt: skip
    """``y[pair] = x[pair // choices] @ w[expert of the pair].T``; ``w`` by TMA or pointers.

    ``pairs`` holds the pairs of tokens and choices in the order of their experts, each expert's filled up with -1 to
    whole blocks of BLOCK_M, ``experts`` the expert of each of the ``blocks``. A program has one tile, or with STAYS
    every so manyth. With SWAP the weights are the left operand. N is a multiple of BLOCK_N, K one of BLOCK_K.
    """
    if STAYS:
        for tile in tl.range(tl.program_id(0), blocks * tl.cdiv(N, BLOCK_N), tl.num_programs(0), flatten=True):
            multiply_tile(
                x_ptr, pairs_ptr, experts_ptr, w_ptr, w_desc, y_ptr, tile, blocks, choices, N, K, BLOCK_M, BLOCK_N,
                BLOCK_K, GROUP_M, TMA, SWAP,
            )  # fmt: skip
    else:
        multiply_tile(
            x_ptr, pairs_ptr, experts_ptr, w_ptr, w_desc, y_ptr, tl.program_id(0), blocks, choices, N, K, BLOCK_M,
            BLOCK_N, BLOCK_K, GROUP_M, TMA, SWAP,
        )  # fmt: skip
