"""Sample 20: softmax of rows that are too long for one block: the blocks of a cluster share a row. From sm_90 on.

Each block holds its part of a row in registers, and sends the part's largest element and its sum of exponentials into
the shared memory of all blocks of the cluster. So a row is read once, where two launches, or one that goes over the row
again, read it twice. A cluster takes one row after the other, and the next ones are on their way meanwhile: the loop
starts their loads iterations before. What is sent arrives at a barrier of the block that gets it, so that nobody waits
until what was written before has reached the memory, as a barrier of the cluster would.
"""

from __future__ import annotations

import functools
import itertools
import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def send(x, own, sent, arrived, part, turn, mesh: tl.constexpr, BLOCKS: tl.constexpr, PLACES: tl.constexpr):
    """Tell all blocks of the cluster this part's largest element and its sum of exponentials."""
    top = tl.maximum(tl.max(x, 0), -3.0e38)  # of a part that holds nothing
    e = tl.exp2((x - top) * 1.4426950408889634)  # log2(e)
    total = tl.sum(e, 0)
    place = turn % PLACES
    own[place].store(tl.where(tl.arange(0, 4) == 0, top, total))
    for peer in tl.static_range(BLOCKS):
        there = tle.remote(sent[place * BLOCKS + part], peer, mesh=mesh)
        tle.gpu.copy(own[place], there, [4], barrier=tle.remote(arrived[place], peer, mesh=mesh))
    return top, e


@triton.jit
def scale(sent, arrived, top, turn, BLOCKS: tl.constexpr, PLACES: tl.constexpr):
    """What the exponentials of this part are multiplied by, when all blocks have told theirs."""
    place = turn % PLACES
    blocks = tl.arange(0, BLOCKS)
    tle.gpu.barrier_wait(arrived[place], turn // PLACES)
    tops = tl.load(tle.gpu.local_ptr(sent, (place * BLOCKS + blocks, 0 * blocks)))
    sums = tl.load(tle.gpu.local_ptr(sent, (place * BLOCKS + blocks, 0 * blocks + 1)))
    highest = tl.max(tops, 0)
    return tl.exp(top - highest) / tl.sum(sums * tl.exp(tops - highest), 0)


@triton.jit
def softmax(
    x_ptr, y_ptr, rows, columns, distance, mesh: tl.constexpr, BLOCKS: tl.constexpr, BLOCK: tl.constexpr,
    STAGES: tl.constexpr, LATER: tl.constexpr,
):  # fmt: skip
    """The softmax of each row by a cluster; ``distance`` elements lie between the beginnings of two rows.

    What is sent for a row lies apart from what is sent for the rows beside it. Two places are enough where a row is
    written before the next one is sent: who sends for the one after that has heard of all blocks that they are done
    with the first. With LATER a row is written after the next one is sent, so that nobody waits for what is under way;
    that takes four.
    """
    PLACES: tl.constexpr = 4 if LATER else 2
    own = tle.gpu.alloc([PLACES, 4], tl.float32, nv_mma_shared_layout=False)  # 16 bytes are the least that is sent
    sent = tle.gpu.alloc([PLACES * BLOCKS, 4], tl.float32, nv_mma_shared_layout=False)
    arrived = tle.gpu.alloc_barriers(PLACES, arrive_count=BLOCKS)
    part = tle.shard_id(mesh, "part")
    i = part * BLOCK + tl.arange(0, BLOCK)
    turn = 0
    first, clusters = tl.program_id(0) // BLOCKS, tl.num_programs(0) // BLOCKS
    before = tl.full([BLOCK], float("-inf"), x_ptr.dtype.element_ty)
    top_before = -3.0e38
    for row in tl.range(first, rows, clusters, num_stages=STAGES):
        place = row.to(tl.int64) * distance + i
        x = tle.load(x_ptr + place, mask=i < columns, other=float("-inf"), is_async=True)
        top, e = send(x.to(tl.float32), own, sent, arrived, part, turn, mesh, BLOCKS, PLACES)
        if LATER:
            if turn > 0:
                factor = scale(sent, arrived, top_before, turn - 1, BLOCKS, PLACES)
                y = tl.exp2((before.to(tl.float32) - top_before) * 1.4426950408889634) * factor
                at = y_ptr + place - clusters.to(tl.int64) * distance
                tl.store(at, y.to(y_ptr.dtype.element_ty), mask=i < columns, cache_modifier=".cs")
            before, top_before = x, top
        else:
            y = e * scale(sent, arrived, top, turn, BLOCKS, PLACES)
            tl.store(y_ptr + place, y.to(y_ptr.dtype.element_ty), mask=i < columns, cache_modifier=".cs")
        turn += 1
    if LATER:
        factor = scale(sent, arrived, top_before, turn - 1, BLOCKS, PLACES)
        y = tl.exp2((before.to(tl.float32) - top_before) * 1.4426950408889634) * factor
        at = y_ptr + (first + (turn - 1) * clusters).to(tl.int64) * distance + i
        tl.store(at, y.to(y_ptr.dtype.element_ty), mask=i < columns, cache_modifier=".cs")


def shape_of(columns: int, blocks: int) -> dict[str, int]:
    """How a row is divided among so many blocks, and the warps of each."""
    block = max(128, triton.next_power_of_2(triton.cdiv(columns, blocks)))
    return {"BLOCK": block, "num_warps": min(16, max(4, block // 1024)), "STAGES": 3 if block <= 16384 else 2}


def launch(x, y, blocks: int, programs: int = 1280, later: bool = False):
    """Clusters of so many blocks, at most so many programs.

    Five times as many as run at once on an H200, where two blocks share each of 132 processors: the few rows of a
    cluster are enough to load ahead, and clusters that begin later even out what the first ones leave.
    """
    rows, columns = x.shape
    mesh = tle.device_mesh({"block_cluster": [("part", blocks)]})
    clusters = min(rows, max(1, programs // blocks))
    more = shape_of(columns, blocks) | {"LATER": later}
    return softmax[(clusters * blocks,)](x, y, rows, columns, x.stride(0), mesh=mesh, BLOCKS=blocks, **more)


def compile_for(target):
    types = {"x_ptr": "*bf16", "y_ptr": "*bf16", "rows": "i32", "columns": "i32:16", "distance": "i32:16"}
    return [
        common.compile_ahead(
            softmax,
            target,
            types,
            {"mesh": tle.device_mesh({"block_cluster": [("part", blocks)]}), "BLOCKS": blocks, "BLOCK": 4096}
            | {"STAGES": 3, "LATER": later},
            num_warps=4,
        )
        for blocks, later in ((2, False), (8, False), (8, True))
    ]


def check():
    import torch

    every = ((7, 30000), (300, 8191), (64, 65536), (5, 1), (33, 1000), (3, 131072))
    for rows, columns in common.sizes(gpu=every, cpu=((11, 1000), (2, 8191)), watched=every[1::3]):
        for dtype in common.sizes(gpu=(torch.float32, torch.bfloat16), cpu=(torch.float32,)):
            x = 4 * torch.randn(rows, columns, device=common.device()).to(dtype)
            want = torch.softmax(x.double(), 1)
            for blocks, later in itertools.product(common.sizes(gpu=(2, 4, 8), cpu=(2, 4)), (False, True)):
                if columns > blocks * 16384 * 2:
                    continue
                y = torch.full_like(x, float("nan"))
                kernel = launch(x, y, blocks, programs=common.sizes(gpu=1280, cpu=2 * blocks), later=later)
                unit = 1e-5 if dtype == torch.float32 else 2**-8
                what = f"{rows} rows of {columns} {str(dtype).removeprefix('torch.')}, {blocks} blocks"
                what += ", written later" if later else ""
                yield kernel, common.compare(what, y, want, relative=unit, absolute=1e-9)


def stress(random):
    import torch

    rows, columns = random.randint(1, 40), random.randint(1, common.sizes(gpu=40000, cpu=900))
    blocks = random.choice((2, 4, 8))
    x = 4 * torch.randn(rows, columns, device=common.device())
    wanted = torch.softmax(x.double(), 1)
    programs, later = random.choice((8, 40, 264)), random.choice((False, True))
    what = f"{rows} rows of {columns}, {blocks} blocks, at most {programs} programs, later: {later}"
    launched = functools.partial(launch, x, blocks=blocks, programs=programs, later=later)
    return common.Stressed(what, launched, (wanted,), (x.dtype,), (1e-5,), (1e-9,))


if __name__ == "__main__":
    sys.exit(common.main("20 softmax by clusters", compile_for, check))
