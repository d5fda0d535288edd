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
def moe_align(
    experts_ptr, sorted_ptr, block_experts_ptr, total_ptr, n,
    EXPERTS: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """Entry i of ``experts`` is the expert of pair i of tokens and choices.

    ``sorted`` gets the numbers of the pairs, those of one expert together, each expert's filled up with ``n`` to whole
    blocks of SIZE; ``block_experts`` the expert of each block; ``total`` how many entries of ``sorted`` there are.
    One program does it: EXPERTS and GROUPS are powers of two, and no expert has more than GROUPS blocks.
    """
    lane, expert = tl.arange(0, CHUNK), tl.arange(0, EXPERTS)
    counts = tle.gpu.alloc([EXPERTS], tl.int32, init_value=0)
    for start in range(0, n, CHUNK):
        i = start + lane
        chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
        tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1, mask=i < n)
    count = tl.load(tle.gpu.local_ptr(counts))
    blocks = (count + SIZE - 1) // SIZE
    end = tl.cumsum(blocks, 0)
    begin = end - blocks
    tl.store(total_ptr, tl.sum(blocks, 0) * SIZE)
    group = tl.arange(0, GROUPS)
    for first in range(0, tl.max(blocks, 0), GROUPS):
        number = first + group[None, :]
        tl.store(
            block_experts_ptr + begin[:, None] + number,
            tl.broadcast_to(expert[:, None], (EXPERTS, GROUPS)),
            mask=number < blocks[:, None],
        )
    filled = tl.arange(0, SIZE)[None, :]  # behind an expert's last pair
    tl.store(sorted_ptr + (begin * SIZE + count)[:, None] + filled, n, mask=filled < (blocks * SIZE - count)[:, None])
    counts.store(begin * SIZE)  # from here on the place of the next pair of each expert
    for start in range(0, n, CHUNK):
        i = start + lane
        chosen = tl.load(experts_ptr + i, mask=i < n, other=0)
        place = tl.atomic_add(tle.gpu.local_ptr(counts, (chosen,)), 1, mask=i < n)
        tl.store(sorted_ptr + place, i, mask=i < n)


def launch(experts, count, size):
    import torch

    n = experts.numel()
    blocks = n // size + min(n, count)
    order, of_blocks = (
        torch.full((entries,), -1, dtype=torch.int32, device=experts.device) for entries in (blocks * size, blocks)
    )
    total = torch.zeros(1, dtype=torch.int32, device=experts.device)
    chunk = min(8192, max(256, triton.next_power_of_2(n)))
    kernel = moe_align[(1,)](
        experts, order, of_blocks, total, n,
        EXPERTS=triton.next_power_of_2(count), SIZE=size, CHUNK=chunk, GROUPS=8, num_warps=min(32, chunk // 64),
    )  # fmt: skip
    return kernel, order, of_blocks, total


def compile_for(target):
    types = dict.fromkeys(("experts_ptr", "sorted_ptr", "block_experts_ptr", "total_ptr"), "*i32") | {"n": "i32"}
    constants = {"EXPERTS": 64, "SIZE": 64, "CHUNK": 4096, "GROUPS": 8}
    return [common.compile_ahead(moe_align, target, types, constants, num_warps=16)]


def check():
    import torch

    cases = common.sizes(
        gpu=((1, 8, 8, 16), (4096, 8, 64, 64), (8192, 8, 256, 128), (16_384, 2, 8, 32)), cpu=((37, 2, 8, 16),)
    )
    for tokens, choices, count, size in cases:
        experts = torch.rand(tokens, count).topk(choices).indices.to(torch.int32).reshape(-1).to(common.device())
        kernel, order, of_blocks, total = launch(experts, count, size)
        per_expert = torch.bincount(experts, minlength=count)
        blocks = (per_expert + size - 1) // size
        want = torch.repeat_interleave(torch.arange(count, device=experts.device), blocks)
        what = f"{tokens} × {choices} of {count}, blocks of {size}"
        yield kernel, common.compare(f"{what}: total", total, (blocks.sum() * size)[None])
        yield kernel, common.compare(f"{what}: experts", of_blocks[: want.numel()], want)
        entries = order[: want.numel() * size].long()
        pairs = entries[entries < experts.numel()]
        every = torch.arange(experts.numel(), device=experts.device)
        yield kernel, common.compare(f"{what}: each pair once", pairs.sort().values, every)
        of_entries = torch.cat([experts, experts.new_full((1,), -1)])[entries].reshape(-1, size)
        strange = (of_entries != want[:, None]) & (of_entries >= 0)
        yield kernel, common.compare(f"{what}: in order", strange.sum()[None], torch.zeros(1, device=experts.device))


if __name__ == "__main__":
    sys.exit(common.main("07 tokens in the order of their experts", compile_for, check))
