"""Tokens in the order of their experts in plain Triton: what the kernels of sample 07 are compared with."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def fill_blocks(
    chosen, place, mask, end, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, OWN: tl.constexpr,
):  # fmt: skip
    """What stands beside the pairs at ``place``: whose blocks are, by the pair that begins one, and the total.

    And what is behind the pairs of OWN experts, whose last ones are before ``end``.
    """
    tl.store(block_experts_ptr + place // SIZE, chosen, mask=mask & (place % SIZE == 0))
    own = tl.program_id(0) * OWN + tl.arange(0, OWN)
    behind = tl.gather(end, tl.minimum(own, EXPERTS - 1), 0)[:, None]
    filled = behind + tl.arange(0, SIZE)[None, :]
    tl.store(sorted_ptr + filled, n, mask=(own < EXPERTS)[:, None] & (filled < tl.cdiv(behind, SIZE) * SIZE))
    expert = tl.arange(0, EXPERTS)
    is_last = (expert == EXPERTS - 1) & (tl.program_id(0) == 0)
    tl.store(total_ptr + tl.zeros_like(expert), tl.cdiv(end, SIZE) * SIZE, mask=is_last)


@triton.jit
def rank_pairs(
    experts_ptr, counts_ptr, begins_ptr, places_ptr, n,
    EXPERTS: tl.constexpr, CHUNK: tl.constexpr, STRIDE: tl.constexpr, SORT: tl.constexpr, DEPENDENT: tl.constexpr,
    CHAINED: tl.constexpr,
):  # fmt: skip
    """``places``: of each pair the place among those of its expert. ``counts[expert * STRIDE]``: how many there are.

    By an atomic operation for each pair; with SORT by a sort of the program's pairs, and one for each expert. The
    counts go on from launch to launch: rows of ``begins`` are those when this launch began, and when the next one will.
    DEPENDENT: the next launch may begin meanwhile. CHAINED: this one begins while the one before it may still run.
    """
    if CHAINED:
        tl.extra.cuda.gdc_wait()
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    lane, expert = tl.arange(0, CHUNK), tl.arange(0, EXPERTS)
    i = tl.program_id(0) * CHUNK + lane
    chosen = tl.load(experts_ptr + i, mask=i < n, other=EXPERTS - 1)
    if SORT:
        count = tl.histogram(chosen, EXPERTS, mask=i < n)
        taken = tl.atomic_add(counts_ptr + expert * STRIDE, count, mask=count > 0, sem="relaxed")
        base = tl.where(count > 0, taken, 0) - (tl.cumsum(count, 0) - count)
        key = tl.sort(tl.where(i < n, chosen, EXPERTS) * CHUNK + lane)
        pair = tl.program_id(0) * CHUNK + key % CHUNK
        place = tl.gather(base, tl.minimum(key // CHUNK, EXPERTS - 1), 0) + lane
        tl.store(places_ptr + pair, place, mask=key // CHUNK < EXPERTS)
    else:
        place = tl.atomic_add(counts_ptr + chosen * STRIDE, 1, mask=i < n, sem="relaxed")
        tl.store(places_ptr + i, place, mask=i < n)
    if tl.program_id(0) == 0:
        tl.store(begins_ptr + expert, tl.load(begins_ptr + EXPERTS + expert))


@triton.jit
def place_ranked(
    experts_ptr, counts_ptr, begins_ptr, places_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, OWN: tl.constexpr,
    STRIDE: tl.constexpr, DEPENDENT: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """Behind ``rank_pairs``."""
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
    expert, i = tl.arange(0, EXPERTS), tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    place = tl.load(places_ptr + i, mask=i < n, other=0)
    before = tl.load(begins_ptr + expert)
    all_ = tl.load(counts_ptr + expert * STRIDE)
    if tl.program_id(0) == 0:
        tl.store(begins_ptr + EXPERTS + expert, all_)
    count = all_ - before
    blocks = (count + SIZE - 1) // SIZE
    begin = (tl.cumsum(blocks, 0) - blocks) * SIZE
    place += tl.gather(begin - before, chosen, 0)
    tl.store(sorted_ptr + place, i, mask=i < n)
    fill_blocks(
        chosen, place, i < n, begin + count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN
    )  # fmt: skip


@triton.jit
def align_together(
    experts_ptr, counters_ptr, launches_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, OWN: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """In one launch, whose programs wait for each other's counts: a cooperative one, which runs them all at once.

    An expert's counter says how many pairs it has and, from bit 20 on, how many programs have added theirs: what it
    held before is the place of the program's own. A launch uses one of two rows of counters, and clears the other.
    A thread has experts of its own, so that there are at most EXPERTS threads.
    """
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    lane, expert = tl.arange(0, CHUNK), tl.arange(0, EXPERTS)
    i = tl.program_id(0) * CHUNK + lane
    number = tl.load(launches_ptr)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=EXPERTS - 1)
    counters, others = counters_ptr + number % 2 * EXPERTS, counters_ptr + (number + 1) % 2 * EXPERTS
    own = tl.histogram(chosen, EXPERTS, mask=i < n)
    earlier = tl.atomic_add(counters + expert, own + 2**20, sem="relaxed") & (2**20 - 1)
    first = tl.cumsum(own, 0) - own
    key = tl.sort(tl.where(i < n, chosen, EXPERTS) * CHUNK + lane)
    count = tl.load(counters + expert, volatile=True)
    while tl.min(count, 0) < tl.num_programs(0) * 2**20:
        count = tl.load(counters + expert, volatile=True)
    if tl.program_id(0) == 0:
        tl.store(others + expert, 0)
        tl.store(launches_ptr, number + 1)
    count &= 2**20 - 1
    blocks = (count + SIZE - 1) // SIZE
    begin = (tl.cumsum(blocks, 0) - blocks) * SIZE
    chosen = key // CHUNK
    place = tl.gather(begin + earlier - first, tl.minimum(chosen, EXPERTS - 1), 0) + lane
    mask = chosen < EXPERTS
    tl.store(sorted_ptr + place, tl.program_id(0) * CHUNK + key % CHUNK, mask=mask)
    fill_blocks(
        chosen, place, mask, begin + count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN
    )  # fmt: skip


@triton.jit
def align_alone(
    experts_ptr, counts_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, STRIDE: tl.constexpr,
):  # fmt: skip
    """All of it in one program, which has the pairs in its registers: n is at most CHUNK. ``counts`` are left at 0."""
    i, expert = tl.arange(0, CHUNK), tl.arange(0, EXPERTS)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    place = tl.atomic_add(counts_ptr + chosen * STRIDE, 1, mask=i < n, sem="relaxed")
    tl.debug_barrier()
    count = tl.load(counts_ptr + expert * STRIDE, cache_modifier=".cg")
    tl.debug_barrier()
    tl.store(counts_ptr + expert * STRIDE, 0)
    blocks = (count + SIZE - 1) // SIZE
    begin = (tl.cumsum(blocks, 0) - blocks) * SIZE
    place += tl.gather(begin, chosen, 0)
    tl.store(sorted_ptr + place, i, mask=i < n)
    fill_blocks(
        chosen, place, i < n, begin + count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, EXPERTS
    )  # fmt: skip
