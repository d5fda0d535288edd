"""Sample 12: attention whose warps are specialised: one copies, two groups of four multiply. For sm_90.

A program holds 128 rows of queries, 64 for each group, and walks over the keys from the last tile to the first. Two
things overlap with products:

* within a group: the product of queries and keys of one tile runs behind that of weights and values of the tile before
  it, and the weights are computed while the latter still runs;
* between groups: they take turns to begin products, by two named barriers, so that the one computes weights while
  tensor cores work for the other.

Programs stay, and take tile after tile. Where rows see the keys before them alone, tiles differ: the longest come
first, and whoever is done takes the next one. The queries of the next tile arrive while the last one is written.

On the CPU the warps take turns on one thread, at the barriers.
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


@triton.jit
def tile_of(number, tiles, heads, CAUSAL: tl.constexpr, SECTION: tl.constexpr):
    """Tile and head of a number; SECTION heads, whose keys and values fit into the L2 cache, come together."""
    if not CAUSAL:
        return number % tiles, number // tiles
    first = number // (SECTION * tiles) * SECTION
    width = tl.minimum(heads - first, SECTION)
    rest = number - first * tiles
    return tiles - 1 - rest // width, first + rest % width


@triton.jit
def steps_of(tile, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    """How many tiles of keys the rows of a tile see."""
    seen = tl.minimum((tile + 1) * BLOCK_M, length) if CAUSAL else length
    return tl.cdiv(seen, BLOCK_N)


@triton.jit
def produce(
    q_desc, k_desc, v_desc, q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, heads, queries, keys,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, K_SLOTS: tl.constexpr, V_SLOTS: tl.constexpr,
    CAUSAL: tl.constexpr, SECTION: tl.constexpr,
):  # fmt: skip
    """Copy what the program's tiles need, in the order in which it is used: keys are a step ahead of values."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles = tl.cdiv(queries, BLOCK_M)
    number, turn, step = tl.program_id(0), 0, 0
    while number < tiles * heads:
        tile, head = tile_of(number, tiles, heads, CAUSAL, SECTION)
        steps = steps_of(tile, keys, BLOCK_M, BLOCK_N, CAUSAL)
        last = head * keys + (steps - 1) * BLOCK_N  # walked backwards
        tle.gpu.barrier_wait(k_empty[step % K_SLOTS], step // K_SLOTS)
        tle.gpu.copy(k_desc, k[step % K_SLOTS], [BLOCK_N, DIM], offsets=[last, 0], barrier=k_full[step % K_SLOTS])
        for group in tl.static_range(2):
            row = head * queries + tile * BLOCK_M + group * ROWS
            tle.gpu.barrier_wait(q_empty[group], turn)
            tle.gpu.copy(q_desc, q[group], [ROWS, DIM], offsets=[row, 0], barrier=q_full[group])
        number = tle.gpu.fetch_tile(order, turn, tiles * heads)
        turn += 1
        for n in range(1, steps):
            slot, before = (step + n) % K_SLOTS, (step + n - 1) % V_SLOTS
            row = last - n * BLOCK_N
            tle.gpu.barrier_wait(k_empty[slot], (step + n) // K_SLOTS)
            tle.gpu.copy(k_desc, k[slot], [BLOCK_N, DIM], offsets=[row, 0], barrier=k_full[slot])
            tle.gpu.barrier_wait(v_empty[before], (step + n - 1) // V_SLOTS)
            tle.gpu.copy(v_desc, v[before], [BLOCK_N, DIM], offsets=[row + BLOCK_N, 0], barrier=v_full[before])
        step += steps
        slot = (step - 1) % V_SLOTS
        tle.gpu.barrier_wait(v_empty[slot], (step - 1) // V_SLOTS)
        tle.gpu.copy(v_desc, v[slot], [BLOCK_N, DIM], offsets=[head * keys, 0], barrier=v_full[slot])


@triton.jit
def consume(
    q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, turns, o_ptr, lse_ptr, heads, queries, keys,
    scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, K_SLOTS: tl.constexpr, V_SLOTS: tl.constexpr,
    CAUSAL: tl.constexpr, SECTION: tl.constexpr, TURNS: tl.constexpr, BEHIND: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """The rows of one group. Weights are 2 to the power of ``scale`` times products, less the largest of a row.

    With BEHIND the product of values is waited for when a step's weights are summed, and not where ptxas puts the wait.
    """
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles = tl.cdiv(queries, BLOCK_M)
    number, turn, step = tl.program_id(0), 0, 0
    if TURNS and GROUP == 1:
        tle.gpu.barrier_arrive(turns[0])  # group 0 begins
    while number < tiles * heads:
        tile, head = tile_of(number, tiles, heads, CAUSAL, SECTION)
        steps = steps_of(tile, keys, BLOCK_M, BLOCK_N, CAUSAL)
        rows = tile * BLOCK_M + GROUP * ROWS + tl.arange(0, ROWS)

        tle.gpu.barrier_wait(q_full[GROUP], turn)
        tle.gpu.barrier_wait(k_full[step % K_SLOTS], step // K_SLOTS)
        if TURNS:
            tle.gpu.barrier_wait(turns[GROUP])
        s = tle.gpu.wgmma(q[GROUP], k[step % K_SLOTS], trans_b=True)
        if TURNS:
            tle.gpu.barrier_arrive(turns[1 - GROUP])
        s = tle.gpu.wgmma_wait(0, s)
        tle.gpu.barrier_arrive(k_empty[step % K_SLOTS], 1, step // K_SLOTS)
        columns = (steps - 1) * BLOCK_N + tl.arange(0, BLOCK_N)
        seen = columns[None, :] < keys
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        s = tl.where(seen, s, float("-inf"))
        largest = tl.max(s, 1) * scale
        weights = tl.math.exp2(s * scale - largest[:, None])
        total = tl.sum(weights, 1)
        p = weights.to(q.dtype)
        acc = tl.zeros((ROWS, DIM), tl.float32)

        for n in range(1, steps):
            slot, before = (step + n) % K_SLOTS, (step + n - 1) % V_SLOTS
            tle.gpu.barrier_wait(k_full[slot], (step + n) // K_SLOTS)
            if TURNS:
                tle.gpu.barrier_wait(turns[GROUP])
            s = tle.gpu.wgmma(q[GROUP], k[slot], trans_b=True)
            tle.gpu.barrier_wait(v_full[before], (step + n - 1) // V_SLOTS)
            acc = tle.gpu.wgmma(p, v[before], acc)
            if TURNS:
                tle.gpu.barrier_arrive(turns[1 - GROUP])
            s = tle.gpu.wgmma_wait(1, s)  # the scores are there, the values are under way
            tle.gpu.barrier_arrive(k_empty[slot], 1, (step + n) // K_SLOTS)
            now = tl.maximum(largest, tl.max(s, 1) * scale)
            weights = tl.math.exp2(s * scale - now[:, None])
            shrink = tl.math.exp2(largest - now)
            total = total * shrink + tl.sum(weights, 1)
            largest = now
            acc = tle.gpu.wgmma_wait(0, acc, behind=total if BEHIND else None)
            tle.gpu.barrier_arrive(v_empty[before], 1, (step + n - 1) // V_SLOTS)
            acc = acc * shrink[:, None]
            p = weights.to(q.dtype)

        tle.gpu.barrier_arrive(q_empty[GROUP], 1, turn)
        step += steps
        slot = (step - 1) % V_SLOTS
        tle.gpu.barrier_wait(v_full[slot], (step - 1) // V_SLOTS)
        acc = tle.gpu.wgmma(p, v[slot], acc)
        acc = tle.gpu.wgmma_wait(0, acc)
        tle.gpu.barrier_arrive(v_empty[slot], 1, (step - 1) // V_SLOTS)
        at = (head * queries + rows)[:, None] * DIM + tl.arange(0, DIM)[None, :]
        is_row = rows < queries
        tl.store(o_ptr + at, (acc * (1 / total)[:, None]).to(q.dtype), mask=is_row[:, None])
        tl.store(lse_ptr + head * queries + rows, (largest + tl.math.log2(total)) * 0.6931471805599453, mask=is_row)
        number = tle.gpu.next_tile(order, turn, tiles * heads)
        turn += 1
    if TURNS and GROUP == 0:
        tle.gpu.barrier_wait(turns[0])  # the other group's last arrival


@triton.jit
def attention(
    q_desc, k_desc, v_desc, o_ptr, lse_ptr, counter_ptr, heads, queries, keys, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, K_SLOTS: tl.constexpr, V_SLOTS: tl.constexpr,
    CAUSAL: tl.constexpr, SECTION: tl.constexpr, TURNS: tl.constexpr, BEHIND: tl.constexpr,
    REGISTERS: tl.constexpr, ORDER: tl.constexpr,
):  # fmt: skip
    """``softmax(q @ k.T * scale / log2(e)) @ v`` of each head: q and o are [heads * queries, DIM], k and v of keys.

    With CAUSAL row i sees keys 0 to i. ``lse`` gets the logarithm of each row's sum. The last tile of a head may hold
    rows of the next one: their weights are 0, so that values there are to be finite numbers.
    """
    tl.static_assert(not CAUSAL or BLOCK_N % BLOCK_M == 0, "the last tile of keys holds one that each row sees")
    q = tle.gpu.alloc([2, BLOCK_M // 2, DIM], dtype=q_desc.dtype)
    k = tle.gpu.alloc([K_SLOTS, BLOCK_N, DIM], dtype=k_desc.dtype)
    v = tle.gpu.alloc([V_SLOTS, BLOCK_N, DIM], dtype=v_desc.dtype)
    size: tl.constexpr = q_desc.dtype.primitive_bitwidth // 8
    q_full = tle.gpu.alloc_barriers(2, expect_bytes=BLOCK_M // 2 * DIM * size)
    q_empty = tle.gpu.alloc_barriers(2, init=tle.gpu.READY)
    k_full = tle.gpu.alloc_barriers(K_SLOTS, expect_bytes=BLOCK_N * DIM * size)
    k_empty = tle.gpu.alloc_barriers(K_SLOTS, arrive_count=2, init=tle.gpu.READY)
    v_full = tle.gpu.alloc_barriers(V_SLOTS, expect_bytes=BLOCK_N * DIM * size)
    v_empty = tle.gpu.alloc_barriers(V_SLOTS, arrive_count=2, init=tle.gpu.READY)
    order = tle.gpu.alloc_tile_scheduler(ORDER, counter_ptr, readers=2)
    turns = tle.gpu.alloc_barriers(2, arrive_count=256)  # threads of both groups
    tle.gpu.warp_specialize(
        (
            (consume, (
                q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, turns, o_ptr, lse_ptr, heads,
                queries, keys, scale, BLOCK_M, BLOCK_N, DIM, K_SLOTS, V_SLOTS, CAUSAL, SECTION, TURNS,
                BEHIND, 0,
            )),
            (consume, (
                q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, turns, o_ptr, lse_ptr, heads,
                queries, keys, scale, BLOCK_M, BLOCK_N, DIM, K_SLOTS, V_SLOTS, CAUSAL, SECTION, TURNS,
                BEHIND, 1,
            )),
            (produce, (
                q_desc, k_desc, v_desc, q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, order, heads,
                queries, keys, BLOCK_M, BLOCK_N, DIM, K_SLOTS, V_SLOTS, CAUSAL, SECTION,
            )),
        ),
        worker_num_warps=(4, 1),
        worker_num_regs=(REGISTERS, 24),
    )  # fmt: skip


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "K_SLOTS": 3, "V_SLOTS": 2, "SECTION": 16, "TURNS": True, "BEHIND": False}
BLOCKS |= {"REGISTERS": 240}


def launch(q, k, v, causal: bool, programs: int, blocks=BLOCKS, scale: float | None = None, into=None, idle: int = 0):
    """Attention of q [batch, heads, queries, dim] and its like: the kernel, what it gives and the sums' logarithms.

    ``into`` are both results, where they are there already; ``idle`` programs find no tile.
    """
    import torch

    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    o, lse = into or (torch.empty_like(q), torch.empty(q.shape[:3], device=q.device, dtype=torch.float32))
    rows = {"q": blocks["BLOCK_M"] // 2, "k": blocks["BLOCK_N"], "v": blocks["BLOCK_N"]}
    flat = {"q": q, "k": k, "v": v}
    tiles = [
        TensorDescriptor(x, [x.numel() // dim, dim], [dim, 1], [rows[name], dim])
        for name, x in ((name, x.reshape(-1, dim)) for name, x in flat.items())
    ]
    scale = (dim**-0.5 if scale is None else scale) * 1.4426950408889634
    count = triton.cdiv(queries, blocks["BLOCK_M"]) * batch * heads
    blocks = {"ORDER": "dynamic" if causal else "static"} | blocks
    kernel = attention[(min(programs, count) + idle,)](
        *(*tiles, o, lse, common.counter_of(q.device, "int32"), batch * heads, queries, keys, scale),
        **(blocks | {"DIM": dim, "CAUSAL": causal}),
        num_warps=4,
    )
    return kernel, o, lse


def compile_for(target):
    compiled = []
    for dtype, causal in (("fp16", False), ("fp16", True), ("bf16", True)):
        blocks = BLOCKS | {"DIM": 128, "CAUSAL": causal, "ORDER": "dynamic" if causal else "static"}
        types = {
            "q_desc": f"tensordesc<{dtype}[{blocks['BLOCK_M'] // 2},128]>",
            "k_desc": f"tensordesc<{dtype}[{blocks['BLOCK_N']},128]>",
            "v_desc": f"tensordesc<{dtype}[{blocks['BLOCK_N']},128]>",
            "o_ptr": f"*{dtype}",
            "lse_ptr": "*fp32",
            "counter_ptr": "*i32",
            "scale": "fp32",
        } | dict.fromkeys(("heads", "queries", "keys"), "i32")
        compiled.append(common.compile_ahead(attention, target, types, blocks, num_warps=4))
    return compiled


def expected(q, k, v, causal: bool):
    """In double precision: the result, and the logarithms of the sums."""
    import torch

    s = q.double() @ k.double().transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], device=s.device).triu(1).bool(), float("-inf"))
    return s.softmax(-1) @ v.double(), s.logsumexp(-1)


def check():
    import torch

    # batch, heads, queries, keys
    every = ((1, 1, 128, 128), (2, 3, 129, 257), (1, 5, 1000, 1000), (3, 7, 77, 1025), (2, 40, 1024, 1024))
    for batch, heads, queries, keys in common.sizes(gpu=every, cpu=every[1:2], watched=every[:2]):
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            q, k, v = (
                torch.randn(batch, heads, length, 128).to(common.device(), dtype) for length in (queries, keys, keys)
            )
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            for causal in (False, True):
                kernel, o, lse = launch(q, k, v, causal, programs=132)
                want, sums = expected(q, k, v, causal)
                what = f"{batch}×{heads}, {queries} of {keys} {str(dtype).removeprefix('torch.')}"
                what += ", causal" if causal else ""
                yield kernel, common.compare(what, o, want, relative=unit, absolute=2 * unit)
                yield kernel, common.compare(f"{what}: sums", lse, sums, absolute=1e-4)


def stress(random):
    import torch

    batch, heads = random.choice(((1, 2), (1, 3), (2, 2)))
    most = common.sizes(gpu=250, cpu=75)
    queries, keys = (2 * random.randint(1, most) + 1 for _ in range(2))  # of other sizes there are more kernels
    causal = random.random() < 0.5
    q, k, v = (
        torch.randn(batch, heads, length, 128, device=common.device()).to(torch.bfloat16)
        for length in (queries, keys, keys)
    )
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    what = f"{batch}×{heads}, {queries} of {keys}{', causal' if causal else ''}, at most {programs}, {idle} idle"
    return common.Stressed(
        what,
        lambda *into: launch(q, k, v, causal, programs, into=into, idle=idle),
        *(expected(q, k, v, causal), (q.dtype, torch.float32), (2**-7, 0.0), (2**-6, 1e-4)),
    )


if __name__ == "__main__":
    sys.exit(common.main("12 attention by specialised warps", compile_for, check))
