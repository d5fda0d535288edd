"""Sample 09: a matrix product whose warps are specialised: one warp copies, all others multiply. For sm_90.

The copying warp and the multiplying ones meet at barriers alone: ``full[slot]`` tells that a slot's tiles have arrived,
``empty[slot]`` that they were multiplied. The copies of the next tile arrive while the one before is written. Twice:

* eight warps multiply one tile of the result together;
* two groups of four warps multiply the two halves of its rows, each at its own pace.

Programs drift apart, and read from memory again what was in the L2 cache before. In large products that costs power,
and clocks: with EVERY the warps that copy wait for those of all programs after so many steps.

On the CPU the warps take turns on one thread, at the barriers.
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

store_tile = common.load("tle_struct/02_tma_gemm.py").store_tile


@triton.jit
def tile_of(number, tiles_m, tiles_n, GROUP_SIZE: tl.constexpr, BESIDE: tl.constexpr):
    """The row and the column of a tile. In a group neighbours lie below each other, or BESIDE each other."""
    if BESIDE:
        n, m = tle.gpu.grouped_tile(number, tiles_n, tiles_m, GROUP_SIZE)
    else:
        m, n = tle.gpu.grouped_tile(number, tiles_m, tiles_n, GROUP_SIZE)
    return m, n


@triton.jit
def produce(
    a, b, full, empty, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
    GROUP_SIZE: tl.constexpr, BESIDE: tl.constexpr, EVERY: tl.constexpr, GROUPS: tl.constexpr,
    a_desc, b_desc, counter_ptr,
):  # fmt: skip
    """Copy the operands of all the program's tiles, step after step, into the slots in turn."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        tile_m, tile_n = tile_of(tile, tiles_m, tiles_n, GROUP_SIZE, BESIDE)
        for k in range(steps):
            if EVERY > 0 and step % EVERY == 0:
                tle.gpu.keep_in_step(counter_ptr, step // EVERY)
            slot = step % SLOTS
            tle.gpu.barrier_wait(empty[slot], step // SLOTS)
            for group in tl.static_range(GROUPS):
                row = tile_m * BLOCK_M + group * ROWS
                tle.gpu.copy(
                    a_desc, a[slot * GROUPS + group], [ROWS, BLOCK_K], offsets=[row, k * BLOCK_K], barrier=full[slot]
                )
            offsets = [tile_n * BLOCK_N, k * BLOCK_K]
            tle.gpu.copy(b_desc, b[slot], [BLOCK_N, BLOCK_K], offsets=offsets, barrier=full[slot])
            step += 1
    if EVERY > 0:
        most = tl.cdiv(tl.cdiv(tiles_m * tiles_n, tl.num_programs(0)) * steps, EVERY)
        tle.gpu.leave_step(counter_ptr, tl.cdiv(step, EVERY), most)


@triton.jit
def consume(
    a, b, full, empty, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
    GROUP_SIZE: tl.constexpr, BESIDE: tl.constexpr, GROUPS: tl.constexpr,
    c_desc, GROUP: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Multiply the rows of one group of warps, with one product under way, and write them."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step = 0
    tl.assume(steps > 0)  # a way around the inner loop would meet it where products are under way
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        c = tl.zeros((ROWS, BLOCK_N), tl.float32)
        for k in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(full[slot], step // SLOTS)
            c = tle.gpu.wgmma(a[slot * GROUPS + GROUP], b[slot], c, trans_b=True)
            c = tle.gpu.wgmma_wait(1, c)
            if k > 0:  # the product of the step before is done, and its slot is free
                tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
            step += 1
        c = tle.gpu.wgmma_wait(0, c)
        tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
        tile_m, tile_n = tile_of(tile, tiles_m, tiles_n, GROUP_SIZE, BESIDE)
        store_tile(c_desc, tile_m * BLOCK_M + GROUP * ROWS, tile_n * BLOCK_N, c, PARTS)


@triton.jit
def matmul(
    a_desc, b_desc, c_desc, counter_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
    GROUP_SIZE: tl.constexpr, BESIDE: tl.constexpr, EVERY: tl.constexpr, GROUPS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T``: a is [M, K], b [N, K], c [M, N]; what lies beyond the edges is read as 0 and not written.

    Programs are in step every EVERY steps of K, or with 0 never: the counter is an i64 that is 0.
    """
    a = tle.gpu.alloc([SLOTS * GROUPS, BLOCK_M // GROUPS, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=GROUPS, init=tle.gpu.READY)
    if GROUPS == 1:
        tle.gpu.warp_specialize(
            (
                (
                    consume,
                    (a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_SIZE, BESIDE, 1, c_desc, 0,
                     PARTS),
                ),
                (
                    produce,
                    (a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_SIZE, BESIDE, EVERY, 1, a_desc,
                     b_desc, counter_ptr),
                ),
            ),
            worker_num_warps=(1,),
            worker_num_regs=(24,),
        )  # fmt: skip
    else:
        tle.gpu.warp_specialize(
            (
                (
                    consume,
                    (a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_SIZE, BESIDE, 2, c_desc, 0,
                     PARTS),
                ),
                (
                    consume,
                    (a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_SIZE, BESIDE, 2, c_desc, 1,
                     PARTS),
                ),
                (
                    produce,
                    (a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_SIZE, BESIDE, EVERY, 2, a_desc,
                     b_desc, counter_ptr),
                ),
            ),
            worker_num_warps=(4, 1),
            worker_num_regs=(240, 24),
        )  # fmt: skip


TOGETHER = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_SIZE": 16, "GROUPS": 1, "PARTS": 4}
TOGETHER |= {"EVERY": 0, "BESIDE": False}
APART = TOGETHER | {"GROUPS": 2}
IN_STEP = APART | {"SLOTS": 3, "EVERY": 64, "PARTS": 1}  # where operands are larger than the L2 cache


def warps_of(blocks) -> int:
    """Of the default partition."""
    return 8 // blocks["GROUPS"]


def descriptor(x, rows: int, columns: int):
    return TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [rows, columns])


def launch(a, b, c, blocks, programs: int, idle: int = 0):
    """``idle`` programs find no tile."""
    (M, K), N = a.shape, b.shape[0]
    rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
    height, width = rows // blocks["GROUPS"], columns // blocks["PARTS"]
    operands = descriptor(a, height, depth), descriptor(b, columns, depth), descriptor(c, height, width)
    tiles = triton.cdiv(M, rows) * triton.cdiv(N, columns)
    counter = common.counter_of(a.device, "int64")
    grid = (common.sharing(tiles, programs) + idle,)
    return matmul[grid](*operands, counter, M, N, K, **blocks, num_warps=warps_of(blocks))


def compile_for(target):
    compiled = []
    for blocks in (TOGETHER, IN_STEP):
        height, depth = blocks["BLOCK_M"] // blocks["GROUPS"], blocks["BLOCK_K"]
        types = {
            "a_desc": f"tensordesc<fp16[{height},{depth}]>",
            "b_desc": f"tensordesc<fp16[{blocks['BLOCK_N']},{depth}]>",
            "c_desc": f"tensordesc<fp16[{height},{blocks['BLOCK_N'] // blocks['PARTS']}]>",
            "counter_ptr": "*i64",
        } | dict.fromkeys(("M", "N", "K"), "i32")
        compiled.append(common.compile_ahead(matmul, target, types, blocks, num_warps=warps_of(blocks)))
    return compiled


def check():
    import torch

    every = ((128, 256, 64), (200, 136, 72), (1000, 504, 1016), (2048, 2048, 2048), (129, 64, 40))
    for number, (M, N, K) in enumerate(common.sizes(gpu=every, cpu=(*every[:2], every[-1]), watched=every[:3])):
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            a, b = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (N, K)))
            want = a.double() @ b.double().T
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            ways = (TOGETHER, APART, IN_STEP | {"EVERY": 5, "BESIDE": True})
            for blocks in common.sizes(gpu=ways, cpu=ways[number % 2 :][:1]):
                c = torch.full((M, N), float("nan"), device=a.device, dtype=dtype)
                kernel = launch(a, b, c, blocks, programs=132)
                name = f"{blocks['GROUPS']} groups, in step every {blocks['EVERY']}"
                what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}, {name}"
                yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


def stress(random):
    import torch

    M, N, K = common.odd_or_even(random, *common.sizes(gpu=(700, 1100, 900), cpu=(200, 200, 90)))
    a, b = (torch.randn(shape, device=common.device()).to(torch.bfloat16) for shape in ((M, K), (N, K)))
    blocks = random.choice((TOGETHER, APART | {"BESIDE": True}, IN_STEP | {"EVERY": 3}))
    programs = random.choice((1, 2, 5, 132))
    idle = random.choice((0, 0, 3))
    what = f"{M} × {N} × {K}, {blocks['GROUPS']} groups, at most {programs} programs, {idle} idle"
    wanted = a.double() @ b.double().T
    return common.Stressed(
        what, lambda c: launch(a, b, c, blocks, programs, idle), (wanted,), (a.dtype,), (2**-7,), (3e-5 * K**0.5,)
    )


if __name__ == "__main__":
    sys.exit(common.main("09 matrix product by specialised warps", compile_for, check))
