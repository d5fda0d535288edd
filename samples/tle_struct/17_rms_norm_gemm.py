"""Sample 17: an RMS norm and the matrix product behind it, in one kernel of specialised warps. For sm_90.

``c = norm(x) @ w.T``, where ``norm(x)`` is ``x * gain`` with each row divided by the root of its mean square. The gain
is multiplied to the columns of w once, when the weights are loaded (``folded``). Four warps copy tiles of x and w by
TMA, some steps ahead. When a tile of x is there, they sum the squares of its rows, so that nobody reads x twice, while
two groups of four warps multiply the halves of its rows by w. A row's scale is known when all its tiles have come: it
is multiplied to the sums before they are written by TMA.

Programs stay: the copies of the next tile arrive while the one before is written. On the CPU the warps take turns on
one thread, at the barriers.
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

# A tile of x in the registers of four warps: each thread has 16 bytes of a row.
TILE = tl.constexpr(tle.gpu.BlockEncoding([1, 8], [4, 8], [4, 1], [1, 0]))


@triton.jit
def copy_tiles(
    x, w, full, empty, tile, k, step, M, N,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    x_desc, w_desc,
):  # fmt: skip
    """Copy the operands of one step, if there is such a tile."""
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    if tile < tiles_m * tiles_n:
        m, n = tle.gpu.grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        slot = step % SLOTS
        tle.gpu.barrier_wait(empty[slot], step // SLOTS)
        at_x, at_w = [m * BLOCK_M, k * BLOCK_K], [n * BLOCK_N, k * BLOCK_K]
        tle.gpu.copy(x_desc, x[slot], [BLOCK_M, BLOCK_K], offsets=at_x, barrier=full[slot])
        tle.gpu.copy(w_desc, w[slot], [BLOCK_N, BLOCK_K], offsets=at_w, barrier=full[slot])


@triton.jit
def prepare(
    x, w, scales, full, empty, known, taken, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    x_desc, w_desc, epsilon, AHEAD: tl.constexpr,
):  # fmt: skip
    """Copy AHEAD steps ahead, and find out the scales of the tile's rows."""
    steps, tiles = tl.cdiv(K, BLOCK_K), tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    step, turn, next_tile, next_k = 0, 0, tl.program_id(0), 0
    for ahead in tl.static_range(AHEAD):
        copy_tiles(
            x, w, full, empty, next_tile, next_k, ahead, M, N, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, x_desc, w_desc
        )
        next_tile = tl.where(next_k == steps - 1, next_tile + tl.num_programs(0), next_tile)
        next_k = tl.where(next_k == steps - 1, 0, next_k + 1)
    for _ in range(tl.program_id(0), tiles, tl.num_programs(0)):
        squares = tl.zeros((BLOCK_M, BLOCK_K), tl.float32)
        for _ in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(full[slot], step // SLOTS)
            rows = tle.gpu.set_layout(x[slot].load(), TILE)
            tle.gpu.barrier_arrive(empty[slot], 1, step // SLOTS)
            copy_tiles(
                *(x, w, full, empty, next_tile, next_k, step + AHEAD, M, N),
                *(BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, x_desc, w_desc),
            )
            next_tile = tl.where(next_k == steps - 1, next_tile + tl.num_programs(0), next_tile)
            next_k = tl.where(next_k == steps - 1, 0, next_k + 1)
            wide = rows.to(tl.float32)
            squares += wide * wide
            step += 1
        tle.gpu.barrier_wait(taken, turn)
        scales.store(tl.math.rsqrt(tl.sum(squares, 1) / K + epsilon))
        tle.gpu.barrier_arrive(known, 1, turn)
        turn += 1  # noqa: SIM113


@triton.jit
def consume(
    x, w, scales, full, empty, known, taken, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    c_desc, PARTS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply the rows of one group of warps, with one product under way, scale and write them."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step, turn = 0, 0
    tl.assume(steps > 0)  # a way around the inner loop would meet it where products are under way
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        c = tl.zeros((ROWS, BLOCK_N), tl.float32)
        for k in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(full[slot], step // SLOTS)
            c = tle.gpu.wgmma(x[slot].subslice(GROUP * ROWS, ROWS, dim=0), w[slot], c, trans_b=True)
            c = tle.gpu.wgmma_wait(1, c)
            if k > 0:  # the product of the step before is done, and its slot is free
                tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
            step += 1
        c = tle.gpu.wgmma_wait(0, c)
        tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
        tle.gpu.barrier_wait(known, turn)
        c *= scales.subslice(GROUP * ROWS, ROWS).load()[:, None]
        tle.gpu.barrier_arrive(taken, 1, turn)
        m, n = tle.gpu.grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        store_tile(c_desc, m * BLOCK_M + GROUP * ROWS, n * BLOCK_N, c, PARTS)
        turn += 1  # noqa: SIM113


@triton.jit
def norm_matmul(
    x_desc, w_desc, c_desc, epsilon, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    PARTS: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """``c = (x / sqrt(mean(x ** 2) + epsilon)) @ w.T``: x is [M, K], w [N, K], of one dtype."""
    x = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=x_desc.dtype)
    w = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=w_desc.dtype)
    scales = tle.gpu.alloc([BLOCK_M], dtype=tl.float32)
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * 2)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=3, init=tle.gpu.READY)
    known, taken = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(arrive_count=2, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        (
            (consume, (
                x, w, scales, full, empty, known, taken, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M,
                c_desc, PARTS, 0,
            )),
            (consume, (
                x, w, scales, full, empty, known, taken, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M,
                c_desc, PARTS, 1,
            )),
            (prepare, (
                x, w, scales, full, empty, known, taken, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M,
                x_desc, w_desc, epsilon, AHEAD,
            )),
        ),
        worker_num_warps=(4, 4),
        worker_num_regs=(200, 112),
    )  # fmt: skip


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8, "PARTS": 4, "AHEAD": 2}


def descriptor(x, rows: int, columns: int):
    return TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [rows, columns])


def folded(gain, w):
    """The weights with the gain in their columns: once, when they are loaded."""
    return (w.float() * gain.float()).to(w.dtype)


def launch(x, w, c, epsilon: float, programs: int, blocks=BLOCKS, idle: int = 0):
    """``idle`` programs find no tile."""
    (M, K), N = x.shape, w.shape[0]
    rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
    taken = descriptor(x, rows, depth), descriptor(w, columns, depth)
    made = descriptor(c, rows // 2, columns // blocks["PARTS"])
    tiles = triton.cdiv(M, rows) * triton.cdiv(N, columns)
    return norm_matmul[(common.sharing(tiles, programs) + idle,)](*taken, made, epsilon, M, N, K, **blocks, num_warps=4)


def compile_for(target):
    rows, columns, depth = (BLOCKS[f"BLOCK_{axis}"] for axis in "MNK")
    types = {
        "x_desc": f"tensordesc<bf16[{rows},{depth}]>",
        "w_desc": f"tensordesc<bf16[{columns},{depth}]>",
        "c_desc": f"tensordesc<bf16[{rows // 2},{columns // BLOCKS['PARTS']}]>",
        "epsilon": "fp32",
    } | dict.fromkeys(("M", "N", "K"), "i32")
    return [common.compile_ahead(norm_matmul, target, types, BLOCKS, num_warps=4)]


def expected(x, w, epsilon: float):
    """In double precision, of folded weights."""
    x = x.double()
    return (x * (x.square().mean(1, keepdim=True) + epsilon).rsqrt()) @ w.double().T


def check():
    import torch

    every = ((128, 256, 64), (200, 136, 72), (1000, 504, 1016), (129, 64, 40), (2048, 2048, 2048))
    for M, N, K in common.sizes(gpu=every, cpu=every[1:2], watched=every[:3]):
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            x, w = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (N, K)))
            w = folded(1 + torch.randn(K, device=w.device) / 4, w)
            x *= torch.randint(1, 9, (M, 1)).to(common.device())
            c = torch.full((M, N), float("nan"), device=x.device, dtype=dtype)
            kernel = launch(x, w, c, 1e-6, programs=132)
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}"
            want = expected(x, w, 1e-6)
            yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


def stress(random):
    import torch

    M, N, K = common.odd_or_even(random, *common.sizes(gpu=(700, 1100, 900), cpu=(200, 200, 90)))
    x, w = (torch.randn(shape, device=common.device()).to(torch.bfloat16) for shape in ((M, K), (N, K)))
    w = folded(1 + torch.randn(K, device=w.device) / 4, w)
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    what = f"{M} × {N} × {K}, at most {programs} programs, {idle} idle"
    wanted = expected(x, w, 1e-6)
    return common.Stressed(
        what,
        lambda c: launch(x, w, c, 1e-6, programs, idle=idle),
        *((wanted,), (x.dtype,), (2**-7,), (3e-5 * K**0.5,)),
    )


if __name__ == "__main__":
    sys.exit(common.main("17 RMS norm and matrix product by specialised warps", compile_for, check))
