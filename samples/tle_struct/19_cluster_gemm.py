"""Sample 19: a matrix product by clusters of blocks, which copy what they share once for all of them. For sm_90.

The blocks of a cluster multiply tiles that lie beside each other. Those below each other need the same tile of b, those
beside each other the same tile of a: each copies a part of it into the buffers of all (TMA multicast). In each block
one warp copies and eight multiply, as in sample 09. A slot is free when the warps of all blocks have multiplied it: the
warp that copies waits for those of its own block, and tells the others' that do the same. When all slots are free for
the last time a block leaves, without a barrier of the cluster.

Clusters take their tiles by rank, of which neighbours run on one GPC (``ranks_by_gpc``), and neighbours need the same
tile of the operand that they do not share by their copies: their processors' reads become one. That saves power too.

Clusters drift apart: what one has read is gone from the L2 cache when another wants it. In large products that costs
power, and clocks: with EVERY the warps that copy wait for those of all blocks after so many steps.

On the CPU each block copies its own tiles.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle
from tle_raw.distributed import max_active_clusters, ranks_by_gpc

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

tile_of = common.load("tle_struct/09_warp_specialized_gemm.py").tile_of
store_tile = common.load("tle_struct/02_tma_gemm.py").store_tile


@triton.jit
def tile_of_cluster(number, tiles_m, tiles_n, mesh: tl.constexpr, CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr,
    GROUP_SIZE: tl.constexpr,
):  # fmt: skip
    """This block's tile of a cluster's tiles. Tall clusters have their neighbours beside them, wide ones below."""
    clusters_m, clusters_n = tl.cdiv(tiles_m, CLUSTER_M), tl.cdiv(tiles_n, CLUSTER_N)
    m, n = tile_of(number, clusters_m, clusters_n, GROUP_SIZE, CLUSTER_M >= CLUSTER_N)
    return m * CLUSTER_M + tle.shard_id(mesh, "m"), n * CLUSTER_N + tle.shard_id(mesh, "n")


@triton.jit
def wait_for_slot(empty, free, step, mesh: tl.constexpr, SLOTS: tl.constexpr, BLOCKS: tl.constexpr):
    """Until the warps of all blocks of the cluster have multiplied what the slot of a step held before."""
    slot, use = step % SLOTS, step // SLOTS
    tle.gpu.barrier_wait(empty[slot], use)
    for block in tl.static_range(BLOCKS):  # one word for each block, of eight warps
        tle.gpu.barrier_arrive(tle.remote(free[slot], block, mesh=mesh), 1, use)
    tle.gpu.barrier_wait(free[slot], use)


@triton.jit
def produce(
    a, b, full, empty, free, M, N, K, a_desc, b_desc, rank, counter_ptr, mesh: tl.constexpr,
    CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_SIZE: tl.constexpr, EVERY: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """Copy the operands of all the block's tiles, step after step, into the slots in turn."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    BLOCKS: tl.constexpr = CLUSTER_M * CLUSTER_N
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    tiles = tl.cdiv(tiles_m, CLUSTER_M) * tl.cdiv(tiles_n, CLUSTER_N)
    beside, below = tle.multicast_group(mesh, "n"), tle.multicast_group(mesh, "m")
    step = 0
    for number in range(rank, tiles, tl.num_programs(0) // BLOCKS):
        tile_m, tile_n = tile_of_cluster(number, tiles_m, tiles_n, mesh, CLUSTER_M, CLUSTER_N, GROUP_SIZE)
        for k in range(steps):
            if EVERY > 0 and step % EVERY == 0:
                tle.gpu.keep_in_step(counter_ptr, step // EVERY)
            slot = step % SLOTS
            wait_for_slot(empty, free, step, mesh, SLOTS, BLOCKS)
            offsets = [tile_n * BLOCK_N, k * BLOCK_K]
            tle.gpu.copy(b_desc, b[slot], [BLOCK_N, BLOCK_K], offsets=offsets, barrier=full[slot], multicast=below)
            for group in tl.static_range(GROUPS):
                row = tile_m * BLOCK_M + group * ROWS
                buffer = a[slot * GROUPS + group]
                tle.gpu.copy(
                    a_desc, buffer, [ROWS, BLOCK_K], offsets=[row, k * BLOCK_K], barrier=full[slot], multicast=beside
                )
            step += 1
    if EVERY > 0:
        most = tl.cdiv(tl.cdiv(tiles, tl.num_programs(0) // BLOCKS) * steps, EVERY)
        tle.gpu.leave_step(counter_ptr, tl.cdiv(step, EVERY), most)
    for last in range(step, step + SLOTS):  # all warps of all blocks are done with this block's slots and barriers
        wait_for_slot(empty, free, last, mesh, SLOTS, BLOCKS)


@triton.jit
def consume(
    a, b, full, empty, M, N, K, c_desc, rank, mesh: tl.constexpr, CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_SIZE: tl.constexpr,
    GROUPS: tl.constexpr, GROUP: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Multiply the rows of one group of warps, with one product under way, and write them."""
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    BLOCKS: tl.constexpr = CLUSTER_M * CLUSTER_N
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    tiles = tl.cdiv(tiles_m, CLUSTER_M) * tl.cdiv(tiles_n, CLUSTER_N)
    step = 0
    tl.assume(steps > 0)  # a way around the inner loop would meet it where products are under way
    for number in range(rank, tiles, tl.num_programs(0) // BLOCKS):
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
        tile_m, tile_n = tile_of_cluster(number, tiles_m, tiles_n, mesh, CLUSTER_M, CLUSTER_N, GROUP_SIZE)
        store_tile(c_desc, tile_m * BLOCK_M + GROUP * ROWS, tile_n * BLOCK_N, c, PARTS)


@triton.jit
def matmul(
    a_desc, b_desc, c_desc, ranks_ptr, counter_ptr, M, N, K, mesh: tl.constexpr, CLUSTER_M: tl.constexpr,
    CLUSTER_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
    GROUP_SIZE: tl.constexpr, EVERY: tl.constexpr, GROUPS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T``: a is [M, K], b [N, K], c [M, N]; what lies beyond the edges is read as 0 and not written.

    The cluster of rank r has the tiles r, r + clusters and so on: the ranks are an i32 for each of the clusters.
    All blocks are in step every EVERY steps of K, or with 0 never: the counter is an i64 that is 0.
    """
    rank = tl.load(ranks_ptr + tl.program_id(0) // (CLUSTER_M * CLUSTER_N))
    a = tle.gpu.alloc([SLOTS * GROUPS, BLOCK_M // GROUPS, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=GROUPS, init=tle.gpu.READY)
    free = tle.gpu.alloc_barriers(SLOTS, arrive_count=CLUSTER_M * CLUSTER_N)
    if GROUPS == 1:
        tle.gpu.warp_specialize(
            (
                (
                    consume,
                    (a, b, full, empty, M, N, K, c_desc, rank, mesh, CLUSTER_M, CLUSTER_N, BLOCK_M, BLOCK_N,
                     BLOCK_K, SLOTS, GROUP_SIZE, 1, 0, PARTS),
                ),
                (
                    produce,
                    (a, b, full, empty, free, M, N, K, a_desc, b_desc, rank, counter_ptr, mesh, CLUSTER_M,
                     CLUSTER_N, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_SIZE, EVERY, 1),
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
                    (a, b, full, empty, M, N, K, c_desc, rank, mesh, CLUSTER_M, CLUSTER_N, BLOCK_M, BLOCK_N,
                     BLOCK_K, SLOTS, GROUP_SIZE, 2, 0, PARTS),
                ),
                (
                    consume,
                    (a, b, full, empty, M, N, K, c_desc, rank, mesh, CLUSTER_M, CLUSTER_N, BLOCK_M, BLOCK_N,
                     BLOCK_K, SLOTS, GROUP_SIZE, 2, 1, PARTS),
                ),
                (
                    produce,
                    (a, b, full, empty, free, M, N, K, a_desc, b_desc, rank, counter_ptr, mesh, CLUSTER_M,
                     CLUSTER_N, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_SIZE, EVERY, 2),
                ),
            ),
            worker_num_warps=(4, 1),
            worker_num_regs=(240, 24),
        )  # fmt: skip
    tle.distributed_barrier(mesh, kind="leave")


ONE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_SIZE": 8, "EVERY": 0, "GROUPS": 1, "PARTS": 4}
TALL = ONE | {"CLUSTER_M": 2, "CLUSTER_N": 1, "GROUPS": 2, "PARTS": 2}  # the fastest of large square products
WIDE = ONE | {"CLUSTER_M": 1, "CLUSTER_N": 2, "GROUPS": 2}
SQUARE = ONE | {"CLUSTER_M": 2, "CLUSTER_N": 2}
LARGE = TALL | {"SLOTS": 3, "EVERY": 64, "PARTS": 1}  # and of those that reach the card's limit of power


def mesh_of(blocks):
    """The clusters of a launch."""
    return tle.device_mesh({"block_cluster": [("m", blocks["CLUSTER_M"]), ("n", blocks["CLUSTER_N"])]})


def warps_of(blocks) -> int:
    """Of the default partition."""
    return 8 // blocks["GROUPS"]


def shapes_of(blocks):
    """The blocks of the three descriptors: of a and b the part that one block of a cluster copies."""
    height = blocks["BLOCK_M"] // blocks["GROUPS"]
    return (
        (height // blocks["CLUSTER_N"], blocks["BLOCK_K"]),
        (blocks["BLOCK_N"] // blocks["CLUSTER_M"], blocks["BLOCK_K"]),
        (height, blocks["BLOCK_N"] // blocks["PARTS"]),
    )


@functools.cache
def ranks_on(device, kernel, clusters: int):
    import torch

    return torch.tensor(ranks_by_gpc(kernel, clusters), dtype=torch.int32, device=device)


def launch(a, b, c, blocks, programs: int | None = None, idle: int = 0):
    """``programs``: at most so many, or as many as run at the same time. ``idle`` clusters find no tile."""
    (M, K), N = a.shape, b.shape[0]
    rows, columns = blocks["BLOCK_M"] * blocks["CLUSTER_M"], blocks["BLOCK_N"] * blocks["CLUSTER_N"]
    size = blocks["CLUSTER_M"] * blocks["CLUSTER_N"]
    operands = [
        TensorDescriptor(x, list(x.shape), [x.stride(0), 1], list(shape))
        for x, shape in zip((a, b, c), shapes_of(blocks))
    ]
    counter = common.counter_of(a.device, "int64")
    options = {"mesh": mesh_of(blocks)} | blocks | {"num_warps": warps_of(blocks)}
    kernel = matmul.warmup(*operands, common.counter_of(a.device, "int32"), counter, M, N, K, **options, grid=(size,))
    most = max_active_clusters(kernel) if programs is None else max(1, programs // size)
    clusters = common.sharing(triton.cdiv(M, rows) * triton.cdiv(N, columns), most) + idle
    return matmul[(clusters * size,)](*operands, ranks_on(a.device, kernel, clusters), counter, M, N, K, **options)


def compile_for(target):
    compiled = []
    for blocks in (LARGE, WIDE, SQUARE):
        types = (
            {
                name: f"tensordesc<fp16[{height},{width}]>"
                for name, (height, width) in zip(("a_desc", "b_desc", "c_desc"), shapes_of(blocks))
            }
            | {"ranks_ptr": "*i32", "counter_ptr": "*i64"}
            | dict.fromkeys(("M", "N", "K"), "i32")
        )
        constants = {"mesh": mesh_of(blocks)} | blocks
        compiled.append(common.compile_ahead(matmul, target, types, constants, num_warps=warps_of(blocks)))
    return compiled


def check():
    import torch

    every = ((128, 256, 64), (200, 136, 72), (1000, 504, 1016), (2048, 2048, 2048), (129, 64, 40))
    for M, N, K in common.sizes(gpu=every, cpu=(every[1], every[-1]), watched=every[:3]):
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            a, b = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (N, K)))
            want = a.double() @ b.double().T
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            for blocks in common.sizes(gpu=(TALL, WIDE, SQUARE, LARGE | {"EVERY": 5}), cpu=(TALL,)):
                c = torch.full((M, N), float("nan"), device=a.device, dtype=dtype)
                kernel = launch(a, b, c, blocks)
                name = f"{blocks['CLUSTER_M']} × {blocks['CLUSTER_N']} blocks, in step every {blocks['EVERY']}"
                what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}, {name}"
                yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


def stress(random):
    import torch

    M, N, K = common.odd_or_even(random, *common.sizes(gpu=(700, 1100, 900), cpu=(200, 200, 90)))
    a, b = (torch.randn(shape, device=common.device()).to(torch.bfloat16) for shape in ((M, K), (N, K)))
    blocks, programs = random.choice((TALL, WIDE, SQUARE, LARGE | {"EVERY": 3})), random.choice((4, 8, 20, None))
    idle = random.choice((0, 0, 3))
    cluster = f"{blocks['CLUSTER_M']} × {blocks['CLUSTER_N']} blocks"
    what = f"{M} × {N} × {K}, {cluster}, {programs or 'all'} programs, {idle} idle"
    wanted = a.double() @ b.double().T
    return common.Stressed(
        what, lambda c: launch(a, b, c, blocks, programs, idle), (wanted,), (a.dtype,), (2**-7,), (3e-5 * K**0.5,)
    )


if __name__ == "__main__":
    sys.exit(common.main("19 matrix product by clusters", compile_for, check))
