"""Tokens in the order of their experts in plain Triton: what the kernels of sample 07 are compared with."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def fill_blocks(
    chosen, place, mask, end, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, OWN: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """What stands beside the pairs at ``place``: whose blocks are, by the pair that begins one, and the total.

    And what is behind the pairs of OWN experts, whose last ones are before ``end``, of WIDE entries.
    """
    tl.store(block_experts_ptr + place // SIZE, chosen, mask=mask & (place % SIZE == 0))
    own = tl.program_id(0) * OWN + tl.arange(0, OWN)
    behind = tl.gather(end, tl.minimum(own, EXPERTS - 1), 0)[:, None]
    filled = behind + tl.arange(0, SIZE)[None, :]
    tl.store(sorted_ptr + filled, n, mask=(own < EXPERTS)[:, None] & (filled < tl.cdiv(behind, SIZE) * SIZE))
    expert = tl.arange(0, WIDE)
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
        chosen, place, i < n, begin + count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN, EXPERTS
    )  # fmt: skip


@triton.jit
def align_together(
    experts_ptr, counters_ptr, launches_ptr, own_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, OWN: tl.constexpr, WIDE: tl.constexpr,
    APART: tl.constexpr, RANKS: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """In one launch, whose programs wait for each other's counts: a cooperative one, which runs them all at once.

    An expert's counter says how many pairs it has and, from bit 20 on, how many programs have added theirs: what it
    held before is the place of the program's own. Counters of eight experts lie together, APART words from the next
    eight, so that several parts of the cache add. A launch uses one of two rows of counters, and clears the other.
    RANKS: the places of pairs among the program's own are found by a sort ("sorted"), or by an atomic operation for
    each on counters of the program, a row of ``own``, which are left at 0; what these hold then are the program's
    counts ("loaded"), or a histogram says them meanwhile ("counted"). Of WIDE entries each thread has its own.
    """
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    lane, expert = tl.arange(0, CHUNK), tl.arange(0, WIDE)
    is_expert = expert < EXPERTS
    i = tl.program_id(0) * CHUNK + lane
    number = tl.load(launches_ptr)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=EXPERTS - 1)
    at = counters_ptr + expert // 8 * APART + expert % 8
    counter, other = at + number % 2 * (EXPERTS // 8 * APART), at + (number + 1) % 2 * (EXPERTS // 8 * APART)
    owns = own_ptr + tl.program_id(0) * EXPERTS
    if RANKS != "sorted":
        rank = tl.atomic_add(owns + chosen, 1, mask=i < n, sem="relaxed")
    if RANKS == "loaded":
        tl.debug_barrier()
        own = tl.load(owns + expert, mask=is_expert, other=0, cache_modifier=".cg")
    else:
        own = tl.histogram(chosen, WIDE, mask=i < n)
    earlier = tl.atomic_add(counter, own + 2**20, mask=is_expert, sem="relaxed") & (2**20 - 1)
    if RANKS == "sorted":
        first = tl.cumsum(own, 0) - own
        key = tl.sort(tl.where(i < n, chosen, EXPERTS) * CHUNK + lane)
    count = tl.load(counter, mask=is_expert, other=2**31 - 1, volatile=True)
    while tl.min(count, 0) < tl.num_programs(0) * 2**20:
        count = tl.load(counter, mask=is_expert, other=2**31 - 1, volatile=True)
    if tl.program_id(0) == 0:
        tl.store(other, 0, mask=is_expert)
        tl.store(launches_ptr, number + 1)
    count = tl.where(is_expert, count & (2**20 - 1), 0)
    blocks = (count + SIZE - 1) // SIZE
    begin = (tl.cumsum(blocks, 0) - blocks) * SIZE
    if RANKS == "sorted":
        chosen = key // CHUNK
        place = tl.gather(begin + earlier - first, tl.minimum(chosen, EXPERTS - 1), 0) + lane
        mask = chosen < EXPERTS
        tl.store(sorted_ptr + place, tl.program_id(0) * CHUNK + key % CHUNK, mask=mask)
    else:
        place = tl.gather(begin + earlier, chosen, 0) + rank
        mask = i < n
        tl.store(sorted_ptr + place, i, mask=mask)
        tl.debug_barrier()
        tl.store(owns + expert, 0, mask=is_expert)
    fill_blocks(
        chosen, place, mask, begin + count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN, WIDE
    )  # fmt: skip


@triton.jit
def align_each(
    experts_ptr, own_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, TILE: tl.constexpr, OWN: tl.constexpr,
    RANKS: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """In one launch, each program of which counts all pairs, TILE at most. The rest is as in ``align_together``."""
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    lane, expert = tl.arange(0, CHUNK), tl.arange(0, EXPERTS)
    first = tl.program_id(0) * CHUNK
    # Programs begin with chunks of their own: not all read the same lines at once.
    chunk = (tl.arange(0, TILE // CHUNK)[:, None] + tl.program_id(0)) & (TILE // CHUNK - 1)
    pair = chunk * CHUNK + lane[None, :]
    each = tl.load(experts_ptr + pair, mask=pair < n, other=0)
    i = first + lane
    chosen = tl.load(experts_ptr + i, mask=i < n, other=EXPERTS - 1)
    owns = own_ptr + tl.program_id(0) * EXPERTS
    if RANKS != "sorted":
        rank = tl.atomic_add(owns + chosen, 1, mask=i < n, sem="relaxed")
    # Rows of pairs before the program's, of its own, behind them; of none.
    row = (chunk >= tl.program_id(0)).to(tl.int32) + (chunk > tl.program_id(0)).to(tl.int32)
    entry = each + tl.where(pair < n, row, 3) * EXPERTS
    counts = tl.reshape(tl.histogram(tl.reshape(entry, (TILE,), can_reorder=True), 4 * EXPERTS), (4, EXPERTS))
    row = tl.arange(0, 4)[:, None]
    earlier, count = tl.sum(tl.where(row == 0, counts, 0), 0), tl.sum(tl.where(row < 3, counts, 0), 0)
    blocks = (count + SIZE - 1) // SIZE
    begin = (tl.cumsum(blocks, 0) - blocks) * SIZE
    if RANKS == "sorted":
        own = tl.sum(tl.where(row == 1, counts, 0), 0)
        key = tl.sort(tl.where(i < n, chosen, EXPERTS) * CHUNK + lane)
        chosen = key // CHUNK
        mask = chosen < EXPERTS
        base = begin + earlier - (tl.cumsum(own, 0) - own)
        place = tl.gather(base, tl.minimum(chosen, EXPERTS - 1), 0) + lane
        tl.store(sorted_ptr + place, first + key % CHUNK, mask=mask)
    else:
        mask = i < n
        place = tl.gather(begin + earlier, chosen, 0) + rank
        tl.store(sorted_ptr + place, i, mask=mask)
        tl.debug_barrier()
        tl.store(owns + expert, 0)
    fill_blocks(
        chosen, place, mask, begin + count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN, EXPERTS
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
        chosen, place, i < n, begin + count, sorted_ptr, block_experts_ptr, total_ptr, n,
        EXPERTS, SIZE, EXPERTS, EXPERTS,
    )  # fmt: skip
