"""Sample 13: a matrix product by two groups of warps that take turns, each with a tile of its own. For sm_90.

One warp copies by TMA. Two groups of four warps multiply, of bf16, f16 or fp8: while the one writes its tile, tensor
cores work for the other, which has waited at a named barrier until the first one had begun its last product. In
sample 09 both groups work on one tile, and write it at the same time.

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


@triton.jit
def produce(
    a, b, full, empty, order, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    a_desc, b_desc,
):  # fmt: skip
    """Copy the operands of all the program's tiles, step after step, into the slots in turn."""
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    number, turn, step = tl.program_id(0), 0, 0
    while number < tiles_m * tiles_n:
        m, n = tle.gpu.grouped_tile(number, tiles_m, tiles_n, GROUP_M)
        for k in range(steps):
            slot, use = step % SLOTS, step // SLOTS
            tle.gpu.barrier_wait(empty[slot], use)
            at_a, at_b = [m * BLOCK_M, k * BLOCK_K], [n * BLOCK_N, k * BLOCK_K]
            tle.gpu.copy(a_desc, a[slot], [BLOCK_M, BLOCK_K], offsets=at_a, barrier=full[slot])
            tle.gpu.copy(b_desc, b[slot], [BLOCK_N, BLOCK_K], offsets=at_b, barrier=full[slot])
            step += 1
        number = tle.gpu.next_tile(order, turn, tiles_m * tiles_n)
        turn += 1


@triton.jit
def consume(
    a, b, full, empty, order, turns, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    c_desc, GROUP: tl.constexpr,
):  # fmt: skip
    """Every other tile of the program, from number GROUP on, with one product under way."""
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    total = tiles_m * tiles_n
    tl.assume(steps > 0)  # a way around the inner loop would meet it where products are under way
    before, number, turn = tl.program_id(0), tl.program_id(0), 0
    if GROUP == 1:
        number, turn = tle.gpu.next_tile(order, 0, total), 1
        if before < total:
            tle.gpu.barrier_arrive(turns[0])  # group 0 begins
    step = turn * steps
    while number < total:
        tle.gpu.barrier_wait(turns[GROUP])
        c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(full[slot], step // SLOTS)
            c = tle.gpu.wgmma(a[slot], b[slot], c, trans_b=True)
            c = tle.gpu.wgmma_wait(1, c)
            if k > 0:  # the product of the step before is done, and its slot is free
                tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
            step += 1
        tle.gpu.barrier_arrive(turns[1 - GROUP])
        c = tle.gpu.wgmma_wait(0, c)
        tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
        m, n = tle.gpu.grouped_tile(number, tiles_m, tiles_n, GROUP_M)
        c_desc.store([m * BLOCK_M, n * BLOCK_N], c.to(c_desc.dtype))
        before = tle.gpu.next_tile(order, turn, total)  # the other group's
        number = tle.gpu.next_tile(order, turn + 1, total)
        turn += 2
        step += steps
    if before < total:
        tle.gpu.barrier_wait(turns[GROUP])  # what the group of the last tile has left


@triton.jit
def matmul(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T``: a is [M, K], b [N, K], c [M, N]; what lies beyond the edges is read as 0 and not written."""
    a = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    empty = tle.gpu.alloc_barriers(SLOTS, init=tle.gpu.READY)
    order = tle.gpu.alloc_tile_scheduler("static")
    turns = tle.gpu.alloc_barriers(2, arrive_count=256)  # threads of both groups
    tle.gpu.warp_specialize(
        (
            (
                consume,
                (a, b, full, empty, order, turns, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, c_desc, 0),
            ),
            (
                consume,
                (a, b, full, empty, order, turns, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, c_desc, 1),
            ),
            (
                produce,
                (a, b, full, empty, order, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, a_desc, b_desc),
            ),
        ),
        worker_num_warps=(4, 1),
        worker_num_regs=(240, 24),
    )


# BLOCK_K in bytes: one line of the copy engine's swizzle.
BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128, "SLOTS": 4, "GROUP_M": 8}


def descriptor(x, rows: int, columns: int):
    return TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [rows, columns])


def launch(a, b, c, programs: int, blocks=BLOCKS, idle: int = 0):
    """``idle`` programs find no tile."""
    (M, K), N = a.shape, b.shape[0]
    sizes = blocks | {"BLOCK_K": blocks["BLOCK_K"] // a.element_size()}
    rows, columns, depth = (sizes[f"BLOCK_{axis}"] for axis in "MNK")
    operands = descriptor(a, rows, depth), descriptor(b, columns, depth), descriptor(c, rows, columns)
    tiles = triton.cdiv(M, rows) * triton.cdiv(N, columns)
    return matmul[(common.sharing(tiles, programs) + idle,)](*operands, M, N, K, **sizes, num_warps=4)


def compile_for(target):
    compiled = []
    for given, made, size in (("bf16", "bf16", 2), ("fp8e4nv", "bf16", 1)):
        blocks = BLOCKS | {"BLOCK_K": BLOCKS["BLOCK_K"] // size}
        rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
        types = {
            "a_desc": f"tensordesc<{given}[{rows},{depth}]>",
            "b_desc": f"tensordesc<{given}[{columns},{depth}]>",
            "c_desc": f"tensordesc<{made}[{rows},{columns}]>",
        } | dict.fromkeys(("M", "N", "K"), "i32")
        compiled.append(common.compile_ahead(matmul, target, types, blocks, num_warps=4))
    return compiled


def check():
    import torch

    every = ((128, 256, 64), (200, 144, 80), (1000, 512, 1008), (2048, 2048, 2048), (129, 64, 48))
    for M, N, K in common.sizes(gpu=every, cpu=every[1:2], watched=every[:3]):
        kinds = (torch.bfloat16, 132), (torch.float16, 3), (torch.float8_e4m3fn, 132)
        for dtype, programs in common.sizes(gpu=kinds, cpu=((torch.bfloat16, 2), kinds[2])):
            a, b = (torch.randn(shape).to(common.device()).to(dtype) for shape in ((M, K), (N, K)))
            made = torch.bfloat16 if dtype == torch.float8_e4m3fn else dtype
            c = torch.full((M, N), float("nan"), device=a.device, dtype=made)
            kernel = launch(a, b, c, programs)
            # Of fp8 tensor cores keep some 14 bits of a sum, step by step of 32: what they cut off adds up.
            slack = (2**-11 * max(1, K / 128) if dtype == torch.float8_e4m3fn else 3e-5) * K**0.5
            unit = 2**-10 if made == torch.float16 else 2**-7
            what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}"
            yield kernel, common.compare(what, c, a.double() @ b.double().T, relative=unit, absolute=slack)


def stress(random):
    import torch

    M, N, K = common.odd_or_even(random, *common.sizes(gpu=(700, 1100, 900), cpu=(200, 200, 90)))
    a, b = (torch.randn(shape, device=common.device()).to(torch.bfloat16) for shape in ((M, K), (N, K)))
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    what = f"{M} × {N} × {K}, at most {programs} programs, {idle} idle"
    wanted = a.double() @ b.double().T
    return common.Stressed(
        what, lambda c: launch(a, b, c, programs, idle=idle), (wanted,), (a.dtype,), (2**-7,), (3e-5 * K**0.5,)
    )


if __name__ == "__main__":
    sys.exit(common.main("13 matrix product by groups that take turns", compile_for, check))
