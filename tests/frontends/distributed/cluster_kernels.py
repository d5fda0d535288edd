"""Kernels whose blocks form clusters: what they do in each other's shared memory."""

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import InOut, Tile
from tle_raw.distributed import device_mesh

PAIR = tl.constexpr(device_mesh({"block_cluster": 2}))
SQUARES = device_mesh({"block": 3, "block_cluster": [("x", 2), ("y", 2)]})
SQUARE, ONE_SQUARE = tl.constexpr(SQUARES), tl.constexpr(SQUARES[0])
LEFT, RIGHT = tl.constexpr(SQUARES[0, :, 0]), tl.constexpr(SQUARES[0, :, 1])
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


@triton.jit
def columns(values, out, BLOCK: tl.constexpr):
    """Clusters of 2 × 2: blocks of one column meet, and take each other's tile."""
    x, y = tle.shard_id(SQUARE, "x"), tle.shard_id(SQUARE, "y")
    i = tl.arange(0, BLOCK)
    place = (tle.shard_id(SQUARE, "block") * 4 + x * 2 + y) * BLOCK
    buffer = tle.gpu.alloc([BLOCK], tl.int32)
    pointers = tle.gpu.local_ptr(buffer, (i,))
    tl.store(pointers, tl.load(values + place + i))
    tle.distributed_barrier(LEFT)
    tle.distributed_barrier(RIGHT)
    other = tle.gpu.local_ptr(tle.remote(buffer, (1 - x, y), mesh=ONE_SQUARE), (i,))
    tl.store(out + place + i, tl.load(pointers) * 1000 + tl.load(other))
    tle.distributed_barrier(ONE_SQUARE)


@triton.jit
def rounds(values, out, n, ROUNDS: tl.constexpr, mesh: tl.constexpr = GRID):
    """Each round takes the next program's number of the last round."""
    me = tl.program_id(0)
    for r in range(ROUNDS):
        tl.store(out + (r + 1) * n + me, tl.load(out + r * n + (me + 1) % n) + tl.load(values + me))
        tle.distributed_barrier(mesh)


@triton.jit
def of_another_block(out, rank, mesh: tl.constexpr):
    i = tl.arange(0, 16)
    buffer = tle.gpu.alloc([16], tl.int32)
    tl.store(tle.gpu.local_ptr(buffer, (i,)), i + 16 * tle.shard_id(mesh, 0))
    tle.distributed_barrier(mesh)
    tl.store(out + i, tl.load(tle.gpu.local_ptr(tle.remote(buffer, rank), (i,))))
    tle.distributed_barrier(mesh)


@triton.jit
def one_waits_elsewhere(flag, mesh: tl.constexpr):
    """Block 1 waits for memory that nobody changes, the others at the barrier."""
    if tle.shard_id(mesh, 0) == 1:
        while tl.atomic_add(flag, 0) == 0:
            pass
    tle.distributed_barrier(mesh)


@triton.jit
def arrives_twice(mesh: tl.constexpr):
    tle.distributed_barrier(mesh, kind="arrive")
    tle.distributed_barrier(mesh, kind="arrive")
    tle.distributed_barrier(mesh, kind="wait")


@triton.jit
def one_returns(out, mesh: tl.constexpr):
    """Who has returned counts as arrived."""
    rank = tle.shard_id(mesh, 0)
    if rank == 0:
        return
    tle.distributed_barrier(mesh)
    tl.store(out + rank, 1)


@triton.jit
def grid_of_which_one_returns(out):
    if tl.program_id(0) == 2:
        return
    tle.distributed_barrier(GRID)
    tl.store(out, 1)


@triton.jit
def unordered(values, out, n, BLOCK: tl.constexpr, BEFORE: tl.constexpr, AFTER: tl.constexpr):
    """As ``neighbours`` in pairs, with a barrier between write and read or not, and between read and write."""
    rank = tle.shard_id(PAIR, 0)
    i = tl.arange(0, BLOCK)
    buffer = tle.gpu.alloc([BLOCK], tl.float32)
    pointers = tle.gpu.local_ptr(buffer, (i,))
    tl.store(pointers, tl.load(values + tl.program_id(0) * n + i, mask=i < n, other=0))
    if BEFORE:
        tle.distributed_barrier(PAIR)
    other = tl.load(tle.gpu.local_ptr(tle.remote(buffer, 1 - rank), (i,)))
    if AFTER:
        tle.distributed_barrier(PAIR)
    tl.store(pointers, other)
    tl.store(out + tl.program_id(0) * n + i, other, mask=i < n)


@triton.jit
def hand_over(word, out, n, BLOCK: tl.constexpr, SCOPE: tl.constexpr):
    """Block 0 fills block 1's buffer, and says so by a word in global memory, for which block 1 waits."""
    i = tl.arange(0, BLOCK)
    buffer = tle.gpu.alloc([BLOCK], tl.float32)
    tle.distributed_barrier(PAIR)
    if tle.shard_id(PAIR, 0) == 0:
        tl.store(tle.gpu.local_ptr(tle.remote(buffer, 1), (i,)), i.to(tl.float32))
        tl.debug_barrier()
        tl.atomic_xchg(word, 1, sem="release", scope=SCOPE)
    else:
        while tl.atomic_add(word, 0, sem="acquire", scope=SCOPE) != 1:
            pass
        tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer, (i,))), mask=i < n)
    tle.distributed_barrier(PAIR)


@triton.jit
def waits_for_arrivals(mesh: tl.constexpr, COUNT: tl.constexpr):
    """Block 0 waits for two arrivals at its barrier, and gets so many of block 1."""
    bar = tle.gpu.alloc_barrier(arrive_count=2)
    if tle.shard_id(mesh, 0) == 1:
        for _ in tl.static_range(COUNT):
            tle.gpu.barrier_arrive(tle.remote(bar, 0, mesh=mesh))
    else:
        tle.gpu.barrier_wait(bar, 0)


PLACE = r"""__device__ void place(int* rank) {
  if (threadIdx.x == 0) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank[0]));
}"""


@tle_raw.dialect("cuda", source=PLACE)
def place(rank: InOut[Tile["i32", 1]]): ...


@triton.jit
def asked_by_a_fragment(out, mesh: tl.constexpr):
    """The fragment asks which block of its cluster this is; with a mesh the kernel has clusters."""
    number = tle.call(place, tl.zeros([1], tl.int32))
    if mesh is not None:
        number += tle.shard_id(mesh, 0)
    tl.store(out + tl.program_id(0) + tl.arange(0, 1), number)
