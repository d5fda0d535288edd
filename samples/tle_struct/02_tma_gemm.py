"""Sample 02: a matrix product by the copy engine and wgmma, with one product in the background. For sm_90.

Twice: with a tile of the result for each program, and with programs that stay and take tile after tile. The copies of
those run ahead across tiles: what a tile begins with arrives while the one before is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def matmul(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T``: a is [M, K], b [N, K], c [M, N]; what lies beyond the edges is read as 0 and not written."""
    tile_m, tile_n = tle.gpu.grouped_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    m, n, steps = tile_m * BLOCK_M, tile_n * BLOCK_N, tl.cdiv(K, BLOCK_K)
    a = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    for step in tl.static_range(SLOTS - 1):
        if step < steps:
            tle.gpu.copy(a_desc, a[step], [BLOCK_M, BLOCK_K], offsets=[m, step * BLOCK_K], barrier=full[step])
            tle.gpu.copy(b_desc, b[step], [BLOCK_N, BLOCK_K], offsets=[n, step * BLOCK_K], barrier=full[step])
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    tl.assume(steps > 0)  # a way around the loop would meet it where products are under way: ptxas then waits for each
    for step in range(steps):
        slot = step % SLOTS
        tle.gpu.barrier_wait(full[slot], step // SLOTS)
        c = tle.gpu.wgmma(a[slot], b[slot], c, trans_b=True)
        c = tle.gpu.wgmma_wait(1, c)  # the product of the step before is done, and its slot is free
        ahead = step + SLOTS - 1
        if ahead < steps:
            free = ahead % SLOTS
            tle.gpu.copy(a_desc, a[free], [BLOCK_M, BLOCK_K], offsets=[m, ahead * BLOCK_K], barrier=full[free])
            tle.gpu.copy(b_desc, b[free], [BLOCK_N, BLOCK_K], offsets=[n, ahead * BLOCK_K], barrier=full[free])
    c = tle.gpu.wgmma_wait(0, c)
    c_desc.store([m, n], c.to(c_desc.dtype))


@triton.jit
def store_tile(c_desc, m, n, c, PARTS: tl.constexpr):
    """In parts as wide as the descriptor's blocks: what is written takes less shared memory."""
    if PARTS == 1:
        c_desc.store([m, n], c.to(c_desc.dtype))
    else:
        WIDTH: tl.constexpr = c.shape[1] // 2
        left, right = tl.split(tl.permute(tl.reshape(c, (c.shape[0], 2, WIDTH)), (0, 2, 1)))
        store_tile(c_desc, m, n, left, PARTS // 2)
        store_tile(c_desc, m, n + WIDTH, right, PARTS // 2)


@triton.jit
def persistent_matmul(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    PARTS: tl.constexpr,
):  # fmt: skip
    """The same; each program takes every n-th tile. All its steps are one sequence, which the slots go round in."""
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    first, programs = tl.program_id(0), tl.num_programs(0)
    total = tl.cdiv(tiles_m * tiles_n - first, programs) * steps
    a = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    # The tile that copies are made of, and how far they are in it.
    ahead_tile, ahead_k = first, 0
    ahead_m, ahead_n = tle.gpu.grouped_tile(first, tiles_m, tiles_n, GROUP_M)
    for step in tl.static_range(SLOTS - 1):
        if step < total:
            tle.gpu.copy(
                a_desc, a[step], [BLOCK_M, BLOCK_K], offsets=[ahead_m * BLOCK_M, ahead_k * BLOCK_K], barrier=full[step]
            )
            tle.gpu.copy(
                b_desc, b[step], [BLOCK_N, BLOCK_K], offsets=[ahead_n * BLOCK_N, ahead_k * BLOCK_K], barrier=full[step]
            )
            ahead_k += 1
            if ahead_k == steps:
                ahead_tile, ahead_k = ahead_tile + programs, 0
                ahead_m, ahead_n = tle.gpu.grouped_tile(ahead_tile, tiles_m, tiles_n, GROUP_M)
    step = 0
    tl.assume(steps > 0)  # a way around the inner loop: see above
    for tile in range(first, tiles_m * tiles_n, programs):
        c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for _ in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(full[slot], step // SLOTS)
            c = tle.gpu.wgmma(a[slot], b[slot], c, trans_b=True)
            c = tle.gpu.wgmma_wait(1, c)
            if step + SLOTS - 1 < total:
                free = (step + SLOTS - 1) % SLOTS
                k = ahead_k * BLOCK_K
                tle.gpu.copy(a_desc, a[free], [BLOCK_M, BLOCK_K], offsets=[ahead_m * BLOCK_M, k], barrier=full[free])
                tle.gpu.copy(b_desc, b[free], [BLOCK_N, BLOCK_K], offsets=[ahead_n * BLOCK_N, k], barrier=full[free])
                ahead_k += 1
                if ahead_k == steps:
                    ahead_tile, ahead_k = ahead_tile + programs, 0
                    ahead_m, ahead_n = tle.gpu.grouped_tile(ahead_tile, tiles_m, tiles_n, GROUP_M)
            step += 1
        c = tle.gpu.wgmma_wait(0, c)
        tile_m, tile_n = tle.gpu.grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        store_tile(c_desc, tile_m * BLOCK_M, tile_n * BLOCK_N, c, PARTS)


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8}
SMALL = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "SLOTS": 3, "GROUP_M": 8}
PARTS = 2


def descriptor(x, rows: int, columns: int):
    return TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [rows, columns])


def launch(a, b, c, programs: int = 0):
    """With a number of programs they stay."""
    (M, K), N = a.shape, b.shape[0]
    blocks = common.sizes(gpu=(BLOCKS,), cpu=(SMALL,))[0]
    rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
    tiles = triton.cdiv(M, rows) * triton.cdiv(N, columns)
    operands = descriptor(a, rows, depth), descriptor(b, columns, depth)
    if not programs:
        return matmul[(tiles,)](*operands, descriptor(c, rows, columns), M, N, K, **blocks, num_warps=4)
    out, grid = descriptor(c, rows, columns // PARTS), (min(programs, tiles),)
    return persistent_matmul[grid](*operands, out, M, N, K, **blocks, PARTS=PARTS, num_warps=4)


def compile_for(target):
    rows, columns, depth = BLOCKS["BLOCK_M"], BLOCKS["BLOCK_N"], BLOCKS["BLOCK_K"]
    types = {
        "a_desc": f"tensordesc<fp16[{rows},{depth}]>",
        "b_desc": f"tensordesc<fp16[{columns},{depth}]>",
        "c_desc": f"tensordesc<fp16[{rows},{columns}]>",
    } | dict.fromkeys(("M", "N", "K"), "i32")
    parts = {"c_desc": f"tensordesc<fp16[{rows},{columns // PARTS}]>"}
    return [
        common.compile_ahead(matmul, target, types, BLOCKS),
        common.compile_ahead(persistent_matmul, target, types | parts, BLOCKS | {"PARTS": PARTS}),
    ]


def check():
    import torch

    gpu = ((128, 128, 64), (200, 136, 72), (1000, 504, 1016), (2048, 2048, 2048), (129, 64, 40))
    both = (torch.float16, torch.bfloat16)
    sizes = common.sizes(gpu=gpu, cpu=((64, 32, 32), (65, 40, 96), (33, 16, 200)), watched=gpu[:3])
    for number, (M, N, K) in enumerate(sizes):
        for dtype in common.sizes(gpu=both, cpu=both[number % 2 :][:1]):  # a kernel for each takes a second there
            a, b = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (N, K)))
            want = a.double() @ b.double().T
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            for programs in (0, 3):
                c = torch.full((M, N), float("nan"), device=a.device, dtype=dtype)
                kernel = launch(a, b, c, programs)
                what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}{', persistent' if programs else ''}"
                yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


if __name__ == "__main__":
    sys.exit(common.main("02 matrix product by TMA and wgmma", compile_for, check))
