"""Kernels over a context's table, in plain Triton: what simulated devices do to each other."""

import triton
import triton.language as tl

from tle_raw.frontends.distributed import context_layout as words

RANK, WORLD, HEAPS = (tl.constexpr(word) for word in (words.RANK, words.WORLD, words.HEAPS))
SIGNALS, ARRIVALS, TENSORS = (tl.constexpr(word) for word in (words.SIGNALS, words.ARRIVALS, words.TENSORS))


@triton.jit
def signal_at(context, member, slot):
    start = tl.load(context + HEAPS + member) + tl.load(context + SIGNALS)
    return start.to(tl.pointer_type(tl.int32)) + slot


@triton.jit
def peers(context, pointer, member):
    """A pointer into the own memory, as one into a peer's."""
    own = tl.load(context + HEAPS + tl.load(context + RANK))
    address = pointer.to(tl.int64) - own + tl.load(context + HEAPS + member)
    return address.to(pointer.dtype)


@triton.jit
def meet(context, first):
    """Tell every member that this one has come, and wait for all: one program, and a slot for each member."""
    rank, world = tl.load(context + RANK).to(tl.int32), tl.load(context + WORLD).to(tl.int32)
    for member in range(world):
        tl.atomic_add(signal_at(context, member, first + rank), 1, sem="release", scope="sys")
    for member in range(world):
        while tl.atomic_add(signal_at(context, rank, first + member), 0, sem="acquire", scope="sys") < 1:
            pass


@triton.jit
def all_reduce(context, shard, out, n, BLOCK: tl.constexpr, MEET: tl.constexpr = True):
    if MEET:
        meet(context, 0)
    world = tl.load(context + WORLD).to(tl.int32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], tl.float32)
        for member in range(world):
            total += tl.load(peers(context, shard, member) + i, mask=i < n, other=0).to(tl.float32)
        tl.store(out + i, total, mask=i < n)
    if MEET:
        meet(context, world)


@triton.jit
def send_to_the_next(context, values, n, BLOCK: tl.constexpr):
    """A stage of a ring: fill the next member's memory, then say so; wait for the own one."""
    rank, world = tl.load(context + RANK).to(tl.int32), tl.load(context + WORLD).to(tl.int32)
    i = tl.arange(0, BLOCK)
    tl.store(peers(context, values, (rank + 1) % world) + i, rank * 100 + i, mask=i < n)
    tl.atomic_xchg(signal_at(context, (rank + 1) % world, 7), 1, sem="release", scope="sys")
    while tl.atomic_add(signal_at(context, rank, 7), 0, sem="acquire", scope="sys") != 1:
        pass


@triton.jit
def wait_for_nobody(context, slot):
    rank = tl.load(context + RANK).to(tl.int32)
    while tl.atomic_add(signal_at(context, rank, slot + rank), 0, sem="acquire", scope="sys") != 1:
        pass


@triton.jit
def hand_over(context, values, n, BLOCK: tl.constexpr, SCOPE: tl.constexpr, SEM: tl.constexpr):
    """Device 0 writes into device 1's memory and signals; device 1 waits and doubles what came."""
    rank = tl.load(context + RANK).to(tl.int32)
    i = tl.arange(0, BLOCK)
    if rank == 0:
        tl.store(peers(context, values, 1) + i, i.to(tl.float32), mask=i < n)
        tl.atomic_xchg(signal_at(context, 1, 3), 1, sem=SEM, scope=SCOPE)
    else:
        while tl.atomic_cas(signal_at(context, 1, 3), 1, 0, sem="acquire", scope=SCOPE) != 1:
            pass
        tl.store(values + i, 2 * tl.load(values + i, mask=i < n), mask=i < n)


@triton.jit
def send_word(context, words, data, out, WITH_DATA: tl.constexpr):
    """A word of device 0 that carries its own news; what stands beside it is not ordered by that."""
    if tl.load(context + RANK) == 0:
        if WITH_DATA:
            tl.store(peers(context, data, 1), 5)
        tl.store(peers(context, words, 1), 7, cache_modifier=".wt")
    else:
        found = tl.load(words, volatile=True)
        while found == 0:
            found = tl.load(words, volatile=True)
        if WITH_DATA:
            found += tl.load(data)
        tl.store(out, found)


@triton.jit
def count(context, words, SCOPE: tl.constexpr, IN_TURN: tl.constexpr):
    """All programs of all devices count a word of device 0; or device 1 comes when device 0 is done."""
    rank = tl.load(context + RANK).to(tl.int32)
    if IN_TURN and rank == 1:
        while tl.atomic_add(signal_at(context, 1, 5), 0, sem="acquire", scope="sys") < tl.num_programs(0):
            pass
    tl.atomic_add(peers(context, words, 0), 1, sem="relaxed", scope=SCOPE)
    if IN_TURN and rank == 0:
        tl.atomic_add(signal_at(context, 1, 5), 1, sem="release", scope="sys")
