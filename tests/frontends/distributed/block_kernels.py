"""Kernels whose blocks form clusters or meet, for tests on GPUs, on the CPU, and of their code."""

from __future__ import annotations

import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def next_tile(x, o, mesh: tl.constexpr, BLOCKS: tl.constexpr, N: tl.constexpr):
    """Each block writes what its neighbour loaded."""
    i = tl.arange(0, N)
    own = tle.gpu.alloc([N], x.dtype.element_ty, nv_mma_shared_layout=False)
    own.store(tl.load(x + tl.program_id(0) * N + i))
    tle.distributed_barrier(mesh)
    other = tle.remote(own, (tle.shard_id(mesh, 0) + 1) % BLOCKS, mesh=mesh)
    tl.store(o + tl.program_id(0) * N + i, tl.load(tle.gpu.local_ptr(other, (i,))))


@triton.jit
def _count_in_first(pointer, mesh: tl.constexpr, N: tl.constexpr):
    tl.atomic_add(tle.remote(pointer, 0, mesh=mesh) + tl.zeros([N], tl.int32), 1)


@triton.jit
def pointed(x, o, count, mesh: tl.constexpr, BLOCKS: tl.constexpr, N: tl.constexpr):
    """The neighbour's tile by pointers, and the first block's by pointers into the last one; all count in the first."""
    i = tl.arange(0, N)
    own = tle.gpu.alloc([N], x.dtype.element_ty, nv_mma_shared_layout=False)
    counter = tle.gpu.alloc([1], tl.int32, nv_mma_shared_layout=False, init_value=0)
    pointers, one = tle.gpu.local_ptr(own, (i,)), tle.gpu.local_ptr(counter, (0,))
    tl.store(pointers, tl.load(x + tl.program_id(0) * N + i))
    tle.distributed_barrier(mesh)
    beside = tle.remote(pointers, (tle.shard_id(mesh, 0) + 1) % BLOCKS, mesh=mesh)
    first = tle.remote(tle.remote(pointers, BLOCKS - 1, mesh=mesh), 0, mesh=mesh)
    _count_in_first(tle.remote(one, BLOCKS - 1, mesh=mesh), mesh, N)
    tl.store(o + tl.program_id(0) * 2 * N + i, tl.load(beside))
    tl.store(o + tl.program_id(0) * 2 * N + N + i, tl.load(first, mask=i % 3 > 0, other=7))
    tle.distributed_barrier(mesh)
    tl.store(count + tl.program_id(0), tl.load(one))


@triton.jit
def pointed_elsewhere(x, mesh: tl.constexpr):
    """A pointer into global memory is no other block's."""
    tl.store(tle.remote(x, 1, mesh=mesh), 1.0)


@triton.jit
def shifted(x, o, count, mesh: tl.constexpr, BLOCKS: tl.constexpr, N: tl.constexpr):
    """Each block stores its first ``count`` elements, in turned order, into the neighbour's buffer of twos."""
    i = tl.arange(0, N)
    own = tle.gpu.alloc([N], x.dtype.element_ty, nv_mma_shared_layout=False, init_value=2)
    value = tl.load(x + tl.program_id(0) * N + i)
    tle.distributed_barrier(mesh, kind="arrive")
    other = tle.remote(own, (tle.shard_id(mesh, "x") + 1) % BLOCKS)
    tle.distributed_barrier(mesh, kind="wait")
    tl.store(tle.gpu.local_ptr(other, (N - 1 - i,)), value, mask=i < count)
    tle.distributed_barrier(mesh)
    tl.store(o + tl.program_id(0) * N + i, own.load())


@triton.jit
def counted(x, sums, tops, tickets, mesh: tl.constexpr, BLOCKS: tl.constexpr, N: tl.constexpr, BINS: tl.constexpr):
    """Atomics of all blocks in all blocks: sums and largest values by class, and a ticket for each that comes."""
    i = tl.arange(0, N)
    total = tle.gpu.alloc([BINS], x.dtype.element_ty, nv_mma_shared_layout=False, init_value=0)
    top = tle.gpu.alloc([BINS], tl.int32, nv_mma_shared_layout=False, init_value=-(2**31))
    count = tle.gpu.alloc([1], tl.int32, nv_mma_shared_layout=False, init_value=0)
    value = tl.load(x + tl.program_id(0) * N + i)
    tle.distributed_barrier(mesh)  # the others' are cleared, too
    for peer in tl.static_range(BLOCKS):
        tl.atomic_add(tle.gpu.local_ptr(tle.remote(total, peer, mesh=mesh), (i % BINS,)), value)
        key = i * 7919 % 1009 + tl.program_id(0)
        tl.atomic_max(tle.gpu.local_ptr(tle.remote(top, peer, mesh=mesh), (i % BINS,)), key)
        ticket = tl.atomic_add(tle.gpu.local_ptr(tle.remote(count, peer, mesh=mesh), (i * 0,)), 1)
        tl.store(tickets + (tl.program_id(0) * BLOCKS + peer) * N + i, ticket)
    tle.distributed_barrier(mesh)
    b = tl.arange(0, BINS)
    tl.store(sums + tl.program_id(0) * BINS + b, total.load())
    tl.store(tops + tl.program_id(0) * BINS + b, top.load())


@triton.jit
def met_in_part(o, rounds, part: tl.constexpr, whole: tl.constexpr, ROW: tl.constexpr, N: tl.constexpr):
    """The two blocks of a part add up each other's numbers, round by round; the others have nothing to do with it."""
    i = tl.arange(0, N)
    own = tle.gpu.alloc([2, N], tl.int32, nv_mma_shared_layout=False)
    x, y = tle.shard_id(whole, "x"), tle.shard_id(whole, "y")
    value = i + tl.program_id(0)
    for round in range(rounds):
        own.slot(round % 2).store(value)
        tle.distributed_barrier(part)
        other = tle.remote(own.slot(round % 2), (x, 1 - y), mesh=whole)
        value += 3 * tl.load(tle.gpu.local_ptr(other, (i,)), mask=(i >= 0) & (x == ROW), other=0)
        value = value % 10007
    tl.store(o + tl.program_id(0) * N + i, value)


@triton.jit
def sent_around(x, o, rounds, mesh: tl.constexpr, BLOCKS: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    """Each tile goes around the cluster by copies of the engine, a block a round, and is doubled on the way."""
    r, i = tl.arange(0, ROWS)[:, None], tl.arange(0, N)[None, :]
    places = tl.program_id(0) * ROWS * N + r * N + i
    out = tle.gpu.alloc([ROWS, N], x.dtype.element_ty)
    came = tle.gpu.alloc([2, ROWS, N], x.dtype.element_ty)
    full = tle.gpu.alloc_barriers(2)
    nxt = (tle.shard_id(mesh, 0) + 1) % BLOCKS
    value = tl.load(x + places)
    for round in range(rounds):
        out.store(value)
        slot = round % 2
        there, bar = tle.remote(came[slot], nxt, mesh=mesh), tle.remote(full[slot], nxt, mesh=mesh)
        tle.gpu.copy(out, there, [ROWS, N], barrier=bar)
        tle.gpu.barrier_wait(full[slot], round // 2)
        value = came[slot].load() * 2
        tle.distributed_barrier(mesh)  # the copies have been read from `out`, and from `came`
    tl.store(o + places, value)


@triton.jit
def shared_tiles(desc, o, steps, mesh: tl.constexpr, along: tl.constexpr, MEMBERS: tl.constexpr, BLOCKS: tl.constexpr,
    ROWS: tl.constexpr, N: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Tiles that the blocks along an axis copy together: their sum, in each of them."""
    tiles = tle.gpu.alloc([SLOTS, ROWS, N], desc.dtype)
    size: tl.constexpr = ROWS * N * desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=size)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=BLOCKS, init=tle.gpu.READY)
    group = tle.multicast_group(mesh, along)
    first = tl.program_id(0) // BLOCKS * steps  # of the cluster's tiles
    total = tl.zeros((ROWS, N), tl.float32)
    for step in range(steps):
        slot = step % SLOTS
        tle.gpu.barrier_wait(empty[slot], step // SLOTS)
        offsets = [(first + step) * ROWS, 0]
        tle.gpu.copy(desc, tiles[slot], [ROWS, N], offsets=offsets, barrier=full[slot], multicast=group)
        tle.gpu.barrier_wait(full[slot], step // SLOTS)
        total += tiles[slot].load().to(tl.float32) * (step + 1)
        for peer in tl.static_range(BLOCKS):
            tle.gpu.barrier_arrive(tle.remote(empty[slot], peer, mesh=mesh), 1, step // SLOTS)
    r, i = tl.arange(0, ROWS)[:, None], tl.arange(0, N)[None, :]
    tl.store(o + tl.program_id(0) * ROWS * N + r * N + i, total)


@triton.jit
def handed_on(x, o, rounds, mesh: tl.constexpr, BLOCKS: tl.constexpr, N: tl.constexpr):
    """Stores into the neighbour's buffer that a barrier with phases tells of, in both directions."""
    i = tl.arange(0, N)
    box = tle.gpu.alloc([N], tl.float32, nv_mma_shared_layout=False)
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)
    me = tle.shard_id(mesh, 0)
    nxt, before = (me + 1) % BLOCKS, (me + BLOCKS - 1) % BLOCKS
    value = tl.load(x + tl.program_id(0) * N + i)
    for round in range(rounds):
        tle.gpu.barrier_wait(empty, round)  # the neighbour has read what came last
        tl.store(tle.gpu.local_ptr(tle.remote(box, nxt, mesh=mesh), (i,)), value)
        tle.gpu.barrier_arrive(tle.remote(full, nxt, mesh=mesh), 1, round)
        tle.gpu.barrier_wait(full, round)
        value = tl.load(tle.gpu.local_ptr(box, (i,))) + 1.0
        tle.gpu.barrier_arrive(tle.remote(empty, before, mesh=mesh), 1, round)
    tl.store(o + tl.program_id(0) * N + i, value)


@triton.jit
def met_in_grid(x, o, rounds, mesh: tl.constexpr, BLOCKS: tl.constexpr):
    """All blocks add up what all of them wrote, round by round."""
    me = tle.shard_id(mesh, "block")
    i = tl.arange(0, BLOCKS)
    for round in range(rounds):
        values = tl.load(x + round * BLOCKS + i)
        tl.store(x + (round + 1) * BLOCKS + me, (tl.sum(values, 0) + me) % 10007)
        tle.distributed_barrier(mesh)
    tl.store(o + me, tl.load(x + rounds * BLOCKS + (me + 1) % BLOCKS))


@triton.jit
def coordinates(o, mesh: tl.constexpr, names: tl.constexpr, AXES: tl.constexpr):
    """Where each program stands along each axis."""
    for axis in tl.static_range(AXES):
        tl.store(o + tl.program_id(0) * AXES + axis, tle.shard_id(mesh, names[axis]))


@triton.jit
def matmul_partitions(a_desc, b_desc, c, K, mesh: tl.constexpr, LEAVE: tl.constexpr):
    """``c = a @ b.T`` of 64 rows a block, with warps that copy; b goes to both blocks of a cluster.

    With LEAVE the warps that copy wait for both blocks to be done with this one's slots, and nobody at the end.
    """
    SLOTS: tl.constexpr = 3
    a = tle.gpu.alloc([SLOTS, 64, 64], tl.float16)
    b = tle.gpu.alloc([SLOTS, 128, 64], tl.float16)
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(64 + 128) * 64 * 2)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (_multiply, (a, b, full, empty, K, c, mesh, SLOTS)),
            (_fetch, (a, b, full, empty, K, a_desc, b_desc, mesh, SLOTS, LEAVE)),
        ],
        [1],
        [40],
    )
    if LEAVE:
        tle.distributed_barrier(mesh, kind="leave")


@triton.jit
def _fetch(
    a, b, full, empty, K, a_desc, b_desc, mesh: tl.constexpr, SLOTS: tl.constexpr, LEAVE: tl.constexpr
):  # fmt: skip
    group = tle.multicast_group(mesh, 0)
    steps = tl.cdiv(K, 64)
    for k in range(steps):
        slot = k % SLOTS
        tle.gpu.barrier_wait(empty[slot], k // SLOTS)
        place = [tl.program_id(0) * 64, k * 64]
        tle.gpu.copy(a_desc, a[slot], [64, 64], offsets=place, barrier=full[slot])
        tle.gpu.copy(b_desc, b[slot], [128, 64], offsets=[0, k * 64], barrier=full[slot], multicast=group)
    if LEAVE:
        for k in range(steps, steps + SLOTS):
            tle.gpu.barrier_wait(empty[k % SLOTS], k // SLOTS)


@triton.jit
def _multiply(a, b, full, empty, K, c, mesh: tl.constexpr, SLOTS: tl.constexpr):
    total = tl.zeros((64, 128), tl.float32)
    for k in range(tl.cdiv(K, 64)):
        slot = k % SLOTS
        tle.gpu.barrier_wait(full[slot], k // SLOTS)
        total = tle.gpu.wgmma(a[slot], b[slot], total, trans_b=True)
        total = tle.gpu.wgmma_wait(0, total)
        for block in tl.static_range(2):
            tle.gpu.barrier_arrive(tle.remote(empty[slot], block, mesh=mesh), 1, k // SLOTS)
    i, j = tl.arange(0, 64)[:, None], tl.arange(0, 128)[None, :]
    tl.store(c + (tl.program_id(0) * 64 + i) * 128 + j, total)
