"""Sample 07: tokens in the order of their experts, in whole blocks. Counts, starts and places are in shared memory."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def rank_pairs(chosen, mask, EXPERTS: tl.constexpr):
    """Of each of the program's pairs, its place among those of its expert; and how many those are."""
    counts = tle.gpu.alloc([EXPERTS], tl.int32, init_value=0)
    rank = tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1, mask=mask)
    return rank, tl.load(tle.gpu.local_ptr(counts))


@triton.jit
def place_pairs(
    chosen, rank, i, before, count, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, OWN: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Write pairs ``i``, whose experts are ``chosen``, and for OWN experts what is behind their pairs.

    Of each expert's ``count`` pairs, ``before`` are other programs' and come before these; it has WIDE entries, of
    which the first are experts. The pair that begins a block says whose it is.
    """
    blocks = (count + SIZE - 1) // SIZE
    end = tl.cumsum(blocks, 0)
    begins, ends, befores = (
        tle.gpu.alloc([EXPERTS], tl.int32), tle.gpu.alloc([EXPERTS], tl.int32), tle.gpu.alloc([EXPERTS], tl.int32)
    )  # fmt: skip
    begin = (end - blocks) * SIZE
    begins.store(begin)
    ends.store(begin + count)
    wide = tl.arange(0, WIDE)
    tl.store(tle.gpu.local_ptr(befores, (wide,)), before, mask=wide < EXPERTS)
    place = tl.load(tle.gpu.local_ptr(befores, (chosen,))) + tl.load(tle.gpu.local_ptr(begins, (chosen,))) + rank
    tl.store(sorted_ptr + place, i, mask=i < n)
    tl.store(block_experts_ptr + place // SIZE, chosen, mask=(i < n) & (place % SIZE == 0))
    own = tl.program_id(0) * OWN + tl.arange(0, OWN)
    behind = tl.load(tle.gpu.local_ptr(ends, (own,)), mask=own < EXPERTS, other=0)[:, None]
    filled = behind + tl.arange(0, SIZE)[None, :]
    tl.store(sorted_ptr + filled, n, mask=filled < (behind + SIZE - 1) // SIZE * SIZE)
    expert = tl.arange(0, EXPERTS)
    is_last = (expert == EXPERTS - 1) & (tl.program_id(0) == 0)
    tl.store(total_ptr + tl.zeros_like(expert), end * SIZE, mask=is_last)


@triton.jit
def moe_align(
    experts_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, TILE: tl.constexpr, OWN: tl.constexpr,
    CHAINED: tl.constexpr,
):  # fmt: skip
    """Entry i of ``experts`` is the expert of pair i of tokens and choices.

    ``sorted`` gets the numbers of the pairs, those of one expert together, each expert's filled up with ``n`` to whole
    blocks of SIZE; ``block_experts`` the expert of each block; ``total`` how many entries of ``sorted`` there are.
    Each program counts all pairs, TILE at a time, and places CHUNK of them: few pairs are counted in less time than
    programs wait for each other. EXPERTS is a power of two, and OWN such that all programs together have EXPERTS.
    CHAINED: it begins while the launch before it may still run, and so may the next one meanwhile.
    """
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    begin, expert = tl.program_id(0) * CHUNK, tl.arange(0, EXPERTS)
    i = begin + tl.arange(0, CHUNK)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    rank, count = rank_pairs(chosen, i < n, EXPERTS)
    counts = tle.gpu.alloc([2 * EXPERTS], tl.int32, init_value=0)  # of pairs before the own ones, and behind them
    for start in range(0, n, TILE):
        pair = start + tl.arange(0, TILE)
        row = (pair >= begin).to(tl.int32) * EXPERTS
        each = tl.load(experts_ptr + pair, mask=pair < n, other=0)
        others = (pair < n) & ((pair < begin) | (pair >= begin + CHUNK))
        tl.atomic_add(tle.gpu.local_ptr(counts, (row + each,)), 1, mask=others)
    before = tl.load(tle.gpu.local_ptr(counts, (expert,)))
    count += before + tl.load(tle.gpu.local_ptr(counts, (expert + EXPERTS,)))
    place_pairs(
        chosen, rank, i, before, count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN, EXPERTS
    )  # fmt: skip


@triton.jit
def count_chunks(
    experts_ptr, table_ptr, counters_ptr, n,
    EXPERTS: tl.constexpr, CHUNK: tl.constexpr, ADDED: tl.constexpr, DEPENDENT: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """``table``, a row for each program: how many of its CHUNK pairs each expert has. ADDED: ``counters`` instead.

    The rows of ``counters``, an entry for each expert, count on from launch to launch: pairs that were counted, pairs
    that were placed; and how many there were when this launch began, and when the next one will.
    DEPENDENT: the next launch may begin meanwhile. CHAINED: this one begins while the one before it may still run.
    """
    if CHAINED:
        tl.extra.cuda.gdc_wait()
    if DEPENDENT:  # not before the wait: the next one reads ``experts`` at once
        tl.extra.cuda.gdc_launch_dependents()
    expert, i = tl.arange(0, EXPERTS), tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    _, count = rank_pairs(chosen, i < n, EXPERTS)
    if ADDED:
        tl.atomic_add(counters_ptr + expert, count, mask=count > 0, sem="relaxed")
        if tl.program_id(0) == 0:
            tl.store(counters_ptr + 2 * EXPERTS + expert, tl.load(counters_ptr + 3 * EXPERTS + expert))
    else:
        tl.store(table_ptr + tl.program_id(0) * EXPERTS + expert, count.to(tl.int16))


@triton.jit
def both_sums(a, b, c, d):
    return a + c, b + d


@triton.jit
def place_chunks(
    experts_ptr, table_ptr, counters_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, ROWS: tl.constexpr, OWN: tl.constexpr,
    WIDE: tl.constexpr, ADDED: tl.constexpr, DEPENDENT: tl.constexpr, CHAINED: tl.constexpr,
):  # fmt: skip
    """The results of ``moe_align`` behind ``count_chunks``, whose table is read ROWS rows at a time, unless ADDED.

    What needs no counts of others is done before the wait for them. CHAINED: the next launch may begin meanwhile.
    """
    if CHAINED:
        tl.extra.cuda.gdc_launch_dependents()
    expert, i = tl.arange(0, EXPERTS), tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    wide = tl.arange(0, WIDE)  # one for each thread: none adds what another has added
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    counts = tle.gpu.alloc([EXPERTS], tl.int32, init_value=0)
    rank = tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1, mask=i < n)
    own = tl.load(tle.gpu.local_ptr(counts, (wide,)), mask=wide < EXPERTS, other=0)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    if ADDED:
        counted, placed = counters_ptr + expert, counters_ptr + EXPERTS + wide
        before = tl.atomic_add(placed, own, mask=own > 0, sem="relaxed")
        begin = tl.load(counters_ptr + 2 * EXPERTS + expert)
        all_ = tl.load(counted)
        count = all_ - begin
        before -= tl.load(counters_ptr + 2 * EXPERTS + wide, mask=wide < EXPERTS, other=0)
        if tl.program_id(0) == 0:
            tl.store(counters_ptr + 3 * EXPERTS + expert, all_)
        place_pairs(
            chosen, rank, i, before, count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN, WIDE
        )  # fmt: skip
    else:
        before, count = tl.zeros((EXPERTS,), tl.int32), tl.zeros((EXPERTS,), tl.int32)
        for first in range(0, tl.num_programs(0), ROWS):
            row = first + tl.arange(0, ROWS)[:, None]
            in_table = row < tl.num_programs(0)
            counts_ = tl.load(table_ptr + row * EXPERTS + expert[None, :], mask=in_table, other=0).to(tl.int32)
            earlier, all_ = tl.reduce((tl.where(row < tl.program_id(0), counts_, 0), counts_), 0, both_sums)
            before, count = before + earlier, count + all_
        place_pairs(
            chosen, rank, i, before, count, sorted_ptr, block_experts_ptr, total_ptr, n, EXPERTS, SIZE, OWN, EXPERTS
        )  # fmt: skip


def results(experts, count, size):
    """Places for the sorted pairs, the experts of the blocks and the total, as many as there can be."""
    import torch

    n = experts.numel()
    blocks = n // size + min(n, count)
    entries = blocks * size, blocks, 1
    return [torch.full((length,), -1, dtype=torch.int32, device=experts.device) for length in entries]


def workspace(experts, count, chunk=256):
    """What two launches need beside the results: a row of counts for each ``chunk`` of pairs, and counters."""
    import torch

    width = triton.next_power_of_2(count)
    table = torch.empty((triton.cdiv(experts.numel(), chunk), width), dtype=torch.int16, device=experts.device)
    return table, torch.zeros((4, width), dtype=torch.int32, device=experts.device)


def launch(
    experts, count, size, chunk=512, warps=16, out=None, space=None, launches=None, added=True, dependent=None,
    chained=False,
):  # fmt: skip
    """A program for each ``chunk`` of pairs, in one launch or two: one is the faster way to place up to 8,192.

    ``added``: the first of two adds its counts up, else the second does. ``dependent``: the second begins before the
    first has ended, as GPUs do from Hopper on. ``chained``: the first does so too, behind whatever is launched before.
    """
    n = experts.numel()
    out = out or results(experts, count, size)
    chunk = min(chunk, max(256, triton.next_power_of_2(n)))
    programs, width = triton.cdiv(n, chunk), triton.next_power_of_2(count)
    sizes = {"EXPERTS": width, "CHUNK": chunk, "CHAINED": chained, "num_warps": warps}
    more = {"SIZE": size, "OWN": triton.next_power_of_2(triton.cdiv(width, programs))}
    early = {"launch_pdl": True}
    if (launches or (1 if n <= 8192 else 2)) == 1:
        tile = max(256, min(1024 * warps, triton.next_power_of_2(n)))
        return moe_align[(programs,)](experts, *out, n, TILE=tile, **more, **sizes, **early if chained else {}), *out
    space = workspace(experts, count, chunk) if space is None else space
    more |= {"ROWS": min(128, triton.next_power_of_2(programs)), "WIDE": max(width, 32 * warps)}
    sizes |= {"ADDED": added, "DEPENDENT": has_dependent_launches() if dependent is None else dependent}
    count_chunks[(programs,)](experts, *space, n, **sizes, **early if chained else {})
    early = early if sizes["DEPENDENT"] else {}
    return place_chunks[(programs,)](experts, *space, *out, n, **more, **sizes, **early), *out


def has_dependent_launches():
    target = triton.runtime.driver.active.get_current_target()
    return target.backend == "cuda" and target.arch >= 90


def compile_for(target):
    results = dict.fromkeys(("experts_ptr", "sorted_ptr", "block_experts_ptr", "total_ptr"), "*i32") | {"n": "i32:16"}
    constants = {"EXPERTS": 256, "SIZE": 64, "CHUNK": 512, "OWN": 16, "CHAINED": False}
    yield common.compile_ahead(moe_align, target, results, constants | {"TILE": 8192}, num_warps=16)
    counted = {"experts_ptr": "*i32", "table_ptr": "*i16", "counters_ptr": "*i32", "n": "i32:16"}
    for added in (True, False):
        forms = {"ADDED": added, "DEPENDENT": target in ("cuda:90", "cuda:100"), "CHAINED": False}
        sizes = {"EXPERTS": 256, "CHUNK": 512, **forms}
        yield common.compile_ahead(count_chunks, target, counted, sizes, num_warps=16)
        all_sizes = constants | {"ROWS": 64, "WIDE": 512, **forms}
        yield common.compile_ahead(place_chunks, target, results | counted, all_sizes, num_warps=16)


def check():
    import torch

    cases = common.sizes(
        gpu=((1, 8, 8, 16), (1024, 8, 64, 64), (8192, 8, 256, 128), (16_384, 2, 8, 32)),
        cpu=((37, 2, 8, 16), (300, 2, 8, 16)),
    )
    forms = [
        *((chunk, {"launches": launches}) for launches in (1, 2) for chunk in (1024, 256)),
        (256, {"launches": 2, "added": False}),
    ]
    if has_dependent_launches():
        forms += [(256, {"launches": launches, "chained": True}) for launches in (1, 2)]
    for tokens, choices, count, size in cases:
        experts = torch.rand(tokens, count).topk(choices).indices.to(torch.int32).reshape(-1).to(common.device())
        space = workspace(experts, count)
        for chunk, form in forms:
            kernel, order, of_blocks, total = launch(experts, count, size, chunk, 8, space=space, **form)
            said = ", ".join(f"{name} {value}" for name, value in form.items())
            what = f"{tokens} × {choices} of {count}, blocks of {size}, {chunk} a program, {said}"
            yield from ((kernel, found) for found in wrong(what, experts, count, size, order, of_blocks, total))


def wrong(what, experts, count, size, order, of_blocks, total):
    """The results against what they are to be; pairs of one expert have no order."""
    import torch

    per_expert = torch.bincount(experts, minlength=count)
    blocks = (per_expert + size - 1) // size
    want = torch.repeat_interleave(torch.arange(count, device=experts.device), blocks)
    yield common.compare(f"{what}: total", total, (blocks.sum() * size)[None])
    yield common.compare(f"{what}: experts", of_blocks[: want.numel()], want)
    entries = order[: want.numel() * size].long()
    pairs = entries[entries < experts.numel()]
    every = torch.arange(experts.numel(), device=experts.device)
    yield common.compare(f"{what}: each pair once", pairs.sort().values, every)
    of_entries = torch.cat([experts, experts.new_full((1,), -1)])[entries].reshape(-1, size)
    strange = (of_entries != want[:, None]) & (of_entries >= 0)
    yield common.compare(f"{what}: in order", strange.sum()[None], torch.zeros(1, device=experts.device))


if __name__ == "__main__":
    sys.exit(common.main("07 tokens in the order of their experts", compile_for, check))
