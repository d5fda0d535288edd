"""Sample 20: softmax of rows that are too long for one block: the blocks of a cluster share a row. From sm_90 on.

Each block holds its part of a row in registers, and writes the part's largest element and its sum of exponentials into
the shared memory of all blocks of the cluster. So a row is read once, where two launches, or one that goes over the row
again, read it twice. A block may write into another's memory when that has begun: the barrier for that is arrived at
first of all, and waited for behind the loads.
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
def softmax(x_ptr, y_ptr, columns, distance, mesh: tl.constexpr, BLOCKS: tl.constexpr, BLOCK: tl.constexpr):
    """The softmax of one row by a cluster; ``distance`` elements lie between the beginnings of two rows."""
    largest = tle.gpu.alloc([BLOCKS], tl.float32, nv_mma_shared_layout=False)
    sums = tle.gpu.alloc([BLOCKS], tl.float32, nv_mma_shared_layout=False)
    tle.distributed_barrier(mesh, kind="arrive")
    part = tle.shard_id(mesh, "part")
    row = (tl.program_id(0) // BLOCKS).to(tl.int64)
    i = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * distance + i, mask=i < columns, other=float("-inf")).to(tl.float32)
    top = tl.maximum(tl.max(x, 0), -3.0e38)  # of a part that holds nothing
    e = tl.exp(x - top)
    total = tl.sum(e, 0)
    tle.distributed_barrier(mesh, kind="wait")
    for peer in tl.static_range(BLOCKS):
        tl.store(tle.gpu.local_ptr(tle.remote(largest, peer, mesh=mesh), (part,)), top)
        tl.store(tle.gpu.local_ptr(tle.remote(sums, peer, mesh=mesh), (part,)), total)
    tle.distributed_barrier(mesh)
    tops = largest.load()
    highest = tl.max(tops, 0)
    whole = tl.sum(sums.load() * tl.exp(tops - highest), 0)
    y = e * (tl.exp(top - highest) / whole)
    tl.store(y_ptr + row * distance + i, y.to(y_ptr.dtype.element_ty), mask=i < columns)


def shape_of(columns: int, blocks: int) -> dict[str, int]:
    """How a row is divided among so many blocks, and the warps of each."""
    block = max(128, triton.next_power_of_2(triton.cdiv(columns, blocks)))
    return {"BLOCK": block, "num_warps": min(16, max(4, block // 1024))}


def launch(x, y, blocks: int):
    """A cluster of so many blocks for each row."""
    rows, columns = x.shape
    mesh = tle.device_mesh({"block_cluster": [("part", blocks)]})
    more = shape_of(columns, blocks)
    return softmax[(rows * blocks,)](x, y, columns, x.stride(0), mesh=mesh, BLOCKS=blocks, **more)


def compile_for(target):
    types = {"x_ptr": "*bf16", "y_ptr": "*bf16", "columns": "i32", "distance": "i32"}
    return [
        common.compile_ahead(
            softmax,
            target,
            types,
            {"mesh": tle.device_mesh({"block_cluster": [("part", blocks)]}), "BLOCKS": blocks, "BLOCK": 4096},
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
                kernel = launch(x, y, blocks)
                unit = 1e-5 if dtype == torch.float32 else 2**-8
                what = f"{rows} rows of {columns} {str(dtype).removeprefix('torch.')}, {blocks} blocks"
                yield kernel, common.compare(what, y, want, relative=unit, absolute=1e-9)


def stress(random):
    import torch

    rows, columns = random.randint(1, 40), random.randint(1, common.sizes(gpu=40000, cpu=900))
    blocks = random.choice((2, 4, 8))
    x = 4 * torch.randn(rows, columns, device=common.device())
    wanted = torch.softmax(x.double(), 1)
    what = f"{rows} rows of {columns}, {blocks} blocks"
    return common.Stressed(what, lambda y: launch(x, y, blocks), (wanted,), (x.dtype,), (1e-5,), (1e-9,))


if __name__ == "__main__":
    sys.exit(common.main("20 softmax by clusters", compile_for, check))
