"""Sample 14: the gradients of attention by specialised warps. For sm_90.

A program owns 128 keys and their values, 64 for each of two groups of four warps, and walks over the queries. Each step
is five products: scores and the weights' gradients, both with keys as rows, so that they are operands in registers for
the gradients of values and keys, which stay in registers up to the end; and the queries' gradients, for which the
groups exchange what they have through shared memory. One warp copies queries, the result's gradients and two numbers
for each row. Two more add the queries' gradients to global memory: the copy engine does so itself.

Two small kernels stand around it: `prepare` sums products of the result and its gradients by rows, and `finish` rounds
the queries' gradients, which are summed in f32. The order in which programs add is open: last bits of these differ from
launch to launch.
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

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit(do_not_specialize=("queries", "padded"))
def prepare(
    o_ptr, do_ptr, lse_ptr, dq_ptr, rows_ptr, queries, padded,
    BLOCK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Of a block of rows of a head: logarithms to the base 2, and sums of o * do; and zeros for dq.

    ``rows`` is [2, heads, padded]. Behind the last row of a head are infinity and 0: such rows have no weights.
    """
    head, rows = tl.program_id(1), tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_row = rows < queries
    at = (head * queries + rows)[:, None] * DIM + tl.arange(0, DIM)[None, :]
    o = tl.load(o_ptr + at, mask=is_row[:, None], other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at, mask=is_row[:, None], other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + head * queries + rows, mask=is_row, other=float("inf"))
    place = head * padded + rows
    tl.store(rows_ptr + place, lse * LOG2E)
    tl.store(rows_ptr + tl.num_programs(1) * padded + place, tl.sum(o * do, 1))
    tl.store(dq_ptr + at, tl.zeros((BLOCK, DIM), tl.float32), mask=is_row[:, None])


@triton.jit
def finish(sum_ptr, dq_ptr, count, scale, BLOCK: tl.constexpr):
    """The queries' gradients, in their own dtype."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(sum_ptr + i, mask=i < count)
    tl.store(dq_ptr + i, (x * scale).to(dq_ptr.dtype.element_ty), mask=i < count)


@triton.jit
def tile_of(number, tiles, heads, CAUSAL: tl.constexpr, SECTION: tl.constexpr):
    """Tile of keys and head of a program. Where the first keys are seen by the most rows, they come first."""
    if not CAUSAL:
        return number % tiles, number // tiles
    first = number // (SECTION * tiles) * SECTION
    width = tl.minimum(heads - first, SECTION)
    rest = number - first * tiles
    return rest // width, first + rest % width


@triton.jit
def walk_of(queries, keys, heads, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
            SECTION: tl.constexpr):  # fmt: skip
    """Tile of keys, head, the first tile of queries that sees them, and how many do."""
    tile, head = tile_of(tl.program_id(0), tl.cdiv(keys, BLOCK_N), heads, CAUSAL, SECTION)
    first = tile * (BLOCK_N // BLOCK_M) if CAUSAL else 0
    return tile, head, first, tl.maximum(tl.cdiv(queries, BLOCK_M) - first, 0)


@triton.jit
def produce(
    q_desc, k_desc, v_desc, do_desc, rows_ptr, k, v, q, do, lse, delta, k_full, full, empty, heads, queries, keys,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, SLOTS: tl.constexpr, CAUSAL: tl.constexpr,
    SECTION: tl.constexpr,
):  # fmt: skip
    """Copy keys and values once, then queries, the result's gradients and what belongs to their rows."""
    HALF: tl.constexpr = BLOCK_N // 2
    tile, head, first, steps = walk_of(queries, keys, heads, BLOCK_M, BLOCK_N, CAUSAL, SECTION)
    padded = tl.cdiv(queries, BLOCK_M) * BLOCK_M
    for group in tl.static_range(2):
        row = head * keys + tile * BLOCK_N + group * HALF
        tle.gpu.copy(k_desc, k[group], [HALF, DIM], offsets=[row, 0], barrier=k_full[group])
        tle.gpu.copy(v_desc, v[group], [HALF, DIM], offsets=[row, 0], barrier=k_full[group])
    for n in range(steps):
        slot, use = n % SLOTS, n // SLOTS
        row = (first + n) * BLOCK_M
        i = head * padded + row + tl.arange(0, BLOCK_M)
        one, other = tl.load(rows_ptr + i), tl.load(rows_ptr + heads * padded + i)
        tle.gpu.barrier_wait(empty[slot], use)
        tle.gpu.copy(q_desc, q[slot], [BLOCK_M, DIM], offsets=[head * queries + row, 0], barrier=full[slot])
        tle.gpu.copy(do_desc, do[slot], [BLOCK_M, DIM], offsets=[head * queries + row, 0], barrier=full[slot])
        lse[slot].store(one)
        delta[slot].store(other)
        tle.gpu.barrier_arrive(full[slot], 1, use)


@triton.jit
def add(
    dq_desc, dq, dq_full, dq_empty, heads, queries, keys,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr,
    SECTION: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Add what a group has of the queries' gradients, a half of the rows or of the columns, to global memory."""
    _, head, first, steps = walk_of(queries, keys, heads, BLOCK_M, BLOCK_N, CAUSAL, SECTION)
    row, column = (GROUP * HEIGHT, 0) if HEIGHT < BLOCK_M else (0, GROUP * WIDTH)
    for n in range(steps):
        at = [head * queries + (first + n) * BLOCK_M + row, column]
        tle.gpu.barrier_wait(dq_full[GROUP], n)
        tle.gpu.copy(dq[GROUP], dq_desc, [HEIGHT, WIDTH], offsets=at, reduce="add")
        tle.gpu.barrier_arrive(dq_empty[GROUP], 1, n)


@triton.jit
def walk(
    begin, end, first, steps, tile, k, v, q, do, lse, delta, ds, dq, full, empty, ds_full, dq_full, dq_empty, keys,
    scale, s, dk, dv,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, SLOTS: tl.constexpr,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Steps begin to end of a group. With MASKED some of its keys are not there, or not seen.

    The scores ``s`` of a step are made behind the products of the step before, whose last one is written meanwhile.
    """
    HALF: tl.constexpr = BLOCK_N // 2
    for n in range(begin, end):
        slot, use = n % SLOTS, n // SLOTS
        dp = tle.gpu.wgmma(v[GROUP], do[slot], trans_b=True)
        p = tl.math.exp2(s * scale - lse[slot].load()[None, :])
        if MASKED:
            here = tile * BLOCK_N + GROUP * HALF + tl.arange(0, HALF)
            seen = (here < keys)[:, None]
            if CAUSAL:
                seen = seen & (here[:, None] <= ((first + n) * BLOCK_M + tl.arange(0, BLOCK_M))[None, :])
            p = tl.where(seen, p, 0.0)
        dp = tle.gpu.wgmma_wait(0, dp)
        dv = tle.gpu.wgmma(p.to(q.dtype), do[slot], dv)
        g = (p * (dp - delta[slot].load()[None, :])).to(q.dtype)
        ds[n % 2 * 2 + GROUP].store(g)
        tle.gpu.barrier_arrive(ds_full[n % 2], 1, n // 2)
        dk = tle.gpu.wgmma(g, q[slot], dk)
        tle.gpu.barrier_wait(ds_full[n % 2], n // 2)
        one, other = ds[n % 2 * 2], ds[n % 2 * 2 + 1]
        if HEIGHT < BLOCK_M:  # a half of the rows
            part = tle.gpu.wgmma(one.subslice(GROUP * HEIGHT, HEIGHT), k[0], trans_a=True)
            part = tle.gpu.wgmma(other.subslice(GROUP * HEIGHT, HEIGHT), k[1], part, trans_a=True)
        else:  # a half of the columns
            part = tle.gpu.wgmma(one, k[0].subslice(GROUP * WIDTH, WIDTH), trans_a=True)
            part = tle.gpu.wgmma(other, k[1].subslice(GROUP * WIDTH, WIDTH), part, trans_a=True)
        dv = tle.gpu.wgmma_wait(3, dv)
        dk = tle.gpu.wgmma_wait(2, dk)
        tle.gpu.barrier_arrive(empty[slot], 1, use)
        if n + 1 < steps:
            tle.gpu.barrier_wait(full[(n + 1) % SLOTS], (n + 1) // SLOTS)
        s = tle.gpu.wgmma(k[GROUP], q[(n + 1) % SLOTS], trans_b=True)  # behind the last step its result is not used
        part = tle.gpu.wgmma_wait(1, part)
        tle.gpu.barrier_wait(dq_empty[GROUP], n)
        dq[GROUP].store(part)
        tle.gpu.barrier_arrive(dq_full[GROUP], 1, n)
        s = tle.gpu.wgmma_wait(0, s)
    return s, dk, dv


@triton.jit
def consume(
    dk_ptr, dv_ptr, k, v, q, do, lse, delta, ds, dq, k_full, full, empty,
    ds_full, dq_full, dq_empty, heads, queries, keys, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
    SLOTS: tl.constexpr, CAUSAL: tl.constexpr, SECTION: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """The gradients of a group's keys and values. ``scale`` is that of scores, to the base 2."""
    HALF: tl.constexpr = BLOCK_N // 2
    tile, head, first, steps = walk_of(queries, keys, heads, BLOCK_M, BLOCK_N, CAUSAL, SECTION)
    masked = tl.minimum(steps, BLOCK_N // BLOCK_M) if CAUSAL else 0
    masked = tl.where((tile + 1) * BLOCK_N > keys, steps, masked)
    dk, dv = tl.zeros((HALF, DIM), tl.float32), tl.zeros((HALF, DIM), tl.float32)
    tle.gpu.barrier_wait(k_full[0], 0)
    tle.gpu.barrier_wait(k_full[1], 0)
    if steps > 0:
        tle.gpu.barrier_wait(full[0], 0)
    s = tle.gpu.wgmma(k[GROUP], q[0], trans_b=True)
    s = tle.gpu.wgmma_wait(0, s)
    s, dk, dv = walk(
        0, masked, first, steps, tile, k, v, q, do, lse, delta, ds, dq, full, empty, ds_full, dq_full,
        dq_empty, keys, scale, s, dk, dv,
        BLOCK_M, BLOCK_N, HEIGHT, WIDTH, SLOTS, CAUSAL, True, GROUP,
    )  # fmt: skip
    s, dk, dv = walk(
        masked, steps, first, steps, tile, k, v, q, do, lse, delta, ds, dq, full, empty, ds_full, dq_full,
        dq_empty, keys, scale, s, dk, dv,
        BLOCK_M, BLOCK_N, HEIGHT, WIDTH, SLOTS, CAUSAL, False, GROUP,
    )  # fmt: skip
    rows = tile * BLOCK_N + GROUP * HALF + tl.arange(0, HALF)
    at = (head * keys + rows)[:, None] * DIM + tl.arange(0, DIM)[None, :]
    tl.store(dv_ptr + at, dv.to(q.dtype), mask=(rows < keys)[:, None])
    tl.store(dk_ptr + at, (dk * (scale / LOG2E)).to(q.dtype), mask=(rows < keys)[:, None])


@triton.jit(do_not_specialize=("heads", "queries", "keys"))
def gradients(
    q_desc, k_desc, v_desc, do_desc, dq_desc, rows_ptr, dk_ptr, dv_ptr, heads, queries, keys, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr, SLOTS: tl.constexpr, CAUSAL: tl.constexpr,
    SECTION: tl.constexpr, REGISTERS: tl.constexpr,
):  # fmt: skip
    """dk and dv of each head, and sums of dq, which are to be multiplied by the scale of scores.

    Operands are [heads * queries, DIM], or of keys, of less than 2^31 elements. The last tile of a head may hold rows
    of the next one: their weights are 0, so that values there are to be finite numbers.
    """
    HALF: tl.constexpr = BLOCK_N // 2
    HEIGHT: tl.constexpr = BLOCK_M if DIM == 128 else BLOCK_M // 2  # of what a group has of a tile of dq
    WIDTH: tl.constexpr = DIM // 2 if DIM == 128 else DIM
    k = tle.gpu.alloc([2, HALF, DIM], dtype=k_desc.dtype)
    v = tle.gpu.alloc([2, HALF, DIM], dtype=v_desc.dtype)
    q = tle.gpu.alloc([SLOTS, BLOCK_M, DIM], dtype=q_desc.dtype)
    do = tle.gpu.alloc([SLOTS, BLOCK_M, DIM], dtype=do_desc.dtype)
    lse = tle.gpu.alloc([SLOTS, BLOCK_M], dtype=tl.float32, nv_mma_shared_layout=False)
    delta = tle.gpu.alloc([SLOTS, BLOCK_M], dtype=tl.float32, nv_mma_shared_layout=False)
    ds = tle.gpu.alloc([4, HALF, BLOCK_M], dtype=q_desc.dtype)  # of two steps, of both groups
    dq = tle.gpu.alloc([2, HEIGHT, WIDTH], dtype=tl.float32)
    size: tl.constexpr = q_desc.dtype.primitive_bitwidth // 8
    k_full = tle.gpu.alloc_barriers(2, expect_bytes=2 * HALF * DIM * size)
    # A step's copies are one arrival, the numbers of its rows another one.
    full = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, expect_bytes=2 * BLOCK_M * DIM * size)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, init=tle.gpu.READY)
    ds_full = tle.gpu.alloc_barriers(2, arrive_count=2)
    dq_full = tle.gpu.alloc_barriers(2)
    dq_empty = tle.gpu.alloc_barriers(2, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        (
            (consume, (
                dk_ptr, dv_ptr, k, v, q, do, lse, delta, ds, dq, k_full, full, empty, ds_full, dq_full,
                dq_empty, heads, queries, keys, scale,
                BLOCK_M, BLOCK_N, DIM, HEIGHT, WIDTH, SLOTS, CAUSAL, SECTION, 0,
            )),
            (consume, (
                dk_ptr, dv_ptr, k, v, q, do, lse, delta, ds, dq, k_full, full, empty, ds_full, dq_full,
                dq_empty, heads, queries, keys, scale,
                BLOCK_M, BLOCK_N, DIM, HEIGHT, WIDTH, SLOTS, CAUSAL, SECTION, 1,
            )),
            (produce, (
                q_desc, k_desc, v_desc, do_desc, rows_ptr, k, v, q, do, lse, delta, k_full, full, empty, heads,
                queries, keys, BLOCK_M, BLOCK_N, DIM, SLOTS, CAUSAL, SECTION,
            )),
            (add, (
                dq_desc, dq, dq_full, dq_empty, heads, queries, keys, BLOCK_M, BLOCK_N, HEIGHT, WIDTH, CAUSAL, SECTION,
                0,
            )),
            (add, (
                dq_desc, dq, dq_full, dq_empty, heads, queries, keys, BLOCK_M, BLOCK_N, HEIGHT, WIDTH, CAUSAL, SECTION,
                1,
            )),
        ),
        worker_num_warps=(4, 1, 1, 1),
        worker_num_regs=(REGISTERS, 24, 24, 24),
    )  # fmt: skip


COMMON = {"BLOCK_N": 128, "SLOTS": 2, "SECTION": 8, "REGISTERS": 240}
DTYPES = (("float16", 128), ("bfloat16", 128), ("float16", 64), ("bfloat16", 64))  # and the dim of heads
BLOCKS = {64: COMMON | {"BLOCK_M": 128}, 128: COMMON | {"BLOCK_M": 64}}  # by the dim of heads


def launch(q, k, v, o, lse, do, causal: bool, blocks=None, scale: float | None = None, into=None):
    """The kernel, and the gradients dq, dk, dv.

    q, o and do are [batch, heads, queries, dim], k and v of keys; ``lse`` are the logarithms of the sums of each row's
    exponentials, as sample 12 gives them, f32. ``into`` are the gradients, where they are there already.
    """
    import torch

    q, k, v, o, lse, do = (x.contiguous() for x in (q, k, v, o, lse, do))
    batch, heads, queries, dim = q.shape
    keys, heads = k.shape[2], batch * heads
    blocks = BLOCKS[dim] if blocks is None else blocks
    dq, dk, dv = into or (torch.empty_like(x) for x in (q, k, v))
    m, n = blocks["BLOCK_M"], blocks["BLOCK_N"]
    padded = triton.cdiv(queries, m) * m
    sums = torch.empty(heads * queries, dim, device=q.device, dtype=torch.float32)
    rows = torch.empty(2, heads, padded, device=q.device, dtype=torch.float32)
    scale = dim**-0.5 if scale is None else scale
    prepare[(padded // m, heads)](o, do, lse, sums, rows, queries, padded, BLOCK=m, DIM=dim)
    tiles = [
        TensorDescriptor(x.reshape(-1, dim), [x.numel() // dim, dim], [dim, 1], [height, width])
        for x, height, width in (
            (q, m, dim), (k, n // 2, dim), (v, n // 2, dim), (do, m, dim), (sums, 64, 64),
        )
    ]  # fmt: skip
    kernel = gradients[(triton.cdiv(keys, n) * heads,)](
        *(*tiles, rows, dk, dv, heads, queries, keys, scale * LOG2E.value),
        **(blocks | {"DIM": dim, "CAUSAL": causal}),
        num_warps=4,
    )
    finish[(triton.cdiv(sums.numel(), 4096),)](sums, dq, sums.numel(), scale, BLOCK=4096)
    return kernel, dq, dk, dv


def compile_for(target):
    compiled = []
    for dtype, causal, dim in (("fp16", False, 128), ("bf16", True, 64)):
        blocks = BLOCKS[dim] | {"DIM": dim, "CAUSAL": causal}
        m, half = blocks["BLOCK_M"], blocks["BLOCK_N"] // 2
        types = {
            "q_desc": f"tensordesc<{dtype}[{m},{dim}]>",
            "k_desc": f"tensordesc<{dtype}[{half},{dim}]>",
            "v_desc": f"tensordesc<{dtype}[{half},{dim}]>",
            "do_desc": f"tensordesc<{dtype}[{m},{dim}]>",
            "dq_desc": "tensordesc<fp32[64,64]>",
            "rows_ptr": "*fp32",
            "dk_ptr": f"*{dtype}",
            "dv_ptr": f"*{dtype}",
            "scale": "fp32",
        } | dict.fromkeys(("heads", "queries", "keys"), "i32")
        compiled.append(common.compile_ahead(gradients, target, types, blocks, num_warps=4))
    return compiled


def expected(q, k, v, do, causal: bool):
    """In double precision: the result, the logarithms of the sums, and the gradients of q, k and v."""
    import torch

    scale = q.shape[-1] ** -0.5
    q, k, v, do = (x.double() for x in (q, k, v, do))
    s = q @ k.transpose(-1, -2) * scale
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], device=s.device).triu(1).bool(), float("-inf"))
    lse = s.logsumexp(-1)
    p = (s - lse[..., None]).exp()
    o, dp = p @ v, do @ v.transpose(-1, -2)
    ds = p * (dp - (do * o).sum(-1, keepdim=True)) * scale
    return o, lse, ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ do


def check():
    import torch

    # batch, heads, queries, keys
    every = ((1, 1, 128, 128), (2, 3, 129, 257), (1, 5, 1000, 1000), (3, 7, 77, 1025), (2, 40, 1024, 1024))
    kinds = [(dtype, dim, causal) for dtype, dim in DTYPES for causal in (False, True)]
    if common.on_cpu():  # a kernel for each of them takes seconds to compile
        kinds = [kinds[2], kinds[5]]
    for batch, heads, queries, keys in common.sizes(gpu=every, cpu=((1, 2, 300, 130),), watched=every[:2]):
        for name, dim, causal in kinds:
            dtype = getattr(torch, name)
            q, k, v, do = (
                torch.randn(batch, heads, length, dim).to(common.device(), dtype)
                for length in (queries, keys, keys, queries)
            )
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            o, lse, *wanted = expected(q, k, v, do, causal)
            kernel, *found = launch(q, k, v, o.to(dtype), lse.float(), do, causal)
            what = f"{batch}×{heads}, {queries} of {keys}, {dim} {name}" + (", causal" if causal else "")
            for part, got, want in zip(("dq", "dk", "dv"), found, wanted):
                allowed = 2 * unit * want.abs().max().item() + 1e-5
                yield kernel, common.compare(f"{what}: {part}", got, want, absolute=allowed)


def stress(random):
    import torch

    batch, heads = random.choice(((1, 1), (1, 3), (2, 2)))
    queries, keys = common.odd_or_even(random, *common.sizes(gpu=(300, 300), cpu=(150, 150)), step=1)
    causal = random.random() < 0.5
    q, k, v, do = (
        torch.randn(batch, heads, length, 128, device=common.device()).to(torch.bfloat16)
        for length in (queries, keys, keys, queries)
    )
    o, lse, *wanted = expected(q, k, v, do, causal)
    o, lse = o.to(q.dtype), lse.float()
    return common.Stressed(
        f"{batch}×{heads}, {queries} of {keys}{', causal' if causal else ''}",
        lambda *into: launch(q, k, v, o, lse, do, causal, into=into),
        *(tuple(wanted), (q.dtype,) * 3, (0.0,) * 3),
        tuple(2**-6 * want.abs().max().item() + 1e-5 for want in wanted),
    )


if __name__ == "__main__":
    sys.exit(common.main("14 gradients of attention by specialised warps", compile_for, check))
