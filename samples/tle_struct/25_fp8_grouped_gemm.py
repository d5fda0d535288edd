"""Sample 25: the products of a mixture of experts in fp8 with a scale for 128 numbers, as DeepSeek-V3 has. For sm_90.

A region of CUDA code, in four warps, gathers the tokens' rows and their scales, and asks the copy engine for the
weights. Two groups of four warps, written in Triton, multiply 64 rows each. Tensor cores keep some 14 bits of a sum
of fp8: after 128 products it is scaled, and added to one of 32 bits by the other units of the processor. While one
group does that, tensor cores multiply for the other one: they are partitions, and nothing orders them.

A tile has 256 columns, in two parts that are multiplied into the same 64 registers in turn. Scales come with a step's
operands, into the same slot, and so does the tile's number: the region takes tiles from a counter, as some have few
tokens, and end early. It is in ``scaled_products.cu``.

On the CPU the warps take turns on one thread, at the barriers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
import tle_raw.language as tle
from tle_raw import AnyLayout, Barrier, Buffer, Const, Descriptor, In, Out, Pointer, Scalar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

SCALED = tl.constexpr(128)  # numbers of a scale, along K, and of weights along N, too
COLUMNS = 2 * SCALED.value
BLOCKS = {"BLOCK_M": 128, "SLOTS": 4, "GROUPS": 2, "REGISTERS": 216}


@tle_raw.dialect("cuda", file="scaled_products.cu")
def fetch_scaled_tiles(
    x: Pointer["T"],
    x_scales: Pointer["f32"],
    w_scales: Pointer["f32"],
    pairs: Pointer["i32"],
    blocks: Pointer["i32"],
    taken: Pointer["i32"],
    weights: Descriptor["T", "N", "K"],
    w: Out[Buffer["T", "R", "K", AnyLayout]],
    rows: Out[Buffer["T", "L", "K", AnyLayout]],
    scales: Out[Buffer["f32", "C", AnyLayout]],
    full: Barrier,
    empty: In[Barrier],
    slots: Const["S"],
    most: Const["M"],
    count: Scalar["i32"],
    choices: Scalar["i32"],
    height: Scalar["i32"],
    depth: Scalar["i32"],
    group: Scalar["i32"],
    first: Scalar["i32"],
    programs: Scalar["i32"],
): ...


@triton.jit
def fetch(
    x_ptr, x_scales_ptr, w_scales_ptr, pairs_ptr, blocks_ptr, taken_ptr, w_desc, w, x, scales, full, empty, blocks,
    choices, N, K, group, BLOCK_M: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Bring each step's weights, rows and scales into the slots in turn."""
    fetch_scaled_tiles(
        x_ptr, x_scales_ptr, w_scales_ptr, pairs_ptr, blocks_ptr, taken_ptr, w_desc, w[0], x[0], scales[0], full[0],
        empty[0], SLOTS, BLOCK_M, blocks, choices, N, K, group, tl.program_id(0), tl.num_programs(0),
    )  # fmt: skip


@triton.jit
def store_columns(y_ptr, pair, is_there, first, N, y):
    """A part of a tile, in parts of 64 columns: what lies between takes less shared memory."""
    if y.shape[1] > 64:
        WIDTH: tl.constexpr = y.shape[1] // 2
        left, right = tl.split(tl.permute(tl.reshape(y, (y.shape[0], 2, WIDTH)), (0, 2, 1)))
        store_columns(y_ptr, pair, is_there, first, N, left)
        store_columns(y_ptr, pair, is_there, first + WIDTH, N, right)
    else:
        column = first + tl.arange(0, y.shape[1])[None, :]
        to = y_ptr + pair.to(tl.int64)[:, None] * N + column
        tl.store(to, y.to(y_ptr.dtype.element_ty), mask=is_there[:, None] & (column < N))


@triton.jit
def said_tile(scales, full, step, SLOTS: tl.constexpr, BLOCK_M: tl.constexpr):
    """The number of the tile that begins with a step, or -1: the last word of its slot."""
    tle.gpu.barrier_wait(full[step % SLOTS], step // SLOTS)
    word = tl.load(tle.gpu.local_ptr(scales[step % SLOTS], (BLOCK_M + 2,)))
    return word.to(tl.int32, bitcast=True)


@triton.jit
def multiply(
    y_ptr, pairs_ptr, blocks_ptr, w, x, scales, full, empty, blocks, N, K, group,
    BLOCK_M: tl.constexpr, SLOTS: tl.constexpr, GROUPS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply one group's rows of all the program's tiles, where they have so many, and write them."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    N = N // 8 * 8  # as it is: a partition does not know what its arguments are multiples of
    tiles_n, steps = tl.cdiv(N, 2 * SCALED), tl.cdiv(K, SCALED)
    row = GROUP * ROWS + tl.arange(0, ROWS)
    step = 0
    tl.assume(steps > 0)
    tile = said_tile(scales, full, step, SLOTS, BLOCK_M)
    while tile >= 0:
        block, tile_n = tle.gpu.grouped_tile(tile, blocks, tiles_n, group)
        begin, count = tl.load(blocks_ptr + 4 * block + 1), tl.load(blocks_ptr + 4 * block + 2)
        if count > GROUP * ROWS:
            left = tl.zeros((ROWS, SCALED), tl.float32)
            right = tl.zeros((ROWS, SCALED), tl.float32)
            for _ in range(steps):
                slot = step % SLOTS
                tle.gpu.barrier_wait(full[slot], step // SLOTS)
                part = tle.gpu.wgmma(x[slot * GROUPS + GROUP], w[slot * 2], trans_b=True)
                of_rows = scales[slot].subslice(GROUP * ROWS, ROWS).load()
                of_left = tl.load(tle.gpu.local_ptr(scales[slot], (BLOCK_M,)))
                part = tle.gpu.wgmma_wait(0, part)
                # In front of the sum: behind it ptxas keeps both products, for which there are no registers.
                of_right = tl.load(tle.gpu.local_ptr(scales[slot], (BLOCK_M + 1,)))
                left += part * (of_rows * of_left)[:, None]
                part = tle.gpu.wgmma(x[slot * GROUPS + GROUP], w[slot * 2 + 1], trans_b=True)
                part = tle.gpu.wgmma_wait(0, part)
                tle.gpu.barrier_arrive(empty[slot], 1, step // SLOTS)
                right += part * (of_rows * of_right)[:, None]
                step += 1
            is_there = row < count
            pair = tl.load(pairs_ptr + begin + row, mask=is_there, other=0)  # here: registers are few before
            store_columns(y_ptr, pair, is_there, tile_n * 2 * SCALED, N, left)
            store_columns(y_ptr, pair, is_there, (tile_n * 2 + 1) * SCALED, N, right)
        else:
            for _ in range(steps):
                slot = step % SLOTS
                tle.gpu.barrier_wait(full[slot], step // SLOTS)
                tle.gpu.barrier_arrive(empty[slot], 1, step // SLOTS)
                step += 1
        tile = said_tile(scales, full, step, SLOTS, BLOCK_M)


@triton.jit(do_not_specialize=["blocks", "choices", "N", "K", "group"])
def scaled_products(
    x_ptr, x_scales_ptr, w_desc, w_scales_ptr, pairs_ptr, blocks_ptr, taken_ptr, y_ptr, blocks, choices, N,
    K, group, BLOCK_M: tl.constexpr, SLOTS: tl.constexpr, GROUPS: tl.constexpr, REGISTERS: tl.constexpr,
):  # fmt: skip
    """``y[pair] = x[pair // choices] @ w[expert of the pair].T`` of fp8 numbers, each times its scale.

    x is [tokens, K], w [experts * N, K]. Their scales are [tokens, cdiv(K, 128)] for 128 numbers of a row, and
    [experts, cdiv(N, 128), cdiv(K, 128)] for squares of weights. y is [pairs, N], of f16 or bf16. N is a multiple of
    8, K one of 16. ``pairs`` and ``blocks`` are those of ``in_blocks``; tiles of ``group`` blocks are walked together.
    ``taken`` counts tiles, and is 0.
    """
    w = tle.gpu.alloc([SLOTS * 2, SCALED, SCALED], dtype=w_desc.dtype)
    x = tle.gpu.alloc([SLOTS * GROUPS, BLOCK_M // GROUPS, SCALED], dtype=w_desc.dtype)
    scales = tle.gpu.alloc([SLOTS, 2 * BLOCK_M], dtype=tl.float32)
    full = tle.gpu.alloc_barriers(SLOTS, arrive_count=128 + 1)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=GROUPS, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        (
            (fetch, (
                x_ptr, x_scales_ptr, w_scales_ptr, pairs_ptr, blocks_ptr, taken_ptr, w_desc, w, x, scales, full, empty,
                blocks, choices, N, K, group, BLOCK_M, SLOTS,
            )),
            (multiply, (
                y_ptr, pairs_ptr, blocks_ptr, w, x, scales, full, empty, blocks, N, K, group, BLOCK_M, SLOTS, GROUPS, 0,
            )),
            (multiply, (
                y_ptr, pairs_ptr, blocks_ptr, w, x, scales, full, empty, blocks, N, K, group, BLOCK_M, SLOTS, GROUPS, 1,
            )),
        ),
        worker_num_warps=(4, 4),
        worker_num_regs=(REGISTERS, REGISTERS),
    )  # fmt: skip


def in_blocks(chosen, experts: int):
    """The pairs in the order of their experts, and of each block of up to 128 its expert, its first pair, and how many
    it has. Those of an expert follow each other: what one has read of its weights is in the L2 cache for the next."""
    import torch

    order, counts = common.sorted_by_expert(chosen, experts)
    return order, common.blocks_of_experts(counts, torch.full_like(counts, BLOCKS["BLOCK_M"]))


def launch(x, x_scales, w, w_scales, pairs, blocks, y, choices: int, programs: int, group=8, sizes=BLOCKS, idle=0):
    """``idle`` programs find no tile."""
    N, K = w.shape[1:]
    w_desc = TensorDescriptor.from_tensor(w.view(-1, K), [COLUMNS, SCALED.value])
    count = blocks.shape[0]
    grid = (min(triton.cdiv(N, COLUMNS) * count, programs) + idle,)
    taken = common.counter_of(x.device, "int32")
    given = x, x_scales, w_desc, w_scales, pairs, blocks, taken, y, count, choices, N, K, group
    return scaled_products[grid](*given, **sizes, num_warps=4)


def compile_for(target):
    types = {"x_ptr": "*fp8e4nv", "x_scales_ptr": "*fp32", "w_scales_ptr": "*fp32", "pairs_ptr": "*i32"}
    types |= {"w_desc": f"tensordesc<fp8e4nv[{COLUMNS},{SCALED.value}]>"}
    types |= {"blocks_ptr": "*i32", "taken_ptr": "*i32", "y_ptr": "*bf16"}
    types |= dict.fromkeys(("blocks", "choices", "N", "K", "group"), "i32")
    return [common.compile_ahead(scaled_products, target, types, BLOCKS, num_warps=4)]


def random_numbers(*shape: int):
    """fp8 numbers on the device, and their scales: of a matrix one for 128 numbers of a row, of several for squares."""
    import torch

    blocks = [-(-size // SCALED.value) for size in shape]
    of_rows = shape[0] if len(shape) == 2 else blocks[1]
    scales = 0.5 + torch.rand((of_rows, blocks[-1]) if len(shape) == 2 else (shape[0], of_rows, blocks[-1]))
    numbers = torch.randn(shape).to(torch.float8_e4m3fn)
    return numbers.to(common.device()), scales.to(common.device())


def expected(x, x_scales, w, w_scales, chosen):
    """In double precision."""
    import torch

    (experts, N, K), choices = w.shape, chosen.shape[1]
    rows = x.double() * x_scales.double().repeat_interleave(SCALED.value, 1)[:, :K]
    want = torch.empty((chosen.numel(), N), device=x.device, dtype=torch.float64)
    for expert in range(experts):
        pair = (chosen.flatten() == expert).nonzero()[:, 0]
        of_columns = w_scales[expert].double().repeat_interleave(SCALED.value, 0)[:N]
        weights = w[expert].double() * of_columns.repeat_interleave(SCALED.value, 1)[:, :K]
        want[pair] = rows[pair // choices] @ weights.T
    return want


def slack(K: int) -> float:
    """What tensor cores cut off: sums of 128 products keep 14 bits of the largest number at each step of 32."""
    return 2**-8 * 128**0.5 * max(1, K / 128)


def stress(random):
    import torch

    tokens, N, K = common.odd_or_even(random, *common.sizes(gpu=(600, 600, 900), cpu=(40, 200, 300)))
    K = -(-K // 16) * 16
    experts = random.choice((3, 5, 9))
    few = random.randint(2, experts)  # which are chosen at all
    given = *random_numbers(tokens, K), *random_numbers(experts, N, K)
    chosen = torch.rand((tokens, few), device=given[0].device).topk(2).indices
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    in_order = in_blocks(chosen, experts)
    return common.Stressed(
        f"{tokens} tokens × 2 of {few} of {experts} experts, {N} × {K}, at most {programs} programs, {idle} idle",
        lambda y: launch(*given, *in_order, y, 2, programs, idle=idle),
        *((expected(*given, chosen),), (torch.bfloat16,), (2**-7,), (slack(K),)),
    )


def check():
    import torch

    small = (1, 1, 1, 8, 16), (77, 4, 2, 200, 144), (300, 8, 2, 504, 272), (500, 3, 2, 136, 640)
    every = (*small, (1000, 16, 4, 384, 1024), (4096, 8, 2, 2048, 1040))
    for tokens, experts, choices, N, K in common.sizes(gpu=every, cpu=small[1:2], watched=small):
        given = *random_numbers(tokens, K), *random_numbers(experts, N, K)
        chosen = torch.rand((tokens, experts)).topk(choices).indices.to(common.device())
        want = expected(*given, chosen)
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            y = torch.full(want.shape, float("nan"), device=want.device, dtype=dtype)
            kernel = launch(*given, *in_blocks(chosen, experts), y, choices, programs=132)
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            name = str(dtype).removeprefix("torch.")
            what = f"{tokens} tokens × {choices} of {experts} experts, {N} × {K} {name}"
            yield kernel, common.compare(what, y, want, relative=unit, absolute=slack(K))


if __name__ == "__main__":
    sys.exit(common.main("25 fp8 products of a mixture of experts by specialised warps", compile_for, check))
