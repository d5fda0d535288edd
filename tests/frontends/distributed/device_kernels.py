"""Kernels of several devices, by the functions of ``tle`` that take a context."""

import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.distributed import device_mesh

PAIRS = tl.constexpr(device_mesh({"device": 2, "block_cluster": 2}))
PAIR = tl.constexpr(device_mesh({"block_cluster": 2}))


@triton.jit
def rotate(context, values, out, n, mesh: tl.constexpr, BLOCK: tl.constexpr):
    """Each device takes the next one's values, which that one has doubled."""
    me = tle.shard_id(mesh, "device", context)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(values + i, 2 * tl.load(values + i, mask=i < n), mask=i < n)
    tle.distributed_barrier(mesh, context)
    other = tle.remote(values, (me + 1) % mesh.size, context)
    tl.store(out + i, tl.load(other + i, mask=i < n), mask=i < n)
    tle.distributed_barrier(mesh, context)


@triton.jit
def pass_on(context, numbers, ROUNDS: tl.constexpr, mesh: tl.constexpr):
    """A token goes round: each device adds its number, and signals the next one."""
    me = tle.shard_id(mesh, "device", context)
    after = (me + 1) % mesh.size
    for r in range(ROUNDS):
        if me > 0 or r > 0:
            tle.signal_wait(context, 3, r if me == 0 else r + 1)
        total = tl.load(numbers)
        tl.store(tle.remote(numbers, after, context), total + me)
        tle.signal(context, after, 3)


@triton.jit
def of_both(context, values, out, BLOCK: tl.constexpr):
    """Clusters on two devices: the sum over the cluster, then over the devices."""
    rank, me = tle.shard_id(PAIRS, "block_cluster"), tle.shard_id(PAIRS, "device", context)
    i = tl.arange(0, BLOCK)
    buffer = tle.gpu.alloc([BLOCK], tl.float32)
    own = tl.load(values + rank * BLOCK + i)
    tl.store(tle.gpu.local_ptr(buffer, (i,)), own)
    tle.distributed_barrier(PAIR)
    own += tl.load(tle.gpu.local_ptr(tle.remote(buffer, 1 - rank), (i,)))
    tle.distributed_barrier(PAIR)
    tl.store(out + rank * BLOCK + i, own)
    tle.distributed_barrier(PAIRS, context)
    other = tle.remote(out, 1 - me, context)
    total = own + tl.load(other + rank * BLOCK + i)
    tle.distributed_barrier(PAIRS, context)
    tl.store(out + rank * BLOCK + i, total)


@triton.jit
def of_too_few(context, mesh: tl.constexpr):
    """All but the last device meet."""
    if tle.shard_id(mesh, "device", context) != mesh.size - 1:
        tle.distributed_barrier(mesh, context)


@triton.jit
def wrong_slot(context):
    tle.signal(context, 0, 5000)


@triton.jit
def rotate_unordered(context, values, out, n, mesh: tl.constexpr, BLOCK: tl.constexpr):
    """As ``rotate``, and nobody waits between the write and the reads."""
    me = tle.shard_id(mesh, "device", context)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(values + i, 2 * tl.load(values + i, mask=i < n), mask=i < n)
    other = tle.remote(values, (me + 1) % mesh.size, context)
    tl.store(out + i, tl.load(other + i, mask=i < n), mask=i < n)
    tle.distributed_barrier(mesh, context)


@triton.jit
def fill(context, values, mesh: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(values + i, i)


@triton.jit
def take(context, values, out, mesh: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(tle.remote(values, 0, context) + i))


@triton.jit
def name_a_peer(context, x, out, me, peer, how: tl.constexpr):
    """Device 0 reaches for a device, in one of the ways in which that is done; device 1 waits for its signal."""
    i = tl.arange(0, 16)
    if me == 0:
        if how == "load":
            tl.store(out + i, tl.load(tle.remote(x + i, peer, context)))
        elif how == "store":
            tl.store(tle.remote(x, peer, context) + i, i)
        elif how == "atomic":
            tl.atomic_add(tle.remote(x + i, peer, context), 1, scope="sys")
        elif how == "put":
            tle.put(x + i, i, peer, context, signal=0)
        elif how == "get":
            tl.store(out + i, tle.get(x + i, peer, context))
        else:
            tle.signal(context, peer, 0)
    elif how == "put" or how == "signal":
        tle.signal_wait(context, 0, 1)
