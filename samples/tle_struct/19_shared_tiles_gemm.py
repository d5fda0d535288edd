"""Sample 19: the product of sample 09 on all processors: those tiles that make no whole round are shared. For sm_90.

Of 512 tiles 132 processors take three rounds, and 116 tiles are left. Their steps are shared evenly: a program has the
last steps of one tile and the first ones of the next. Whoever has a tile's first steps adds the others' sums, which
they leave in global memory, and writes the tile. The shared tiles come first: nobody waits for long.

On the CPU the warps take turns on one thread, at the barriers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

others = common.load("tle_struct/09_warp_specialized_gemm.py")
tile_of_program, descriptor = others.tile_of_program, others.descriptor


@triton.jit
def begin_of(program, tiles, steps):
    """How many steps of shared tiles the programs before this one have, and how many tiles are taken whole.

    There are as many shared tiles as make no whole round, and those of one round more where these are few. Nobody has
    less than eight steps, unless one program has them all.
    """
    programs = tl.num_programs(0)
    left = tiles % programs
    left += tl.where((left > 0) & (left < programs // 2) & (tiles > programs), programs, 0)
    shared = left * steps
    sharers = tl.minimum(programs, tl.maximum(shared // 8, 1))
    return (tl.minimum(program, sharers).to(tl.int64) * shared // sharers).to(tl.int32), tiles - left


@triton.jit
def next_part(whole, at, end, number, steps):
    """A program's next tile, and which of its steps: shared ones first."""
    shared = at < end
    tile = tl.where(shared, whole + at // steps, number)
    first = tl.where(shared, at % steps, 0)
    return tile, first, tl.where(shared, tl.minimum(steps, first + end - at), steps)


@triton.jit
def produce(
    a, b, full, empty, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    a_desc, b_desc,
):  # fmt: skip
    """Copy the operands of all the program's steps into the slots in turn."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    at, whole = begin_of(tl.program_id(0), tiles_m * tiles_n, steps)
    end, _ = begin_of(tl.program_id(0) + 1, tiles_m * tiles_n, steps)
    number, step = tl.program_id(0), 0
    while (at < end) | (number < whole):
        tile, first, last = next_part(whole, at, end, number, steps)
        tile_m, tile_n = tile_of_program(tile, tiles_m, tiles_n, GROUP_M)
        for k in range(first, last):
            slot = step % SLOTS
            tle.gpu.barrier_wait(empty[slot], step // SLOTS)
            for group in tl.static_range(2):
                row = tile_m * BLOCK_M + group * ROWS
                tle.gpu.copy(
                    a_desc, a[slot * 2 + group], [ROWS, BLOCK_K], offsets=[row, k * BLOCK_K], barrier=full[slot]
                )
            offsets = [tile_n * BLOCK_N, k * BLOCK_K]
            tle.gpu.copy(b_desc, b[slot], [BLOCK_N, BLOCK_K], offsets=offsets, barrier=full[slot])
            step += 1
        number += tl.where(at < end, 0, tl.num_programs(0))
        at += tl.where(at < end, last - first, 0)


@triton.jit
def leave(sums_ptr, c, WIDTH: tl.constexpr, PARTS: tl.constexpr):
    """Write sums for another program, in parts: rows of WIDTH."""
    if PARTS == 1:
        at = tl.arange(0, c.shape[0])[:, None] * WIDTH + tl.arange(0, c.shape[1])[None, :]
        tl.store(sums_ptr + at, c)
    else:
        HALF: tl.constexpr = c.shape[1] // 2
        left, right = tl.split(tl.permute(tl.reshape(c, (c.shape[0], 2, HALF)), (0, 2, 1)))
        leave(sums_ptr, left, WIDTH, PARTS // 2)
        leave(sums_ptr + HALF, right, WIDTH, PARTS // 2)


@triton.jit
def store_sum(c_desc, m, n, c, sums_ptr, first, last, WIDTH: tl.constexpr, PARTS: tl.constexpr):
    """Write a tile in parts, with what the programs from ``first`` to ``last`` have left."""
    if PARTS == 1:
        at = tl.arange(0, c.shape[0])[:, None] * WIDTH + tl.arange(0, c.shape[1])[None, :]
        for program in range(first, last):
            c += tl.load(sums_ptr + program * (2 * c.shape[0] * WIDTH) + at, cache_modifier=".cg")
        c_desc.store([m, n], c.to(c_desc.dtype))
    else:
        HALF: tl.constexpr = c.shape[1] // 2
        left, right = tl.split(tl.permute(tl.reshape(c, (c.shape[0], 2, HALF)), (0, 2, 1)))
        store_sum(c_desc, m, n, left, sums_ptr, first, last, WIDTH, PARTS // 2)
        store_sum(c_desc, m, n + HALF, right, sums_ptr + HALF, first, last, WIDTH, PARTS // 2)


@triton.jit
def consume(
    a, b, full, empty, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    c_desc, sums_ptr, told_ptr, GROUP: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Multiply the rows of one group of warps, with one product under way, and write them or leave the sums."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    program = tl.program_id(0)
    at, whole = begin_of(program, tiles_m * tiles_n, steps)
    end, _ = begin_of(program + 1, tiles_m * tiles_n, steps)
    number, step = program, 0
    while (at < end) | (number < whole):
        tile, first, last = next_part(whole, at, end, number, steps)
        tl.assume(last > first)  # a way around the inner loop would meet it where products are under way
        c = tl.zeros((ROWS, BLOCK_N), tl.float32)
        for k in range(first, last):
            slot = step % SLOTS
            tle.gpu.barrier_wait(full[slot], step // SLOTS)
            c = tle.gpu.wgmma(a[slot * 2 + GROUP], b[slot], c, trans_b=True)
            c = tle.gpu.wgmma_wait(1, c)
            if k > first:  # the product of the step before is done, and its slot is free
                tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
            step += 1
        c = tle.gpu.wgmma_wait(0, c)
        tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
        if first > 0:
            leave(sums_ptr + (2 * program + GROUP) * ROWS * BLOCK_N, c, BLOCK_N, PARTS)
            tl.debug_barrier()
            tl.atomic_xchg(told_ptr + 2 * program + GROUP, 1, sem="release")
        else:
            behind = program + 1
            until = (tile + 1 - whole) * steps  # the tile's end among the shared steps
            begin = tl.where(last < steps, at + last, until)
            while begin < until:
                while tl.atomic_add(told_ptr + 2 * behind + GROUP, 0, sem="acquire") == 0:
                    pass
                tl.store(told_ptr + 2 * behind + GROUP, 0)
                behind += 1
                begin, _ = begin_of(behind, tiles_m * tiles_n, steps)
            tl.debug_barrier()
            tile_m, tile_n = tile_of_program(tile, tiles_m, tiles_n, GROUP_M)
            row, column, theirs = tile_m * BLOCK_M + GROUP * ROWS, tile_n * BLOCK_N, sums_ptr + GROUP * ROWS * BLOCK_N
            store_sum(c_desc, row, column, c, theirs, program + 1, behind, BLOCK_N, PARTS)
        number += tl.where(at < end, 0, tl.num_programs(0))
        at += tl.where(at < end, last - first, 0)


@triton.jit
def matmul(
    a_desc, b_desc, c_desc, sums_ptr, told_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    PARTS: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T``: a is [M, K], b [N, K], c [M, N]; what lies beyond the edges is read as 0 and not written.

    All programs run at the same time. ``sums`` has room for a tile of each in f32, ``told`` two zeros for each, which
    are zeros again behind the launch.
    """
    a = tle.gpu.alloc([SLOTS * 2, BLOCK_M // 2, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        (
            (produce, (a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, a_desc, b_desc)),
            (consume, (
                a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, c_desc, sums_ptr, told_ptr, 0,
                PARTS,
            )),
            (consume, (
                a, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, c_desc, sums_ptr, told_ptr, 1,
                PARTS,
            )),
        ),
        worker_num_warps=(4, 4),
        worker_num_regs=(232, 232),
    )  # fmt: skip


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8, "PARTS": 8}


def room(programs: int, device, blocks=BLOCKS):
    """The sums and the words that programs tell each other by, for launches behind each other."""
    import torch

    size = blocks["BLOCK_M"] * blocks["BLOCK_N"]
    told = torch.zeros(2 * programs, dtype=torch.int32, device=device)
    return torch.empty(programs * size, dtype=torch.float32, device=device), told


def launch(a, b, c, given, programs: int, blocks=BLOCKS):
    (M, K), N = a.shape, b.shape[0]
    rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
    operands = descriptor(a, rows // 2, depth), descriptor(b, columns, depth)
    out = descriptor(c, rows // 2, columns // blocks["PARTS"])
    return matmul[(programs,)](*operands, out, *given, M, N, K, **blocks, num_warps=4)


def compile_for(target):
    blocks = BLOCKS
    types = {
        "a_desc": f"tensordesc<bf16[{blocks['BLOCK_M'] // 2},{blocks['BLOCK_K']}]>",
        "b_desc": f"tensordesc<bf16[{blocks['BLOCK_N']},{blocks['BLOCK_K']}]>",
        "c_desc": f"tensordesc<bf16[{blocks['BLOCK_M'] // 2},{blocks['BLOCK_N'] // blocks['PARTS']}]>",
        "sums_ptr": "*fp32",
        "told_ptr": "*i32",
    } | dict.fromkeys(("M", "N", "K"), "i32")
    return [common.compile_ahead(matmul, target, types, blocks, num_warps=4)]


def check():
    import torch

    # Tiles: fewer than programs, as many, some more, many more.
    every = (
        (200, 136, 2000, 4),
        (129, 600, 72, 6),
        (2000, 3000, 1000, 132),
        (4096, 4096, 512, 132),
        (1000, 512, 40, 3),
    )
    for M, N, K, programs in common.sizes(gpu=every, cpu=(every[1], (300, 600, 200, 4)), watched=every[:2]):
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            a, b = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (N, K)))
            want, given = a.double() @ b.double().T, room(programs, a.device)
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            for turn in range(2):
                c = torch.full((M, N), float("nan"), device=a.device, dtype=dtype)
                kernel = launch(a, b, c, given, programs)
                what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}, {programs} programs, launch {turn}"
                yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


def stress(random):
    import torch

    M, N, K = common.odd_or_even(random, *common.sizes(gpu=(700, 1100, 900), cpu=(200, 200, 90)))
    a, b = (torch.randn(shape, device=common.device()).to(torch.bfloat16) for shape in ((M, K), (N, K)))
    programs = random.choice((1, 2, 5, 132))
    given = room(programs, a.device)
    return common.Stressed(
        f"{M} × {N} × {K}, {programs} programs",
        lambda c: launch(a, b, c, given, programs),
        *((a.double() @ b.double().T,), (a.dtype,), (2**-7,), (3e-5 * K**0.5,)),
    )


if __name__ == "__main__":
    sys.exit(common.main("19 matrix product whose last tiles are shared", compile_for, check))
