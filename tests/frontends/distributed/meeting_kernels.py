"""Kernels between devices that tests compile, simulate and run on GPUs."""

import triton
import triton.language as tl

import tle_raw.language as tle
from tle_raw.distributed import device_mesh


@triton.jit
def add_in_rounds(
    context, x, out, n, rounds, mesh: tl.constexpr, X: tl.constexpr, Y: tl.constexpr, BLOCK: tl.constexpr
):
    """Each round every device writes other numbers, and all add up what all have written."""
    me = tle.shard_id(mesh, 0, context) * Y + tle.shard_id(mesh, 1, context)
    world: tl.constexpr = X * Y
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wrong = tl.zeros([BLOCK], tl.int32)
    for turn in range(rounds):
        tl.store(x + i, (i + turn) * (me + 1), mask=i < n)
        tle.distributed_barrier(mesh, context)
        total = tl.zeros([BLOCK], tl.int32)
        for peer in tl.static_range(world):
            total += tl.load(tle.remote(x + i, peer, context), mask=i < n, other=0)
        tle.distributed_barrier(mesh, context, "arrive")
        expected = (i + turn) * (world * (world + 1) // 2)
        wrong += tl.where((i < n) & (total != expected), 1, 0)
        tle.distributed_barrier(mesh, context, "wait")
    tl.store(out + i, wrong, mask=i < n)


@triton.jit
def add_along(context, x, out, n, mesh: tl.constexpr, X: tl.constexpr, Y: tl.constexpr, BLOCK: tl.constexpr):
    """Sums along axis y, and then along x of those: two barriers of parts instead of one of all."""
    i = tl.arange(0, BLOCK)
    at_x, at_y = tle.shard_id(mesh, "x", context), tle.shard_id(mesh, "y", context)
    tle.distributed_barrier(mesh, context, axes=("y",))
    row = tl.zeros([BLOCK], tl.float32)
    for place in tl.static_range(Y):
        row += tl.load(tle.remote(x + i, (at_x, place), context, mesh), mask=i < n)
    tl.store(x + n + i, row, mask=i < n)
    tle.distributed_barrier(mesh, context, axes=("x",))
    total = tl.zeros([BLOCK], tl.float32)
    for place in tl.static_range(X):
        total += tl.load(tle.remote(x + n + i, (place, at_y), context, mesh), mask=i < n)
    tl.store(out + i, total, mask=i < n)
    tle.distributed_barrier(mesh, context, axes=("x",))


@triton.jit
def pass_round(context, x, out, n, rounds, world: tl.constexpr, mesh: tl.constexpr, BLOCK: tl.constexpr):
    """A ring: tiles go to the next device with a signal, and what has come goes on, ``rounds`` times."""
    block = tl.program_id(0)
    me = tle.shard_id(mesh, "device", context)
    following = (me + 1) % world
    i = block * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tile = tl.load(out + i, mask=inside, other=0)
    for turn in range(rounds):
        room = (turn % 2) * n
        # The follower says in the second half of the slots how many tiles it has read.
        tle.signal_wait(context, 2 * block + 1, turn - 1)
        tle.put(x + room + i, tile + 1, following, context, mask=inside, signal=2 * block)
        tle.signal_wait(context, 2 * block, turn + 1)
        tile = tl.load(x + room + i, mask=inside, other=0)
        tle.signal(context, (me + world - 1) % world, 2 * block + 1)
    tl.store(out + i, tile, mask=inside)


@triton.jit
def take_from_first(context, x, out, n, BLOCK: tl.constexpr):
    """What device 0 has, once it says so by setting signal 5 to 7."""
    i = tl.arange(0, BLOCK)
    tle.signal_wait(context, 5, 7, "eq")
    tl.store(out + i, tle.get(x + i, 0, context, mask=i < n, other=-1.0))


@triton.jit
def say_that_it_is_there(context, x, n, world: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i * 0.5, mask=i < n)
    for peer in tl.static_range(world):
        tle.signal(context, peer, 5, 7, op="set")


@triton.jit
def only_meet(context, mesh: tl.constexpr):
    tle.distributed_barrier(mesh, context)


FOUR = tl.constexpr(device_mesh({"device": 4}))


@triton.jit
def meet_as_four(context):
    tle.distributed_barrier(FOUR, context)


@triton.jit
def only_wait(context, slot, until):
    tle.signal_wait(context, slot, until)


@triton.jit
def only_signal(context, peer, slot):
    tle.signal(context, peer, slot)


@triton.jit
def number_of_all(context, out, mesh: tl.constexpr, part: tl.constexpr):
    """Its number among all devices, and in a part of them, or -1."""
    tl.store(out, tle.shard_id(mesh, 0, context))
    tl.store(out + 1, tle.shard_id(part, "device", context))
