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
def fill_expert(
    sorted_ptr, block_experts_ptr, expert, count, begin, n, SIZE: tl.constexpr, GROUPS: tl.constexpr
):  # fmt: skip
    """For an expert's ``count`` pairs, from block ``begin`` on: whose the blocks are, and what is behind the last."""
    blocks = tl.cdiv(count, SIZE)
    for first in range(0, blocks, GROUPS):
        number = first + tl.arange(0, GROUPS)
        tl.store(block_experts_ptr + begin + number, expert, mask=number < blocks)
    behind = count + tl.arange(0, SIZE)
    tl.store(sorted_ptr + begin * SIZE + behind, n, mask=behind < blocks * SIZE)


@triton.jit
def moe_align(
    experts_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """Entry i of ``experts`` is the expert of pair i of tokens and choices.

    ``sorted`` gets the numbers of the pairs, those of one expert together, each expert's filled up with ``n`` to whole
    blocks of SIZE; ``block_experts`` the expert of each block; ``total`` how many entries of ``sorted`` there are.
    One program does it, and has all pairs in its registers: n is at most CHUNK. EXPERTS is a power of two.
    """
    i, expert, group = tl.arange(0, CHUNK), tl.arange(0, EXPERTS), tl.arange(0, GROUPS)
    counts = tle.gpu.alloc([EXPERTS], tl.int32, init_value=0)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    place = tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1, mask=i < n)  # among those of the expert
    count = tl.load(tle.gpu.local_ptr(counts))
    blocks = (count + SIZE - 1) // SIZE
    end = tl.cumsum(blocks, 0)
    begin = end - blocks
    counts.store(begin * SIZE)
    tl.store(sorted_ptr + tl.load(tle.gpu.local_ptr(counts, (chosen,))) + place, i, mask=i < n)
    tl.store(total_ptr, tl.sum(blocks, 0) * SIZE)
    for first in range(0, tl.max(blocks, 0), GROUPS):
        number = first + group[None, :]
        tl.store(
            block_experts_ptr + begin[:, None] + number,
            tl.broadcast_to(expert[:, None], (EXPERTS, GROUPS)),
            mask=number < blocks[:, None],
        )
    filled = tl.arange(0, SIZE)[None, :]  # behind an expert's last pair
    tl.store(sorted_ptr + (begin * SIZE + count)[:, None] + filled, n, mask=filled < (blocks * SIZE - count)[:, None])


@triton.jit
def count_pairs(experts_ptr, counts_ptr, places_ptr, n, EXPERTS: tl.constexpr, CHUNK: tl.constexpr):
    """``places``: of each pair the place among those of its expert. ``counts`` gets how many each expert has.

    A program counts CHUNK pairs, and takes places for all of them by one atomic operation for each expert.
    """
    i = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    counts = tle.gpu.alloc([EXPERTS], tl.int32, init_value=0)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    place = tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1, mask=i < n)
    count = tl.load(tle.gpu.local_ptr(counts))
    counts.store(tl.atomic_add(counts_ptr + tl.arange(0, EXPERTS), count, mask=count > 0, sem="relaxed"))
    tl.store(places_ptr + i, tl.load(tle.gpu.local_ptr(counts, (chosen,))) + place, mask=i < n)


@triton.jit
def place_pairs(
    experts_ptr, counts_ptr, places_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """The results of ``moe_align`` from those of ``count_pairs``. The program that comes last leaves ``counts``, and
    the number of programs behind it, at 0 for the next launch.
    """
    expert = tl.arange(0, EXPERTS)
    count = tl.load(counts_ptr + expert)
    tl.debug_barrier()
    if tl.atomic_add(counts_ptr + EXPERTS, 1, sem="acq_rel") == tl.num_programs(0) - 1:
        tl.store(counts_ptr + expert, 0)
        tl.store(counts_ptr + EXPERTS, 0)
    blocks = (count + SIZE - 1) // SIZE
    begin = tl.cumsum(blocks, 0) - blocks
    begins = tle.gpu.alloc([EXPERTS], tl.int32)
    begins.store(begin)
    i = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
    place = tl.load(places_ptr + i, mask=i < n, other=0)
    tl.store(sorted_ptr + tl.load(tle.gpu.local_ptr(begins, (chosen,))) * SIZE + place, i, mask=i < n)
    for own in range(tl.program_id(0), EXPERTS, tl.num_programs(0)):
        own_count = tl.sum(tl.where(expert == own, count, 0), 0)
        own_begin = tl.load(tle.gpu.local_ptr(begins, (own,)))
        fill_expert(sorted_ptr, block_experts_ptr, own, own_count, own_begin, n, SIZE, GROUPS)
    if tl.program_id(0) == 0:
        tl.store(total_ptr, tl.sum(blocks, 0) * SIZE)


def results(experts, count, size):
    """Places for the sorted pairs, the experts of the blocks and the total, as many as there can be."""
    import torch

    n = experts.numel()
    blocks = n // size + min(n, count)
    entries = blocks * size, blocks, 1
    return [torch.full((length,), -1, dtype=torch.int32, device=experts.device) for length in entries]


def workspace(experts, count):
    """What several programs need beside the results: counts, 0 between launches, and places."""
    import torch

    counts = torch.zeros(triton.next_power_of_2(count) + 1, dtype=torch.int32, device=experts.device)
    return counts, torch.empty_like(experts)


def launch(experts, count, size, chunk=8192, warps=32, out=None, space=None):
    """By one program if it can have all pairs, else by one for each ``chunk`` of them."""
    n = experts.numel()
    out = out or results(experts, count, size)
    chunk = min(chunk, max(256, triton.next_power_of_2(n)))
    sizes = {"EXPERTS": triton.next_power_of_2(count), "CHUNK": chunk, "num_warps": min(warps, chunk // 64)}
    if n <= chunk:
        return moe_align[(1,)](experts, *out, n, SIZE=size, GROUPS=8, **sizes), *out
    counts, places = space or workspace(experts, count)
    grid = (triton.cdiv(n, chunk),)
    count_pairs[grid](experts, counts, places, n, **sizes)
    return place_pairs[grid](experts, counts, places, *out, n, SIZE=size, GROUPS=128, **sizes), *out


def compile_for(target):
    results = dict.fromkeys(("experts_ptr", "sorted_ptr", "block_experts_ptr", "total_ptr"), "*i32") | {"n": "i32"}
    constants = {"EXPERTS": 256, "SIZE": 64, "CHUNK": 4096, "GROUPS": 8}
    yield common.compile_ahead(moe_align, target, results, constants, num_warps=16)
    counted = {"experts_ptr": "*i32", "counts_ptr": "*i32", "places_ptr": "*i32", "n": "i32"}
    yield common.compile_ahead(count_pairs, target, counted, {"EXPERTS": 256, "CHUNK": 4096}, num_warps=16)
    yield common.compile_ahead(place_pairs, target, results | counted, constants | {"GROUPS": 128}, num_warps=16)


def check():
    import torch

    cases = common.sizes(
        gpu=((1, 8, 8, 16), (1024, 8, 64, 64), (8192, 8, 256, 128), (16_384, 2, 8, 32)),
        cpu=((37, 2, 8, 16), (300, 2, 8, 16)),
    )
    for tokens, choices, count, size in cases:
        experts = torch.rand(tokens, count).topk(choices).indices.to(torch.int32).reshape(-1).to(common.device())
        space = workspace(experts, count)
        for chunk in (8192, 256):
            kernel, order, of_blocks, total = launch(experts, count, size, chunk, space=space)
            what = f"{tokens} × {choices} of {count}, blocks of {size}, {chunk} a program"
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
