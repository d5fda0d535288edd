"""Sample 11: the product of sample 09 by pipes, which count the barriers, phases and bytes themselves. For sm_90.

One warp writes a pipe whose slots hold a step's operands: it takes a slot, begins the copies, and hands the slot over.
Who multiplies waits for the slot, and gives it back when the product is done. Twice:

* eight warps multiply one tile of the result together, the pipe's one reader;
* two groups of four warps multiply the two halves of its rows, each a reader of its own, which sees its half.

On the CPU the warps take turns on one thread, at the pipes.
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
def write(
    writer, a_desc, b_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """Copy the operands of all the program's tiles, step after step."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    at = writer.cursor(0)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        tile_m, tile_n = tle.gpu.grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        for k in range(steps):
            slot = writer.acquire(at)
            tle.gpu.copy(a_desc, slot.upper, [ROWS, BLOCK_K], [tile_m * BLOCK_M, k * BLOCK_K])
            if GROUPS == 2:
                tle.gpu.copy(a_desc, slot.lower, [ROWS, BLOCK_K], [tile_m * BLOCK_M + ROWS, k * BLOCK_K])
            tle.gpu.copy(b_desc, slot.b, [BLOCK_N, BLOCK_K], [tile_n * BLOCK_N, k * BLOCK_K])
            writer.commit(at)
            at = at.advance()


@triton.jit
def multiply(
    reader, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, GROUPS: tl.constexpr,
    HALF: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Multiply the rows of one group of warps, with one product under way, and write them."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    at, before = reader.cursor(0), reader.cursor(0)
    tl.assume(steps > 0)  # a way around the inner loop would meet it where products are under way
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        c = tl.zeros((ROWS, BLOCK_N), tl.float32)
        for k in range(steps):
            slot = reader.wait(at).slot
            c = tle.gpu.wgmma(slot.fields[HALF], slot.b, c, trans_b=True)
            c = tle.gpu.wgmma_wait(1, c)
            if k > 0:  # the product of the step before is done, and its slot is free
                reader.release(before)
            before = at
            at = at.advance()
        c = tle.gpu.wgmma_wait(0, c)
        reader.release(before)
        tile_m, tile_n = tle.gpu.grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        row = tile_m * BLOCK_M
        if HALF == "lower":
            row += ROWS
        if PARTS == 2:  # the descriptor's blocks are half as wide: what is written takes less shared memory
            left, right = tl.split(tl.permute(tl.reshape(c, (ROWS, 2, BLOCK_N // 2)), (0, 2, 1)))
            c_desc.store([row, tile_n * BLOCK_N], left.to(c_desc.dtype))
            c_desc.store([row, tile_n * BLOCK_N + BLOCK_N // 2], right.to(c_desc.dtype))
        else:
            c_desc.store([row, tile_n * BLOCK_N], c.to(c_desc.dtype))


@triton.jit
def matmul(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    GROUPS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T``: a is [M, K], b [N, K], c [M, N]; what lies beyond the edges is read as 0 and not written."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    upper = tle.gpu.alloc([SLOTS, ROWS, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    if GROUPS == 1:
        steps = tle.pipe(capacity=SLOTS, upper=upper, b=b)
        tle.gpu.warp_specialize(
            (
                (multiply, (steps.reader(), c_desc, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, 1, "upper", PARTS)),
                (write, (steps.writer(), a_desc, b_desc, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, 1)),
            ),
            worker_num_warps=(1,),
            worker_num_regs=(24,),
        )
    else:
        lower = tle.gpu.alloc([SLOTS, ROWS, BLOCK_K], dtype=a_desc.dtype)
        steps = tle.pipe(capacity=SLOTS, readers=("first", "second"), upper=upper, lower=lower, b=b)
        first, second = steps.reader("first", ("upper", "b")), steps.reader("second", ("lower", "b"))
        tle.gpu.warp_specialize(
            (
                (multiply, (first, c_desc, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, 2, "upper", PARTS)),
                (multiply, (second, c_desc, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, 2, "lower", PARTS)),
                (write, (steps.writer(), a_desc, b_desc, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, 2)),
            ),
            worker_num_warps=(4, 1),
            worker_num_regs=(240, 24),
        )


TOGETHER = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8, "GROUPS": 1, "PARTS": 2}
APART = TOGETHER | {"GROUPS": 2}


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
    return matmul[(common.sharing(tiles, programs) + idle,)](*operands, M, N, K, **blocks, num_warps=warps_of(blocks))


def compile_for(target):
    compiled = []
    for blocks in (TOGETHER, APART):
        height, depth = blocks["BLOCK_M"] // blocks["GROUPS"], blocks["BLOCK_K"]
        types = {
            "a_desc": f"tensordesc<fp16[{height},{depth}]>",
            "b_desc": f"tensordesc<fp16[{blocks['BLOCK_N']},{depth}]>",
            "c_desc": f"tensordesc<fp16[{height},{blocks['BLOCK_N'] // blocks['PARTS']}]>",
        } | dict.fromkeys(("M", "N", "K"), "i32")
        compiled.append(common.compile_ahead(matmul, target, types, blocks, num_warps=warps_of(blocks)))
    return compiled


def check():
    import torch

    every = ((128, 256, 64), (200, 136, 72), (1000, 504, 1016), (2048, 2048, 2048), (129, 64, 40))
    for M, N, K in common.sizes(gpu=every, cpu=every[1:2], watched=every[:3]):
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            a, b = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (N, K)))
            want = a.double() @ b.double().T
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            for groups, blocks in ((1, TOGETHER), (2, APART)):
                c = torch.full((M, N), float("nan"), device=a.device, dtype=dtype)
                kernel = launch(a, b, c, blocks, programs=132)
                what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}, {groups} group{'s'[: groups - 1]}"
                yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


def stress(random):
    import torch

    M, N, K = common.odd_or_even(random, *common.sizes(gpu=(700, 1100, 900), cpu=(200, 200, 90)))
    a, b = (torch.randn(shape, device=common.device()).to(torch.bfloat16) for shape in ((M, K), (N, K)))
    blocks, programs, idle = random.choice((TOGETHER, APART)), random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    what = f"{M} × {N} × {K}, {blocks['GROUPS']} groups, at most {programs} programs, {idle} idle"
    wanted = a.double() @ b.double().T
    return common.Stressed(
        what, lambda c: launch(a, b, c, blocks, programs, idle), (wanted,), (a.dtype,), (2**-7,), (3e-5 * K**0.5,)
    )


if __name__ == "__main__":
    sys.exit(common.main("11 matrix product by pipes", compile_for, check))
