"""Kernels whose blocks form clusters: what they do in each other's shared memory."""

import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.distributed import device_mesh

PAIR = tl.constexpr(device_mesh({"block_cluster": 2}))
SQUARE = tl.constexpr(device_mesh({"block": 3, "block_cluster": [("x", 2), ("y", 2)]}))
EIGHT = tl.constexpr(device_mesh({"block_cluster": 8}))
GRID = tl.constexpr(device_mesh({"block": 6}))


@triton.jit
def neighbours(values, out, n, mesh: tl.constexpr, BLOCK: tl.constexpr):
    """Each block stores its tile, and adds that of the next block of the cluster."""
    blocks: tl.constexpr = mesh.size
    rank = tle.shard_id(mesh, 0)
    i = tl.arange(0, BLOCK)
    place = tl.program_id(0) * n
    own = tl.load(values + place + i, mask=i < n, other=0)
    buffer = tle.gpu.alloc([BLOCK], tl.float32)
    tl.store(tle.gpu.local_ptr(buffer, (i,)), own)
    tle.distributed_barrier(mesh)
    other = tl.load(tle.gpu.local_ptr(tle.remote(buffer, (rank + 1) % blocks), (i,)))
    tl.store(out + place + i, own + 2 * other, mask=i < n)
    tle.distributed_barrier(mesh)


@triton.jit
def reduction(values, out, n, mesh: tl.constexpr, BLOCK: tl.constexpr):
    """All blocks of a cluster add to the first one's sum, with atomics."""
    rank = tle.shard_id(mesh, 0)
    i = tl.arange(0, BLOCK)
    total = tle.gpu.alloc([16], tl.float32)
    j = tl.arange(0, 16)
    tl.store(tle.gpu.local_ptr(total, (j,)), tl.zeros([16], tl.float32))
    tle.distributed_barrier(mesh, kind="arrive")
    sum = tl.sum(tl.load(values + tl.program_id(0) * n + i, mask=i < n, other=0), 0)
    tle.distributed_barrier(mesh, kind="wait")
    tl.atomic_add(tle.gpu.local_ptr(tle.remote(total, 0), (0,)), sum)
    tle.distributed_barrier(mesh)
    if rank == 0:
        tl.store(out + tl.program_id(0) // mesh.size, tl.load(tle.gpu.local_ptr(total, (0,))))
