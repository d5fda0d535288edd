"""``max_active_clusters`` against what runs: clusters that wait for each other all come, and one more does not."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import tle_raw.language as tle
from tests.gpu.device import COMPILE_ONLY, HOPPER, ON_CPU
from tle_raw.distributed import max_active_clusters

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(COMPILE_ONLY or ON_CPU or not HOPPER, reason="of clusters that run at the same time on a GPU"),
]

TURNS = 20_000  # each some microsecond: of looking for others that do not come


@triton.jit
def wait_for_all(counter, seen, expected, turns, mesh: tl.constexpr, BYTES: tl.constexpr):
    """How many blocks of the launch had begun before this one ended; each takes BYTES of shared memory."""
    held, lane = tle.gpu.alloc([BYTES], tl.int8, nv_mma_shared_layout=False), tl.arange(0, 128)
    tl.store(tle.gpu.local_ptr(held, (lane,)), tl.zeros((128,), tl.int8))
    tle.distributed_barrier(mesh)
    nothing = tl.load(tle.gpu.local_ptr(tle.remote(held, 0, mesh=mesh), (lane,)))
    count = tl.atomic_add(counter, 1) + 1 + tl.max(nothing.to(tl.int32), 0)
    turn = 0
    while (count < expected) & (turn < turns):  # no clock: a block's warps would not leave in the same turn
        count = tl.atomic_add(counter, 0)
        turn += 1
    tl.store(seen + tl.program_id(0), count)


def launch(clusters: int, blocks: int, size: int):
    counter = torch.zeros(1, device="cuda", dtype=torch.int32)
    seen = torch.zeros(clusters * blocks, device="cuda", dtype=torch.int32)
    mesh = tle.device_mesh({"block_cluster": blocks})
    kernel = wait_for_all[(clusters * blocks,)](counter, seen, clusters * blocks, TURNS, mesh=mesh, BYTES=size)
    return kernel, bool((seen == clusters * blocks).all())


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize("size", [2**17, 2**14], ids=["one block a processor", "several"])
def test_so_many_clusters_run_at_the_same_time(blocks, size):
    kernel, _ = launch(1, blocks, size)
    most = max_active_clusters(kernel)
    print(f"{blocks} blocks of {size} bytes: {most} clusters")
    assert launch(most, blocks, size)[1]
    assert not launch(most + 1, blocks, size)[1]
