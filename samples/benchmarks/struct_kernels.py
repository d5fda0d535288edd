"""Products, sums of rows and histograms in plain Triton: what the kernels of TLE-Struct are compared with."""

from __future__ import annotations

import triton
import triton.language as tl


def sharing(tiles: int, programs: int) -> int:
    """How many programs, at most so many, share the tiles most evenly, as the samples' ``common.sharing`` says."""
    return triton.cdiv(tiles, triton.cdiv(tiles, programs))


@triton.jit
def tile_of(program, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    in_group = GROUP_M * tiles_n
    first_m = program // in_group * GROUP_M
    height = tl.minimum(tiles_m - first_m, GROUP_M)
    return first_m + program % in_group % height, program % in_group // height


@triton.jit
def store_tile(c_desc, m, n, c, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HALVES: tl.constexpr):
    """In two halves where the descriptor's blocks are half as wide: less shared memory on its way out."""
    if HALVES:
        left, right = tl.split(tl.permute(tl.reshape(c, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))
        c_desc.store([m, n], left.to(c_desc.dtype))
        c_desc.store([m, n + BLOCK_N // 2], right.to(c_desc.dtype))
    else:
        c_desc.store([m, n], c.to(c_desc.dtype))


@triton.jit
def persistent(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, HALVES: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T`` by descriptors; each program takes tile after tile, as one loop."""
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        m, n = tile_m * BLOCK_M, tile_n * BLOCK_N
        c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            c = tl.dot(a_desc.load([m, k]), b_desc.load([n, k]).T, c)
        store_tile(c_desc, m, n, c, BLOCK_M, BLOCK_N, HALVES)


@triton.jit
def one_tile(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, HALVES: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T`` by descriptors, a tile for each program."""
    tile_m, tile_n = tile_of(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    m, n = tile_m * BLOCK_M, tile_n * BLOCK_N
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        c = tl.dot(a_desc.load([m, k]), b_desc.load([n, k]).T, c)
    store_tile(c_desc, m, n, c, BLOCK_M, BLOCK_N, HALVES)


@triton.jit
def sum_of_exponentials(x_ptr, o_ptr, count, BLOCK: tl.constexpr):
    """Each program sums exp of ``count`` rows of BLOCK elements: a loop that waits for every load."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(count):
        total += tl.exp(tl.load(x_ptr + (tl.program_id(0) * count + row) * BLOCK + i))
    tl.store(o_ptr + tl.program_id(0) * BLOCK + i, total)


@triton.jit
def histogram(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """``counts[v] += `` how often ``v`` stands in ``x[:n]``; n is a multiple of BLOCK. The programs take turns."""
    counts = tl.zeros((BINS,), tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        counts += tl.histogram(tl.load(x_ptr + start + tl.arange(0, BLOCK)), BINS)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), counts, sem="relaxed")
