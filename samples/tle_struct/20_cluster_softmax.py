"""Sample 20: softmax of rows that are too long for one block: the blocks of a cluster share a row. From sm_90 on.

Each block holds its part of a row in registers, and sends the part's largest element and its sum of exponentials into
the shared memory of all blocks of the cluster. So a row is read once, where two launches, or one that goes over the row
again, read it twice. A cluster takes one row after the other, and the next ones are on their way meanwhile: the loop
starts their loads iterations before. What is sent arrives at a barrier of the block that gets it, so that nobody waits
until what was written before has reached the memory, as a barrier of the cluster would.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def softmax(
    x_ptr, y_ptr, rows, columns, distance, mesh: tl.constexpr, BLOCKS: tl.constexpr, BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """The softmax of each row by a cluster; ``distance`` elements lie between the beginnings of two rows.

    What is sent for a row lies apart from what is sent for the next one. Two places are enough: who sends for the one
    after that has heard of all blocks that they are done with the first.
    """
    own = tle.gpu.alloc([2, 4], tl.float32, nv_mma_shared_layout=False)  # 16 bytes are the least that is sent
    sent = tle.gpu.alloc([2 * BLOCKS, 4], tl.float32, nv_mma_shared_layout=False)
    arrived = tle.gpu.alloc_barriers(2, arrive_count=BLOCKS - 1)
    part = tle.shard_id(mesh, "part")
    i = part * BLOCK + tl.arange(0, BLOCK)
    places = tl.arange(0, BLOCKS)
    turn = 0
    first, clusters = tl.program_id(0) // BLOCKS, tl.num_programs(0) // BLOCKS
    for row in tl.range(first, rows, clusters, num_stages=STAGES):
        begin = row.to(tl.int64) * distance
        x = tle.load(x_ptr + begin + i, mask=i < columns, other=float("-inf"), is_async=True).to(tl.float32)
        top = tl.maximum(tl.max(x, 0), -3.0e38)  # of a part that holds nothing
        e = tl.exp2((x - top) * 1.4426950408889634)  # log2(e)
        total = tl.sum(e, 0)
        slot = turn % 2
        own[slot].store(tl.where(tl.arange(0, 4) == 0, top, total))
        for further in tl.static_range(1, BLOCKS):
            peer = (part + further) % BLOCKS
            there = tle.remote(sent[slot * BLOCKS + part], peer, mesh=mesh)
            tle.gpu.copy(own[slot], there, [4], barrier=tle.remote(arrived[slot], peer, mesh=mesh))
        tle.gpu.barrier_wait(arrived[slot], turn // 2)
        is_sent = places != part
        tops = tl.load(tle.gpu.local_ptr(sent, (slot * BLOCKS + places, 0 * places)), mask=is_sent)
        sums = tl.load(tle.gpu.local_ptr(sent, (slot * BLOCKS + places, 0 * places + 1)), mask=is_sent)
        tops, sums = tl.where(is_sent, tops, top), tl.where(is_sent, sums, total)
        highest = tl.max(tops, 0)
        whole = tl.sum(sums * tl.exp(tops - highest), 0)
        y = e * (tl.exp(top - highest) / whole)
        tl.store(y_ptr + begin + i, y.to(y_ptr.dtype.element_ty), mask=i < columns, cache_modifier=".cs")
        turn += 1  # noqa: SIM113 (Triton has no enumerate)


def shape_of(columns: int, blocks: int) -> dict[str, int]:
    """How a row is divided among so many blocks, and the warps of each."""
    block = max(128, triton.next_power_of_2(triton.cdiv(columns, blocks)))
    return {"BLOCK": block, "num_warps": min(8, max(4, block // 1024)), "STAGES": 3 if block <= 16384 else 2}


def launch(x, y, blocks: int, programs: int = 1280):
    """Clusters of so many blocks, at most so many programs.

    Five times as many as run at once on an H200, where two blocks share each of 132 processors: the few rows of a
    cluster are enough to load ahead, and clusters that begin later even out what the first ones leave.
    """
    rows, columns = x.shape
    mesh = tle.device_mesh({"block_cluster": [("part", blocks)]})
    clusters = min(rows, max(1, programs // blocks))
    more = shape_of(columns, blocks)
    return softmax[(clusters * blocks,)](x, y, rows, columns, x.stride(0), mesh=mesh, BLOCKS=blocks, **more)


def compile_for(target):
    types = {"x_ptr": "*bf16", "y_ptr": "*bf16", "rows": "i32", "columns": "i32:16", "distance": "i32:16"}
    return [
        common.compile_ahead(
            softmax,
            target,
            types,
            {"mesh": tle.device_mesh({"block_cluster": [("part", blocks)]}), "BLOCKS": blocks, "BLOCK": 4096}
            | {"STAGES": 3},
            num_warps=4,
        )
        for blocks in (2, 8)
    ]


def check():
    import torch

    every = ((7, 30000), (300, 8191), (64, 65536), (5, 1), (33, 1000), (3, 131072))
    for rows, columns in common.sizes(gpu=every, cpu=((3, 1000), (2, 8191)), watched=every[1::3]):
        for dtype in common.sizes(gpu=(torch.float32, torch.bfloat16), cpu=(torch.float32,)):
            x = 4 * torch.randn(rows, columns, device=common.device()).to(dtype)
            want = torch.softmax(x.double(), 1)
            for blocks in common.sizes(gpu=(2, 4, 8), cpu=(2, 4)):
                if columns > blocks * 16384 * 2:
                    continue
                y = torch.full_like(x, float("nan"))
                kernel = launch(x, y, blocks, programs=common.sizes(gpu=1280, cpu=2 * blocks))
                unit = 1e-5 if dtype == torch.float32 else 2**-8
                what = f"{rows} rows of {columns} {str(dtype).removeprefix('torch.')}, {blocks} blocks"
                yield kernel, common.compare(what, y, want, relative=unit, absolute=1e-9)


def stress(random):
    import torch

    rows, columns = random.randint(1, 40), random.randint(1, common.sizes(gpu=40000, cpu=900))
    blocks = random.choice((2, 4, 8))
    x = 4 * torch.randn(rows, columns, device=common.device())
    wanted = torch.softmax(x.double(), 1)
    programs = random.choice((8, 40, 264))
    what = f"{rows} rows of {columns}, {blocks} blocks, at most {programs} programs"
    return common.Stressed(what, lambda y: launch(x, y, blocks, programs), (wanted,), (x.dtype,), (1e-5,), (1e-9,))


if __name__ == "__main__":
    sys.exit(common.main("20 softmax by clusters", compile_for, check))
