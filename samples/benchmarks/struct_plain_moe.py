"""Tokens in the order of their experts in plain Triton: what the kernels of sample 07 are compared with."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def fill_experts(
    sorted_ptr, block_experts_ptr, count, begin, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, OWN: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """For the program's OWN experts: whose their blocks are, and what is behind their pairs."""
    own = tl.program_id(0) * OWN + tl.arange(0, OWN)
    count = tl.where(own < EXPERTS, tl.gather(count, tl.minimum(own, EXPERTS - 1), 0), 0)
    begin = tl.gather(begin, tl.minimum(own, EXPERTS - 1), 0)
    blocks = tl.cdiv(count, SIZE)
    for first in range(0, tl.max(blocks, 0), GROUPS):
        number = first + tl.arange(0, GROUPS)[None, :]
        expert = tl.broadcast_to(own[:, None], (OWN, GROUPS))
        tl.store(block_experts_ptr + begin[:, None] + number, expert, mask=number < blocks[:, None])
    behind = count[:, None] + tl.arange(0, SIZE)[None, :]
    tl.store(sorted_ptr + begin[:, None] * SIZE + behind, n, mask=behind < blocks[:, None] * SIZE)


@triton.jit
def rank_pairs(
    experts_ptr, counts_ptr, begins_ptr, places_ptr, n,
    EXPERTS: tl.constexpr, CHUNK: tl.constexpr, STRIDE: tl.constexpr, SORT: tl.constexpr, DEPENDENT: tl.constexpr,
):  # fmt: skip
    """``places``: of each pair the place among those of its expert. ``counts[expert * STRIDE]``: how many there are.

    By an atomic operation for each pair; with SORT by a sort of the program's pairs, and one for each expert. The
    counts go on from launch to launch: rows of ``begins`` are those when this launch began, and when the next one will.
    DEPENDENT: the next launch may begin meanwhile.
    """
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
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, OWN: tl.constexpr, GROUPS: tl.constexpr,
    STRIDE: tl.constexpr, DEPENDENT: tl.constexpr,
):  # fmt: skip
    """Behind ``rank_pairs``."""
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
    begin = tl.cumsum(blocks, 0) - blocks
    tl.store(sorted_ptr + tl.gather(begin * SIZE - before, chosen, 0) + place, i, mask=i < n)
    fill_experts(sorted_ptr, block_experts_ptr, count, begin, n, EXPERTS, SIZE, OWN, GROUPS)
    if tl.program_id(0) == 0:
        tl.store(total_ptr, tl.sum(blocks, 0) * SIZE)


@triton.jit
def align_alone(
    experts_ptr, counts_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, GROUPS: tl.constexpr, STRIDE: tl.constexpr,
):  # fmt: skip
    """All of it in one program, which has the pairs in its registers: n is at most CHUNK. ``counts`` are left at 0."""
    i, expert, group = tl.arange(0, CHUNK), tl.arange(0, EXPERTS), tl.arange(0, GROUPS)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    place = tl.atomic_add(counts_ptr + chosen * STRIDE, 1, mask=i < n, sem="relaxed")
    tl.debug_barrier()
    count = tl.load(counts_ptr + expert * STRIDE, cache_modifier=".cg")
    tl.debug_barrier()
    tl.store(counts_ptr + expert * STRIDE, 0)
    blocks = (count + SIZE - 1) // SIZE
    begin = tl.cumsum(blocks, 0) - blocks
    tl.store(sorted_ptr + tl.gather(begin, chosen, 0) * SIZE + place, i, mask=i < n)
    tl.store(total_ptr, tl.sum(blocks, 0) * SIZE)
    for first in range(0, tl.max(blocks, 0), GROUPS):
        number = first + group[None, :]
        tl.store(
            block_experts_ptr + begin[:, None] + number,
            tl.broadcast_to(expert[:, None], (EXPERTS, GROUPS)),
            mask=number < blocks[:, None],
        )
    filled = tl.arange(0, SIZE)[None, :]
    tl.store(sorted_ptr + (begin * SIZE + count)[:, None] + filled, n, mask=filled < (blocks * SIZE - count)[:, None])
