"""Products of a mixture of experts in plain Triton: what the kernel of sample 10 is compared with."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def grouped(
    x_ptr, pairs_ptr, experts_ptr, w_ptr, w_desc, y_ptr, blocks, choices, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, TMA: tl.constexpr,
):  # fmt: skip
    """``y[pair] = x[pair // choices] @ w[expert of the pair].T``, a tile for each program; ``w`` by TMA or pointers.

    ``pairs`` and ``experts`` are those of the sample. N is a multiple of BLOCK_N, K one of BLOCK_K.
    """
    tiles_n = tl.cdiv(N, BLOCK_N)
    program = tl.program_id(0)
    in_group = GROUP_M * tiles_n
    first = program // in_group * GROUP_M
    height = tl.minimum(blocks - first, GROUP_M)
    block, tile_n = first + program % in_group % height, program % in_group // height
    pair = tl.load(pairs_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M))
    row = tl.load(experts_ptr + block) * N + tile_n * BLOCK_N
    is_pair = pair >= 0
    k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (pair // choices).to(tl.int64)[:, None] * K + k[None, :]
    w_ptrs = w_ptr + (row + tl.arange(0, BLOCK_N)).to(tl.int64)[None, :] * K + k[:, None]
    y = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=is_pair[:, None], other=0.0)
        if TMA:
            y = tl.dot(x, w_desc.load([row, start]).T, y)
        else:
            y = tl.dot(x, tl.load(w_ptrs), y)
            w_ptrs += BLOCK_K
        x_ptrs += BLOCK_K
    column = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    at = pair.to(tl.int64)[:, None] * N + column[None, :]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=is_pair[:, None])
