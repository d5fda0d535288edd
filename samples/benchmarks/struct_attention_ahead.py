"""Attention as sample 12 makes it, but that the first scores of a tile are computed beside the tile before.

The product of queries and keys that begins a tile runs behind that of the last weights and values of the tile before
it, and the tile before is written when its first weights are there: nothing waits for tensor cores between tiles. Two
tiles' queries lie in shared memory for it. The order of tiles is static.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

sample = common.load("tle_struct/12_attention.py")
tile_of, steps_of = sample.tile_of, sample.steps_of


@triton.jit
def produce(
    q_desc, k_desc, v_desc, q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, heads, queries, keys,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, SLOTS: tl.constexpr, CAUSAL: tl.constexpr,
    SECTION: tl.constexpr,
):  # fmt: skip
    """Copy what the program's tiles need, in the order in which it is used: keys are a step ahead of values."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles = tl.cdiv(queries, BLOCK_M)
    number, turn, step = tl.program_id(0), 0, 0
    row = 0  # of the values that are still to come
    while number < tiles * heads:
        tile, head = tile_of(number, tiles, heads, CAUSAL, SECTION)
        steps = steps_of(tile, keys, BLOCK_M, BLOCK_N, CAUSAL)
        last = head * keys + (steps - 1) * BLOCK_N  # walked backwards
        tle.gpu.barrier_wait(k_empty[step % SLOTS], step // SLOTS)
        tle.gpu.copy(k_desc, k[step % SLOTS], [BLOCK_N, DIM], offsets=[last, 0], barrier=k_full[step % SLOTS])
        for group in tl.static_range(2):
            mine = turn % 2 * 2 + group
            first = head * queries + tile * BLOCK_M + group * ROWS
            tle.gpu.barrier_wait(q_empty[mine], turn // 2)
            tle.gpu.copy(q_desc, q[mine], [ROWS, DIM], offsets=[first, 0], barrier=q_full[mine])
        number = tle.gpu.next_tile(order, turn, tiles * heads)
        for n in range(steps):
            slot, before = (step + n) % SLOTS, (step + n - 1) % SLOTS
            if n > 0:
                tle.gpu.barrier_wait(k_empty[slot], (step + n) // SLOTS)
                at = [last - n * BLOCK_N, 0]
                tle.gpu.copy(k_desc, k[slot], [BLOCK_N, DIM], offsets=at, barrier=k_full[slot])
            if step + n > 0:
                tle.gpu.barrier_wait(v_empty[before], (step + n - 1) // SLOTS)
                tle.gpu.copy(v_desc, v[before], [BLOCK_N, DIM], offsets=[row, 0], barrier=v_full[before])
            row = last - n * BLOCK_N
        turn += 1
        step += steps
    if step > 0:
        slot = (step - 1) % SLOTS
        tle.gpu.barrier_wait(v_empty[slot], (step - 1) // SLOTS)
        tle.gpu.copy(v_desc, v[slot], [BLOCK_N, DIM], offsets=[row, 0], barrier=v_full[slot])


@triton.jit
def first_weights(
    s, tile, keys, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, GROUP: tl.constexpr
):
    """Of a tile's last keys, which come first and which not all rows see: weights, the largest scores, sums."""
    rows = tile * BLOCK_M + GROUP * (BLOCK_M // 2) + tl.arange(0, BLOCK_M // 2)
    columns = (steps_of(tile, keys, BLOCK_M, BLOCK_N, CAUSAL) - 1) * BLOCK_N + tl.arange(0, BLOCK_N)
    seen = columns[None, :] < keys
    if CAUSAL:
        seen = seen & (columns[None, :] <= rows[:, None])
    s = tl.where(seen, s, float("-inf"))
    largest = tl.max(s, 1) * scale
    weights = tl.math.exp2(s * scale - largest[:, None])
    return weights, largest, tl.sum(weights, 1)


@triton.jit
def consume(
    q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, turns, o_ptr, lse_ptr, heads, queries, keys,
    scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, SLOTS: tl.constexpr, CAUSAL: tl.constexpr,
    SECTION: tl.constexpr, TURNS: tl.constexpr, BEHIND: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """The rows of one group. Weights are 2 to the power of ``scale`` times products, less the largest of a row.

    The first scores of a tile are computed while the last weights of the tile before are multiplied; behind the last
    tile such a product is made of what lies in the buffers, and its result not used.
    """
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles = tl.cdiv(queries, BLOCK_M)
    number, step = tl.program_id(0), 0
    tile, head = tile_of(number, tiles, heads, CAUSAL, SECTION)
    if TURNS and GROUP == 1:
        tle.gpu.barrier_arrive(turns[0])  # group 0 begins
    tle.gpu.barrier_wait(q_full[GROUP], 0)
    tle.gpu.barrier_wait(k_full[0], 0)
    if TURNS:
        tle.gpu.barrier_wait(turns[GROUP])
    s = tle.gpu.wgmma(q[GROUP], k[0], trans_b=True)
    if TURNS:
        tle.gpu.barrier_arrive(turns[1 - GROUP])
    s = tle.gpu.wgmma_wait(0, s)
    tle.gpu.barrier_arrive(k_empty[0], 1, 0)
    weights, largest, total = first_weights(s, tile, keys, scale, BLOCK_M, BLOCK_N, CAUSAL, GROUP)
    p = weights.to(q.dtype)

    # Tensors that a loop of unknown length carries are more than Triton 3.6 can lay out.
    programs = tl.num_programs(0)
    rounds = tiles * heads // programs
    place = tl.where(rounds % 2 == 0, tl.program_id(0), programs - 1 - tl.program_id(0))
    for turn in range(rounds + (place < tiles * heads % programs).to(tl.int32)):
        mine = turn % 2 * 2 + GROUP
        steps = steps_of(tile, keys, BLOCK_M, BLOCK_N, CAUSAL)
        acc = tl.zeros((ROWS, DIM), tl.float32)
        for n in range(1, steps):
            slot, before = (step + n) % SLOTS, (step + n - 1) % SLOTS
            tle.gpu.barrier_wait(k_full[slot], (step + n) // SLOTS)
            if TURNS:
                tle.gpu.barrier_wait(turns[GROUP])
            s = tle.gpu.wgmma(q[mine], k[slot], trans_b=True)
            tle.gpu.barrier_wait(v_full[before], (step + n - 1) // SLOTS)
            acc = tle.gpu.wgmma(p, v[before], acc)
            if TURNS:
                tle.gpu.barrier_arrive(turns[1 - GROUP])
            s = tle.gpu.wgmma_wait(1, s)  # the scores are there, the values are under way
            tle.gpu.barrier_arrive(k_empty[slot], 1, (step + n) // SLOTS)
            now = tl.maximum(largest, tl.max(s, 1) * scale)
            weights = tl.math.exp2(s * scale - now[:, None])
            shrink = tl.math.exp2(largest - now)
            total = total * shrink + tl.sum(weights, 1)
            largest = now
            acc = tle.gpu.wgmma_wait(0, acc, behind=total if BEHIND else None)
            tle.gpu.barrier_arrive(v_empty[before], 1, (step + n - 1) // SLOTS)
            acc = acc * shrink[:, None]
            p = weights.to(q.dtype)
        tle.gpu.barrier_arrive(q_empty[mine], 1, turn // 2)

        number = tle.gpu.next_tile(order, turn, tiles * heads)
        has_next = number < tiles * heads
        next_tile, next_head = tile_of(tl.minimum(number, tiles * heads - 1), tiles, heads, CAUSAL, SECTION)
        step += steps
        following, slot, before = (turn + 1) % 2 * 2 + GROUP, step % SLOTS, (step - 1) % SLOTS
        if has_next:
            tle.gpu.barrier_wait(q_full[following], (turn + 1) // 2)
            tle.gpu.barrier_wait(k_full[slot], step // SLOTS)
        if TURNS:
            tle.gpu.barrier_wait(turns[GROUP])
        s = tle.gpu.wgmma(q[following], k[slot], trans_b=True)
        tle.gpu.barrier_wait(v_full[before], (step - 1) // SLOTS)
        acc = tle.gpu.wgmma(p, v[before], acc)
        if TURNS:
            tle.gpu.barrier_arrive(turns[1 - GROUP])
        s = tle.gpu.wgmma_wait(1, s)
        if has_next:
            tle.gpu.barrier_arrive(k_empty[slot], 1, step // SLOTS)
        weights, next_largest, next_total = first_weights(s, next_tile, keys, scale, BLOCK_M, BLOCK_N, CAUSAL, GROUP)
        p = weights.to(q.dtype)
        acc = tle.gpu.wgmma_wait(0, acc, behind=next_total if BEHIND else None)
        tle.gpu.barrier_arrive(v_empty[before], 1, (step - 1) // SLOTS)

        rows = tile * BLOCK_M + GROUP * ROWS + tl.arange(0, ROWS)
        at = (head * queries + rows)[:, None] * DIM + tl.arange(0, DIM)[None, :]
        is_row = rows < queries
        tl.store(o_ptr + at, (acc * (1 / total)[:, None]).to(q.dtype), mask=is_row[:, None])
        tl.store(lse_ptr + head * queries + rows, (largest + tl.math.log2(total)) * 0.6931471805599453, mask=is_row)
        tile, head, largest, total = next_tile, next_head, next_largest, next_total
    if TURNS and GROUP == 0:
        tle.gpu.barrier_wait(turns[0])  # the other group's last arrival


@triton.jit
def attention(
    q_desc, k_desc, v_desc, o_ptr, lse_ptr, heads, queries, keys, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, SLOTS: tl.constexpr, CAUSAL: tl.constexpr,
    SECTION: tl.constexpr, TURNS: tl.constexpr, BEHIND: tl.constexpr, REGISTERS: tl.constexpr,
):  # fmt: skip
    """``softmax(q @ k.T * scale / log2(e)) @ v`` of each head: q and o are [heads * queries, DIM], k and v of keys.

    With CAUSAL row i sees keys 0 to i. ``lse`` gets the logarithm of each row's sum.
    """
    tl.static_assert(not CAUSAL or BLOCK_N % BLOCK_M == 0, "the last tile of keys holds one that each row sees")
    q = tle.gpu.alloc([4, BLOCK_M // 2, DIM], dtype=q_desc.dtype)  # of two tiles, for both groups
    k = tle.gpu.alloc([SLOTS, BLOCK_N, DIM], dtype=k_desc.dtype)
    v = tle.gpu.alloc([SLOTS, BLOCK_N, DIM], dtype=v_desc.dtype)
    size: tl.constexpr = q_desc.dtype.primitive_bitwidth // 8
    q_full = tle.gpu.alloc_barriers(4, expect_bytes=BLOCK_M // 2 * DIM * size)
    q_empty = tle.gpu.alloc_barriers(4, init=tle.gpu.READY)
    k_full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=BLOCK_N * DIM * size)
    k_empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, init=tle.gpu.READY)
    v_full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=BLOCK_N * DIM * size)
    v_empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, init=tle.gpu.READY)
    order = tle.gpu.alloc_tile_scheduler()
    turns = tle.gpu.alloc_barriers(2, arrive_count=256)  # threads of both groups
    tle.gpu.warp_specialize(
        (
            (consume, (
                q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, turns, o_ptr, lse_ptr, heads,
                queries, keys, scale, BLOCK_M, BLOCK_N, DIM, SLOTS, CAUSAL, SECTION, TURNS, BEHIND, 0,
            )),
            (consume, (
                q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, turns, o_ptr, lse_ptr, heads,
                queries, keys, scale, BLOCK_M, BLOCK_N, DIM, SLOTS, CAUSAL, SECTION, TURNS, BEHIND, 1,
            )),
            (produce, (
                q_desc, k_desc, v_desc, q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, heads,
                queries, keys, BLOCK_M, BLOCK_N, DIM, SLOTS, CAUSAL, SECTION,
            )),
        ),
        worker_num_warps=(4, 1),
        worker_num_regs=(REGISTERS, 24),
    )  # fmt: skip


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "SLOTS": 2, "SECTION": 64, "TURNS": True, "BEHIND": False}
BLOCKS |= {"REGISTERS": 240}


def launch(q, k, v, causal: bool, programs: int, blocks=BLOCKS):
    """Attention of q [batch, heads, queries, dim] and its like: the kernel, what it gives and the sums' logarithms."""
    import torch

    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    o, lse = torch.empty_like(q), torch.empty(q.shape[:3], device=q.device, dtype=torch.float32)
    rows = blocks["BLOCK_M"] // 2, blocks["BLOCK_N"], blocks["BLOCK_N"]
    tiles = [
        TensorDescriptor(x.reshape(-1, dim), [x.numel() // dim, dim], [dim, 1], [count, dim])
        for x, count in zip((q, k, v), rows)
    ]
    count = triton.cdiv(queries, blocks["BLOCK_M"]) * batch * heads
    kernel = attention[(min(programs, count),)](
        *(*tiles, o, lse, batch * heads, queries, keys, dim**-0.5 * 1.4426950408889634),
        **(blocks | {"DIM": dim, "CAUSAL": causal}),
        num_warps=4,
    )
    return kernel, o, lse
