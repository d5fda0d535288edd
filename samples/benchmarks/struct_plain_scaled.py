"""fp8 products of a mixture of experts in plain Triton: what the kernel of sample 25 is compared with."""

from __future__ import annotations

import triton
import triton.language as tl
from struct_kernels import tile_of
from struct_plain_grouped import store_pairs


@triton.jit
def multiply_tile(
    x_ptr, x_scales_ptr, w_ptr, w_desc, w_scales_ptr, pairs_ptr, experts_ptr, y_ptr, tile, blocks, choices, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr, TMA: tl.constexpr, SWAP: tl.constexpr,
):  # fmt: skip
    tiles_n, steps = tl.cdiv(N, BLOCK_N), K // 128
    block, tile_n = tile_of(tile, blocks, tiles_n, GROUP_M)
    pair = tl.load(pairs_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M))
    expert = tl.load(experts_ptr + block)
    row = expert * N + tile_n * BLOCK_N
    is_pair, token = pair >= 0, pair // choices
    k = tl.arange(0, 128)
    x_ptrs = x_ptr + token.to(tl.int64)[:, None] * K + k[None, :]
    w_ptrs = w_ptr + (row + tl.arange(0, BLOCK_N)).to(tl.int64)[:, None] * K + k[None, :]
    x_scale_ptrs = x_scales_ptr + token * steps
    w_scale_ptr = w_scales_ptr + (expert * tl.cdiv(N, 128) + tile_n * BLOCK_N // 128) * steps
    y = tl.zeros((BLOCK_N, BLOCK_M) if SWAP else (BLOCK_M, BLOCK_N), tl.float32)
    for step in range(steps):
        x = tl.load(x_ptrs, mask=is_pair[:, None], other=0.0)
        if TMA:
            w = w_desc.load([row, step * 128])
        else:
            w = tl.load(w_ptrs)
            w_ptrs += 128
        x_scale = tl.load(x_scale_ptrs + step, mask=is_pair, other=0.0)
        if BLOCK_N > 128:
            w_scale = tl.load(w_scale_ptr + tl.arange(0, BLOCK_N) // 128 * steps + step)
            y += tl.dot(x, w.T) * x_scale[:, None] * w_scale[None, :]
        else:
            scale = x_scale * tl.load(w_scale_ptr + step)
            y += tl.dot(w, x.T) * scale[None, :] if SWAP else tl.dot(x, w.T) * scale[:, None]
        x_ptrs += 128
    store_pairs(y_ptr, pair, is_pair, tile_n * BLOCK_N + tl.arange(0, BLOCK_N), N, y, SWAP)


@triton.jit(do_not_specialize=["blocks", "choices"])
def scaled(
    x_ptr, x_scales_ptr, w_ptr, w_desc, w_scales_ptr, pairs_ptr, experts_ptr, y_ptr, blocks, choices, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr, TMA: tl.constexpr, SWAP: tl.constexpr,
    STAYS: tl.constexpr,
):  # fmt: skip
    """``struct_plain_grouped.grouped`` of fp8, with a scale for 128 numbers of x, and for 128 × 128 of w.

    N is a multiple of BLOCK_N, K one of 128. With SWAP BLOCK_N is 128 at most.
    """
    if STAYS:
        for tile in tl.range(tl.program_id(0), blocks * tl.cdiv(N, BLOCK_N), tl.num_programs(0)):
            multiply_tile(
                x_ptr, x_scales_ptr, w_ptr, w_desc, w_scales_ptr, pairs_ptr, experts_ptr, y_ptr, tile, blocks, choices,
                N, K, BLOCK_M, BLOCK_N, GROUP_M, TMA, SWAP,
            )  # fmt: skip
    else:
        multiply_tile(
            x_ptr, x_scales_ptr, w_ptr, w_desc, w_scales_ptr, pairs_ptr, experts_ptr, y_ptr, tl.program_id(0), blocks,
            choices, N, K, BLOCK_M, BLOCK_N, GROUP_M, TMA, SWAP,
        )  # fmt: skip
