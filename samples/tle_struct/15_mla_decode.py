"""Sample 15: decode of latent attention (MLA): two groups of four warps multiply, and one warp copies. For sm_90.

All heads of a token attend to one latent key of 512 + 64 numbers, whose first 512 are the value too. A program holds
64 heads of a token and a part of its keys. A result of 64 × 512 does not fit into the registers of one group: each has
256 of its columns. Scores would be the same for both, so the groups take turns:

* the even tiles of 64 keys are scores of group 0, the odd ones of group 1. Who has a tile's scores tells the other one
  the largest of each row, by shared memory, and hands it the weights, in the place of the key's last 64 numbers, which
  nobody needs any more;
* the products of a group with weights and values follow in the order of the tiles, its own weights from registers.
  While one group computes weights, tensor cores work for the other.

The cache is paged or contiguous, and each token has its own number of keys. Where there are few tokens, programs share
the keys of one, and a second kernel joins their results.
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

HEADS, KEYS, LATENT, EXTRA = 64, 64, 512, 64  # of a program, of a tile, and numbers of a key
HALF = LATENT // 2
LOWEST = tl.constexpr(-1e30)  # below every score: a finite number, since differences of it are taken


@triton.jit
def row_of(table_ptr, entry, tile, last, keys, PAGE: tl.constexpr, KEYS: tl.constexpr):
    """Where a tile of an entry begins in the cache, whose rows are keys. Behind the last one it is the last."""
    key = tl.minimum(tile, last) * KEYS
    if PAGE == 0:
        row = entry * keys + key
    else:
        row = tl.load(table_ptr + entry * tl.cdiv(keys, PAGE) + key // PAGE) * PAGE + key % PAGE
    return row


@triton.jit
def part_of(number, heads, keys, share, splits, lengths_ptr, HEADS: tl.constexpr, KEYS: tl.constexpr):
    """Of a piece of work: block of heads, split and entry, its first tile, the end of its keys, how many pairs."""
    blocks = tl.cdiv(heads, HEADS)
    block, split, entry = number % blocks, number // blocks % splits, number // blocks // splits
    begin = split * share
    length = tl.minimum(tl.load(lengths_ptr + entry), begin + share)
    pairs = tl.maximum(tl.cdiv(length - begin, 2 * KEYS), 1)  # the one of an empty part counts for nothing
    return block, split, entry, begin // KEYS, length, pairs


@triton.jit
def copy_queries(q_desc, q_extra_desc, q, q_extra, q_full, row, HEADS: tl.constexpr, LATENT: tl.constexpr):
    """A program's rows of queries."""
    HALF: tl.constexpr = LATENT // 2
    EXTRA: tl.constexpr = q_extra_desc.block_shape[1]
    for half in tl.static_range(2):
        tle.gpu.copy(q_desc, q[half], [HEADS, HALF], offsets=[row, half * HALF], barrier=q_full)
    tle.gpu.copy(q_extra_desc, q_extra, [HEADS, EXTRA], offsets=[row, LATENT], barrier=q_full)


@triton.jit
def produce(
    q_desc, q_extra_desc, kv_desc, extra_desc, table_ptr, lengths_ptr, q, q_extra, k, extra, q_full, q_empty,
    k_full, extra_full, empty, total, heads, keys, share, splits, HEADS: tl.constexpr, KEYS: tl.constexpr,
    LATENT: tl.constexpr, EXTRA: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """Copy the queries of each piece of work, and each half of a tile as soon as its place is free."""
    HALF: tl.constexpr = LATENT // 2
    turn, used = 0, 0
    number = tl.program_id(0)
    while number < total:
        block, _, entry, first, length, pairs = part_of(number, heads, keys, share, splits, lengths_ptr, HEADS, KEYS)
        last = tl.maximum(tl.cdiv(length, KEYS) - 1, 0)
        even = row_of(table_ptr, entry, first, last, keys, PAGE, KEYS)
        odd = row_of(table_ptr, entry, first + 1, last, keys, PAGE, KEYS)
        tle.gpu.barrier_wait(q_empty, turn)
        copy_queries(q_desc, q_extra_desc, q, q_extra, q_full, entry * heads + block * HEADS, HEADS, LATENT)
        for pair in range(pairs):
            for slot in tl.static_range(2):
                row = odd if slot else even
                for half in tl.static_range(2):
                    tle.gpu.barrier_wait(empty[2 * slot + half], used + pair)
                    tle.gpu.copy(
                        kv_desc, k[2 * slot + half], [KEYS, HALF], offsets=[row, half * HALF],
                        barrier=k_full[2 * slot + half],
                    )  # fmt: skip
                    if half != slot:  # weights were there for the group of this half
                        tle.gpu.copy(
                            extra_desc, extra[slot], [KEYS, EXTRA], offsets=[row, LATENT], barrier=extra_full[slot]
                        )
            even = row_of(table_ptr, entry, first + 2 * pair + 2, last, keys, PAGE, KEYS)
            odd = row_of(table_ptr, entry, first + 2 * pair + 3, last, keys, PAGE, KEYS)
        used += pairs
        turn += 1
        number += tl.num_programs(0)


@triton.jit
def scores(q, q_extra, k, extra, k_full, extra_full, slot: tl.constexpr, use):
    """Queries and a tile's keys, under way."""
    none = use >> 24  # 0, which the compiler does not know: else it keeps the addresses of all steps in registers
    tle.gpu.barrier_wait(k_full[2 * slot], use)
    s = tle.gpu.wgmma(q[none], k[2 * slot + none], trans_b=True)
    tle.gpu.barrier_wait(k_full[2 * slot + 1], use)
    s = tle.gpu.wgmma(q[1 + none], k[2 * slot + 1 + none], s, trans_b=True)
    tle.gpu.barrier_wait(extra_full[slot], use)
    return tle.gpu.wgmma(q_extra, extra[slot], s, trans_b=True)


@triton.jit
def attend(
    q, q_extra, k, wide, extra, bias, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed, summed,
    o_ptr, lse_ptr, turn, used, result, heads, first, length, pairs, scale, HEADS: tl.constexpr,
    KEYS: tl.constexpr, LATENT: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """One group's columns of a piece of work. Weights are 2 to the power of ``scale`` times scores, less the largest.

    Keys count up to ``length``, or, with a ``bias`` for each key of a slot, where it is 0: else it is -infinity.
    ``turn`` pieces and ``used`` pairs of tiles were done before; o and ``lse`` get ``heads`` rows from ``result`` on.
    """
    HALF: tl.constexpr = LATENT // 2
    acc = tl.zeros((HEADS, HALF), tl.float32)
    before = tl.full((HEADS,), LOWEST, tl.float32)
    total = tl.zeros((HEADS,), tl.float32)
    column = tl.arange(0, KEYS)
    tle.gpu.barrier_wait(q_full, turn)
    for pair in range(pairs):
        use = used + pair
        s = scores(q, q_extra, k, extra, k_full, extra_full, GROUP, use)
        if GROUP == 0:
            s = tle.gpu.wgmma_wait(0, s)
            if pair + 1 == pairs:
                tle.gpu.barrier_arrive(q_empty, 1, turn)
        else:  # the even tile's weights and values
            acc = tle.gpu.wgmma_wait(3, acc)  # of the pair before
            tle.gpu.barrier_wait(said[0], use)
            even = largest[0].load()
            acc = acc * tl.math.exp2(before - even)[:, None]
            tle.gpu.barrier_wait(handed[0], use)
            acc = tle.gpu.wgmma(extra[0], k[1], acc)
            s = tle.gpu.wgmma_wait(1, s)
            total = total * tl.math.exp2(before - even)
            before = even
        if bias is None:
            left = length - (first + 2 * pair + GROUP) * KEYS
            s = tl.where((column < left)[None, :], s, float("-inf"))
        else:
            s = s + bias[GROUP].load()[None, :]
        now = tl.maximum(before, tl.max(s, 1) * scale)
        largest[GROUP].store(now)
        tle.gpu.barrier_arrive(said[GROUP], 1, use)
        weights = tl.math.exp2(s * scale - now[:, None])
        p = weights.to(q.dtype)
        extra[GROUP].store(p)
        tle.gpu.barrier_arrive(handed[GROUP], 1, use)
        shrink = tl.math.exp2(before - now)
        total = total * shrink + tl.sum(weights, 1)
        if GROUP == 1:
            acc = tle.gpu.wgmma_wait(0, acc, behind=total)
            tle.gpu.barrier_arrive(empty[1], 1, use)
            if pair + 1 == pairs:
                tle.gpu.barrier_arrive(q_empty, 1, turn)
        acc = acc * shrink[:, None]
        acc = tle.gpu.wgmma(p, k[2 * GROUP + GROUP], acc)
        before = now
        if GROUP == 0:  # the odd tile's weights and values
            acc = tle.gpu.wgmma_wait(0, acc)
            tle.gpu.barrier_arrive(empty[0], 1, use)
            tle.gpu.barrier_wait(said[1], use)
            odd = largest[1].load()
            shrink = tl.math.exp2(before - odd)
            total = total * shrink
            tle.gpu.barrier_wait(handed[1], use)
            acc = acc * shrink[:, None]
            acc = tle.gpu.wgmma(extra[1], k[2], acc)
            before = odd
        acc = tle.gpu.wgmma_wait(0, acc)
        if pair + 1 < pairs:  # the last one's place is used once more
            tle.gpu.barrier_arrive(empty[2 + GROUP], 1, use)

    sums[GROUP].store(total)
    tle.gpu.barrier_arrive(summed[GROUP], 1, turn)
    tle.gpu.barrier_wait(summed[1 - GROUP], turn)
    total += sums[1 - GROUP].load()
    o = tl.where((total > 0)[:, None], acc * (1 / total)[:, None], 0.0)
    row = tl.arange(0, HEADS)
    is_head = row < heads
    at = (result + row).to(tl.int64)[:, None] * LATENT + GROUP * HALF
    if o_ptr.dtype.element_ty == q.dtype:  # by the memory of keys, so that rows are written in whole lines
        k[2 + GROUP].store(o.to(q.dtype))
        tl.store(o_ptr + at + tl.arange(0, HALF)[None, :], k[2 + GROUP].load(), mask=is_head[:, None])
    else:
        WIDTH: tl.constexpr = HALF // 2
        parts = tl.split(tl.permute(tl.reshape(o, (HEADS, 2, WIDTH)), (0, 2, 1)))
        for part in tl.static_range(2):
            wide[2 + GROUP].store(parts[part])
            column = part * WIDTH + tl.arange(0, WIDTH)[None, :]
            tl.store(o_ptr + at + column, wide[2 + GROUP].load(), mask=is_head[:, None])
    tle.gpu.barrier_arrive(empty[2 + GROUP], 1, used + pairs - 1)
    if GROUP == 0:
        tl.store(lse_ptr + result + row, (before + tl.math.log2(total)) * 0.6931471805599453, mask=is_head)


@triton.jit
def consume(
    q, q_extra, k, wide, extra, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed, summed,
    lengths_ptr, o_ptr, lse_ptr, count, heads, keys, share, splits, scale, HEADS: tl.constexpr, KEYS: tl.constexpr,
    LATENT: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """One group's columns of all the program's work."""
    turn, used = 0, 0
    number = tl.program_id(0)
    while number < count:
        block, split, entry, first, length, pairs = part_of(
            number, heads, keys, share, splits, lengths_ptr, HEADS, KEYS
        )
        result = (entry * splits + split) * heads + block * HEADS
        attend(
            q, q_extra, k, wide, extra, None, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed,
            summed, o_ptr, lse_ptr, turn, used, result, heads - block * HEADS, first, length, pairs, scale,
            HEADS, KEYS, LATENT, GROUP,
        )  # fmt: skip
        used += pairs
        turn += 1
        number += tl.num_programs(0)


@triton.jit
def decode(
    q_desc, q_extra_desc, kv_desc, extra_desc, table_ptr, lengths_ptr, o_ptr, lse_ptr, count, heads, keys,
    share, splits, scale,
    HEADS: tl.constexpr, KEYS: tl.constexpr, LATENT: tl.constexpr, EXTRA: tl.constexpr, PAGE: tl.constexpr,
    REGISTERS: tl.constexpr,
):  # fmt: skip
    """``softmax(q @ kv.T * scale / log2(e)) @ kv[:, :LATENT]`` of each entry, ``share`` keys in a piece of work.

    q is [batch * heads, LATENT + EXTRA], kv [rows, LATENT + EXTRA]: [batch * keys] with PAGE 0, else pages of so many
    rows, whose numbers the table has, [batch, ceil(keys / PAGE)]. o is [batch, splits, heads, LATENT], ``lse`` without
    the last axis. What stands in the rest of a tile behind the last key are to be finite numbers: their weights are 0.
    """
    HALF: tl.constexpr = LATENT // 2
    SIZE: tl.constexpr = q_desc.dtype.primitive_bitwidth // 8
    q = tle.gpu.alloc([2, HEADS, HALF], dtype=q_desc.dtype)
    q_extra = tle.gpu.alloc([HEADS, EXTRA], dtype=q_desc.dtype)
    k = tle.gpu.alloc([4, KEYS, HALF], dtype=kv_desc.dtype)  # tile and half of columns
    wide = tle.gpu.alloc([4, HEADS, HALF // 2], dtype=tl.float32, alias=k)
    extra = tle.gpu.alloc([2, KEYS, EXTRA], dtype=kv_desc.dtype)
    largest = tle.gpu.alloc([2, HEADS], dtype=tl.float32)
    sums = tle.gpu.alloc([2, HEADS], dtype=tl.float32)
    q_full = tle.gpu.alloc_barrier(expect_bytes=HEADS * (LATENT + EXTRA) * SIZE)
    q_empty = tle.gpu.alloc_barrier(arrive_count=2, init=tle.gpu.READY)
    k_full = tle.gpu.alloc_barriers(4, expect_bytes=KEYS * HALF * SIZE)
    extra_full = tle.gpu.alloc_barriers(2, expect_bytes=KEYS * EXTRA * SIZE)
    empty = tle.gpu.alloc_barriers(4, init=tle.gpu.READY)
    said, handed = tle.gpu.alloc_barriers(2), tle.gpu.alloc_barriers(2)
    summed = tle.gpu.alloc_barriers(2)
    tle.gpu.warp_specialize(
        (
            (consume, (
                q, q_extra, k, wide, extra, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed,
                summed, lengths_ptr, o_ptr, lse_ptr, count, heads, keys, share, splits, scale, HEADS, KEYS, LATENT, 0,
            )),
            (consume, (
                q, q_extra, k, wide, extra, largest, sums, q_full, q_empty, k_full, extra_full, empty, said, handed,
                summed, lengths_ptr, o_ptr, lse_ptr, count, heads, keys, share, splits, scale, HEADS, KEYS, LATENT, 1,
            )),
            (produce, (
                q_desc, q_extra_desc, kv_desc, extra_desc, table_ptr, lengths_ptr, q, q_extra, k, extra,
                q_full, q_empty, k_full, extra_full, empty, count, heads, keys, share, splits, HEADS, KEYS, LATENT,
                EXTRA, PAGE,
            )),
        ),
        worker_num_warps=(4, 1),
        worker_num_regs=(REGISTERS, 24),
    )  # fmt: skip


@triton.jit
def combine(parts_ptr, part_lse_ptr, o_ptr, lse_ptr, heads, splits, SPLITS: tl.constexpr, LATENT: tl.constexpr):
    """The result of one head: each program's part counts by its sum."""
    entry, head = tl.program_id(1), tl.program_id(0)
    split = tl.arange(0, SPLITS)
    lse = tl.load(part_lse_ptr + (entry * splits + split) * heads + head, mask=split < splits, other=float("-inf"))
    highest = tl.max(lse, 0)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    total = tl.sum(tl.exp(lse - highest), 0)
    tl.store(lse_ptr + entry * heads + head, highest + tl.log(total))
    column = tl.arange(0, LATENT)
    acc = tl.zeros((LATENT,), tl.float32)
    for i in range(splits):
        row = (entry * splits + i) * heads + head
        weight = tl.exp(tl.load(part_lse_ptr + row) - highest)
        acc += weight * tl.load(parts_ptr + row * LATENT + column)
    o = tl.where(total > 0, acc / total, 0.0)
    tl.store(o_ptr + (entry * heads + head) * LATENT + column, o.to(o_ptr.dtype.element_ty))


BLOCKS = {"HEADS": HEADS, "KEYS": KEYS, "LATENT": LATENT, "EXTRA": EXTRA, "REGISTERS": 240}


def splits_of(batch: int, heads: int, keys: int, processors: int) -> int:
    """How many programs share the keys of an entry: so that all are at work, and in whole rounds."""
    programs, tiles = batch * triton.cdiv(heads, HEADS), triton.cdiv(keys, KEYS)
    most = max(1, min(tiles // 4, 2 * processors // programs))

    def rounds(splits):  # in tiles: those of a program, and what its beginning and end cost
        return triton.cdiv(programs * splits, processors) * (triton.cdiv(triton.cdiv(tiles, 2), splits) * 2 + 4)

    return min(range(1, most + 1), key=rounds)


def launch(q, kv, lengths, table=None, page: int = 0, splits: int | None = None, programs: int = 132, scale=None,
           blocks=BLOCKS, into=None, idle: int = 0):  # fmt: skip
    """Attention of q [batch, heads, 576] to kv [batch, keys, 576], or with a table [batch, pages] to its pages.

    Pages are [pages, page, 576], of a multiple of 64 keys. Gives the kernel, o [batch, heads, 512] and the logarithms
    of the sums. ``into`` are both, where they are there already; ``idle`` programs find no piece of work.
    """
    import torch

    batch, heads, width = q.shape
    keys = kv.shape[1] if table is None else table.shape[1] * page
    splits = splits_of(batch, heads, keys, programs) if splits is None else splits
    share = triton.cdiv(triton.cdiv(keys, 2 * KEYS), splits) * 2 * KEYS
    splits = triton.cdiv(keys, share)
    o, lse = into or (q.new_empty((batch, heads, LATENT)), torch.empty(q.shape[:2], device=q.device))
    parts, part_lse = o, lse
    if splits > 1:
        parts = torch.empty((batch, splits, heads, LATENT), device=q.device, dtype=torch.float32)
        part_lse = torch.empty((batch, splits, heads), device=q.device, dtype=torch.float32)
    tiles = [
        TensorDescriptor(x, [x.numel() // width, width], [width, 1], [rows, columns])
        for x, rows in ((q, HEADS), (kv, KEYS))
        for columns in (HALF, EXTRA)
    ]
    scale = (width**-0.5 if scale is None else scale) * 1.4426950408889634
    count = triton.cdiv(heads, HEADS) * splits * batch
    table = lengths if table is None else table
    kernel = decode[(min(count, programs) + idle,)](
        *(*tiles, table, lengths, parts, part_lse, count, heads, keys, share, splits, scale),
        **(blocks | {"PAGE": page}),
        num_warps=4,
    )
    if splits > 1:
        size = triton.next_power_of_2(splits)
        combine[heads, batch](parts, part_lse, o, lse, heads, splits, size, LATENT, num_warps=4)
    return kernel, o, lse


def compile_for(target):
    compiled = []
    for dtype, result, page in (("fp16", "fp16", 0), ("bf16", "fp32", 64)):
        types = {
            "q_desc": f"tensordesc<{dtype}[{HEADS},{HALF}]>",
            "q_extra_desc": f"tensordesc<{dtype}[{HEADS},{EXTRA}]>",
            "kv_desc": f"tensordesc<{dtype}[{KEYS},{HALF}]>",
            "extra_desc": f"tensordesc<{dtype}[{KEYS},{EXTRA}]>",
            "table_ptr": "*i32",
            "lengths_ptr": "*i32",
            "o_ptr": f"*{result}",
            "lse_ptr": "*fp32",
            "count": "i32",
            "heads": "i32:16",
            "keys": "i32",
            "share": "i32:16",
            "splits": "i32",
            "scale": "fp32",
        }
        compiled.append(common.compile_ahead(decode, target, types, BLOCKS | {"PAGE": page}, num_warps=4))
    return compiled


def expected(q, rows, scale=None):
    """In double precision, of a token's heads: the result, and the logarithms of the sums."""
    rows, scale = rows.double(), q.shape[-1] ** -0.5 if scale is None else scale
    s = q.double() @ rows.T * scale
    return s.softmax(-1).nan_to_num() @ rows[:, :LATENT], s.logsumexp(-1)


def compare(what, o, lse, wanted):
    """With what ``expected`` gives for each token. Where no key is, the logarithm of nothing is -infinity."""
    import torch

    want, sums = (torch.stack(each) for each in zip(*wanted))
    unit = 2**-10 if o.dtype == torch.float16 else 2**-7
    yield common.compare(what, o, want, relative=unit, absolute=2 * unit)
    none = sums == float("-inf")
    yield common.compare(f"{what}: sums", lse.where(~none, lse.exp()), sums.where(~none, 0.0), absolute=1e-4)


def in_pages(kv, page: int):
    """The rows of kv [batch, keys, 576] in pages that lie anywhere, and the table of their numbers."""
    import torch

    batch, keys, width = kv.shape
    count = triton.cdiv(keys, page)
    table = torch.randperm(batch * count, device=kv.device).view(batch, count)
    pages = torch.empty(batch * count, page, width, device=kv.device, dtype=kv.dtype)
    padded = torch.nn.functional.pad(kv, (0, 0, 0, count * page - keys))
    pages[table.flatten()] = padded.view(-1, page, width)
    return pages, table.to(torch.int32)


def check():
    import torch

    every = ((1, 64, 128, 1), (3, 16, 300, 1), (2, 128, 1000, 3), (5, 70, 333, None), (64, 128, 4096, None))
    for batch, heads, keys, splits in common.sizes(gpu=every, cpu=((2, 16, 300, 2),), watched=every[:3]):
        programs = 132 if batch > 8 else 3  # that take one piece of work, or several
        for dtype, page in ((torch.float16, 0), (torch.bfloat16, 128), (torch.float16, 64), (torch.bfloat16, 0))[
            2 if common.on_cpu() else 0 :
        ]:
            q = torch.randn(batch, heads, LATENT + EXTRA).to(common.device(), dtype)
            kv = torch.randn(batch, keys, LATENT + EXTRA).to(common.device(), dtype)
            lengths = torch.randint(0, keys + 1, (batch,))
            lengths[0] = keys
            cache, table = in_pages(kv, page) if page else (kv, None)
            kernel, o, lse = launch(
                q, cache, lengths.to(q.device, torch.int32), table, page, None if page else splits, programs
            )
            wanted = [expected(q[b], kv[b, : lengths[b]]) for b in range(batch)]
            what = f"{batch} × {heads} heads, {keys} keys {str(dtype).removeprefix('torch.')}"
            what += f", pages of {page}" if page else ""
            for comparison in compare(what, o, lse, wanted):
                yield kernel, comparison


def stress(random):
    import torch

    batch, heads, keys = random.randint(1, 4), random.choice((16, 64, 80)), random.randint(1, 400)
    page, splits = random.choice((0, 64)), random.choice((1, 2, 3))
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    q = torch.randn(batch, heads, LATENT + EXTRA, device=common.device()).to(torch.bfloat16)
    kv = torch.randn(batch, keys, LATENT + EXTRA, device=q.device).to(q.dtype)
    lengths = torch.tensor([random.randint(1, keys) for _ in range(batch)], dtype=torch.int32)
    wanted = zip(*(expected(q[entry], kv[entry, :length]) for entry, length in enumerate(lengths.tolist())))
    cache, table = in_pages(kv, page) if page else (kv, None)
    there = lengths.to(q.device)
    what = f"{batch} × {heads} heads, {keys} keys, pages of {page}, {splits} shares, at most {programs}, {idle} idle"
    return common.Stressed(
        what,
        lambda *into: launch(q, cache, there, table, page, splits, programs, into=into, idle=idle),
        *(tuple(map(torch.stack, wanted)), (q.dtype, torch.float32), (2**-7, 0.0), (2**-7, 1e-4)),
    )


if __name__ == "__main__":
    sys.exit(common.main("15 decode of latent attention by specialised warps", compile_for, check))
