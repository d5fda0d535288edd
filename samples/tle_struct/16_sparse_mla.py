"""Sample 16: latent attention (MLA) to chosen keys: four warps fetch rows, two groups of four multiply. For sm_90.

Each token attends to keys of its own, of which a list is given. The copy engine does not gather rows, so a group of
four warps copies them by ``cp.async``, 16 bytes a thread at a time; each copy arrives at its slot's barrier when it is
done (``after_copies=True``), and the next ones are begun meanwhile. What multiplies is sample 15's.
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

decode = common.load("tle_struct/15_mla_decode.py")
attend, copy_queries = decode.attend, decode.copy_queries
HEADS, KEYS, LATENT, EXTRA, HALF = decode.HEADS, decode.KEYS, decode.LATENT, decode.EXTRA, decode.HALF


@triton.jit
def keys_of(chosen_ptr, number, pair, slot: tl.constexpr, blocks, count, row, KEYS: tl.constexpr):
    """What is chosen in a slot of a pair; -1 behind the end of the list."""
    place = (2 * pair + slot) * KEYS + row
    return tl.load(chosen_ptr + number // blocks * count + place, mask=place < count, other=-1)


@triton.jit
def gather(
    q_desc, q_extra_desc, kv_ptr, chosen_ptr, q, q_extra, k, extra, bias, q_full, q_empty, k_full, extra_full, empty,
    tokens, heads, keys, count, HEADS: tl.constexpr, KEYS: tl.constexpr, LATENT: tl.constexpr, EXTRA: tl.constexpr,
):  # fmt: skip
    """Copy the queries, and each half of the chosen rows as soon as its place is free.

    What is no key is another one's row, whose bias is -infinity. Lists are loaded a tile ahead.
    """
    HALF: tl.constexpr = LATENT // 2
    blocks, pairs = tl.cdiv(heads, HEADS), tl.cdiv(count, 2 * KEYS)
    row, column, last = tl.arange(0, KEYS), tl.arange(0, HALF)[None, :], LATENT + tl.arange(0, EXTRA)[None, :]
    turn, used, number = 0, 0, tl.program_id(0)
    key = keys_of(chosen_ptr, number, 0, 0, blocks, count, row, KEYS)
    while number < blocks * tokens:
        block, token, now = number % blocks, number // blocks, number
        number += tl.num_programs(0)
        tle.gpu.barrier_wait(q_empty, turn)
        copy_queries(q_desc, q_extra_desc, q, q_extra, q_full, token * heads + block * HEADS, HEADS, LATENT)
        for pair in range(pairs):
            for slot in tl.static_range(2):
                if slot == 0:
                    following = keys_of(chosen_ptr, now, pair, 1, blocks, count, row, KEYS)
                else:
                    is_last = pair + 1 == pairs
                    behind = tl.where(is_last, tl.minimum(number, blocks * tokens - 1), now)
                    following = keys_of(chosen_ptr, behind, tl.where(is_last, 0, pair + 1), 0, blocks, count, row, KEYS)
                source = kv_ptr + tl.minimum(tl.maximum(key, 0), keys - 1).to(tl.int64)[:, None] * (LATENT + EXTRA)
                for half in tl.static_range(2):
                    tle.gpu.barrier_wait(empty[2 * slot + half], used + pair)
                    tle.gpu.copy(source + half * HALF + column, k[2 * slot + half], [KEYS, HALF], is_async=True)
                    tle.gpu.barrier_arrive(k_full[2 * slot + half], 1, used + pair, after_copies=True)
                    if half != slot:  # weights were there for the group of this half
                        tle.gpu.copy(source + last, extra[slot], [KEYS, EXTRA], is_async=True)
                        bias[slot].store(tl.where((key >= 0) & (key < keys), 0.0, float("-inf")))
                        tle.gpu.barrier_arrive(extra_full[slot], 1, used + pair, after_copies=True)
                key = following
        used += pairs
        turn += 1


@triton.jit
def consume(
    q, q_extra, k, extra, bias, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed, summed,
    o_ptr, lse_ptr, tokens, heads, count, scale, HEADS: tl.constexpr, KEYS: tl.constexpr, LATENT: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """One group's columns of all the program's tokens and blocks of heads."""
    blocks, pairs = tl.cdiv(heads, HEADS), tl.cdiv(count, 2 * KEYS)
    turn, used = 0, 0
    number = tl.program_id(0)
    while number < blocks * tokens:
        block, token = number % blocks, number // blocks
        attend(
            q, q_extra, k, k, extra, bias, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed,
            summed, o_ptr, lse_ptr, turn, used, token * heads + block * HEADS, heads - block * HEADS, 0, 0, pairs,
            scale, HEADS, KEYS, LATENT, GROUP,
        )  # fmt: skip
        used += pairs
        turn += 1
        number += tl.num_programs(0)


@triton.jit
def sparse(
    q_desc, q_extra_desc, kv_ptr, chosen_ptr, o_ptr, lse_ptr, tokens, heads, keys, count, scale,
    HEADS: tl.constexpr, KEYS: tl.constexpr, LATENT: tl.constexpr, EXTRA: tl.constexpr,
    REGISTERS: tl.constexpr, GATHER_REGISTERS: tl.constexpr,
):  # fmt: skip
    """``softmax(q @ kv.T * scale / log2(e)) @ kv[:, :LATENT]`` of the chosen rows of kv.

    q is [tokens * heads, LATENT + EXTRA], kv [keys, LATENT + EXTRA], chosen [tokens, count]: numbers of keys; what is
    none, -1 for one, is left out. o is [tokens, heads, LATENT], ``lse`` without the last axis.
    """
    HALF: tl.constexpr = LATENT // 2
    q = tle.gpu.alloc([2, HEADS, HALF], dtype=q_desc.dtype)
    q_extra = tle.gpu.alloc([HEADS, EXTRA], dtype=q_desc.dtype)
    k = tle.gpu.alloc([4, KEYS, HALF], dtype=q_desc.dtype)  # tile and half of columns
    extra = tle.gpu.alloc([2, KEYS, EXTRA], dtype=q_desc.dtype)
    bias = tle.gpu.alloc([2, KEYS], dtype=tl.float32)
    largest = tle.gpu.alloc([2, HEADS], dtype=tl.float32)
    sums = tle.gpu.alloc([2, HEADS], dtype=tl.float32)
    q_full = tle.gpu.alloc_barrier(expect_bytes=HEADS * (LATENT + EXTRA) * q_desc.dtype.primitive_bitwidth // 8)
    q_empty = tle.gpu.alloc_barrier(arrive_count=2, init=tle.gpu.READY)
    k_full, extra_full = tle.gpu.alloc_barriers(4), tle.gpu.alloc_barriers(2)
    empty = tle.gpu.alloc_barriers(4, init=tle.gpu.READY)
    said, handed = tle.gpu.alloc_barriers(2), tle.gpu.alloc_barriers(2)
    summed = tle.gpu.alloc_barriers(2)
    tle.gpu.warp_specialize(
        (
            (consume, (
                q, q_extra, k, extra, bias, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed,
                summed, o_ptr, lse_ptr, tokens, heads, count, scale, HEADS, KEYS, LATENT, 0,
            )),
            (consume, (
                q, q_extra, k, extra, bias, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed,
                summed, o_ptr, lse_ptr, tokens, heads, count, scale, HEADS, KEYS, LATENT, 1,
            )),
            (gather, (
                q_desc, q_extra_desc, kv_ptr, chosen_ptr, q, q_extra, k, extra, bias, q_full, q_empty, k_full,
                extra_full, empty, tokens, heads, keys, count, HEADS, KEYS, LATENT, EXTRA,
            )),
        ),
        worker_num_warps=(4, 4),
        worker_num_regs=(REGISTERS, GATHER_REGISTERS),
    )  # fmt: skip


BLOCKS = {"HEADS": HEADS, "KEYS": KEYS, "LATENT": LATENT, "EXTRA": EXTRA, "REGISTERS": 208, "GATHER_REGISTERS": 88}


def launch(q, kv, chosen, programs: int = 132, scale=None, blocks=BLOCKS, into=None, idle: int = 0):
    """Attention of q [tokens, heads, 576] to the rows of kv [keys, 576] that chosen [tokens, count] names.

    Gives the kernel, o [tokens, heads, 512] and the logarithms of the sums; ``into`` are both, where they are there
    already. ``idle`` programs find no work.
    """
    import torch

    tokens, heads, width = q.shape
    o, lse = into or (q.new_empty((tokens, heads, LATENT)), torch.empty(q.shape[:2], device=q.device))
    tiles = [
        TensorDescriptor(q, [q.numel() // width, width], [width, 1], [HEADS, columns]) for columns in (HALF, EXTRA)
    ]
    scale = (width**-0.5 if scale is None else scale) * 1.4426950408889634
    kernel = sparse[(min(triton.cdiv(heads, HEADS) * tokens, programs) + idle,)](
        *(*tiles, kv, chosen, o, lse, tokens, heads, kv.shape[0], chosen.shape[1], scale), **blocks, num_warps=4
    )
    return kernel, o, lse


def compile_for(target):
    types = {
        "q_desc": f"tensordesc<bf16[{HEADS},{HALF}]>",
        "q_extra_desc": f"tensordesc<bf16[{HEADS},{EXTRA}]>",
        "kv_ptr": "*bf16",
        "chosen_ptr": "*i32",
        "o_ptr": "*bf16",
        "lse_ptr": "*fp32",
        "tokens": "i32",
        "heads": "i32:16",
        "keys": "i32",
        "count": "i32:16",
        "scale": "fp32",
    }
    return [common.compile_ahead(sparse, target, types, BLOCKS, num_warps=4)]


def check():
    import torch

    every = ((1, 64, 500, 128), (3, 16, 300, 100), (2, 128, 70, 70), (7, 70, 1000, 321), (200, 128, 8192, 2048))
    for tokens, heads, keys, count in common.sizes(gpu=every, cpu=((3, 16, 200, 144),), watched=every[:3]):
        for dtype in (torch.bfloat16, torch.float16)[: 1 if common.on_cpu() else 2]:
            q = torch.randn(tokens, heads, LATENT + EXTRA).to(common.device(), dtype)
            kv = torch.randn(keys, LATENT + EXTRA).to(common.device(), dtype)
            chosen = torch.rand(tokens, keys).topk(count).indices
            chosen[torch.rand(chosen.shape) < 0.1] = -1
            chosen[tokens // 2, : count // 2] = -1
            chosen[tokens - 1] = -1 if tokens > 2 else chosen[tokens - 1]
            wanted = [decode.expected(q[t], kv[chosen[t][chosen[t] >= 0].to(kv.device)]) for t in range(tokens)]
            programs = 132 if tokens > 8 else 2  # that take one token, or several
            kernel, o, lse = launch(q, kv, chosen.to(q.device, torch.int32), programs)
            what = f"{tokens} × {heads} heads, {count} of {keys} keys {str(dtype).removeprefix('torch.')}"
            for comparison in decode.compare(what, o, lse, wanted):
                yield kernel, comparison


def stress(random):
    import torch

    tokens, heads, keys = random.randint(1, 6), random.choice((16, 64, 80)), random.randint(100, 400)
    count = random.choice((16, 48, 144))
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    q = torch.randn(tokens, heads, LATENT + EXTRA, device=common.device()).to(torch.bfloat16)
    kv = torch.randn(keys, LATENT + EXTRA, device=q.device).to(q.dtype)
    chosen = torch.randint(0, keys, (tokens, count), device=q.device, dtype=torch.int32)
    chosen[:, 1:][torch.rand(tokens, count - 1, device=q.device) < 0.2] = -1
    wanted = zip(*(decode.expected(q[token], kv[here[here >= 0]]) for token, here in enumerate(chosen)))
    return common.Stressed(
        f"{tokens} × {heads} heads, {count} of {keys} keys, at most {programs} programs, {idle} idle",
        lambda *into: launch(q, kv, chosen, programs, into=into, idle=idle),
        *(tuple(map(torch.stack, wanted)), (q.dtype, torch.float32), (2**-7, 0.0), (2**-7, 1e-4)),
    )


if __name__ == "__main__":
    sys.exit(common.main("16 latent attention to chosen keys by specialised warps", compile_for, check))
