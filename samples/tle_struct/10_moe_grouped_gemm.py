"""Sample 10: the products of a mixture of experts. CUDA code in warps of its own fetches the tokens' rows. For sm_90.

The rows of one expert lie anywhere among all tokens, and the copy engine does not gather them. So a worker of four
warps runs a region, which fetches 16 bytes at a time by ``cp.async`` into the slots that ``wgmma`` of the kernel's own
warps reads. It tells them of a slot by a barrier of the kernel (``tle::barrier``) once the slot's copies are done;
those of the two steps behind it are under way meanwhile. The expert's weights come by the copy engine, which the same
worker asks, in Triton.

On the CPU the warps take turns on one thread, at the barriers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
import tle_raw.language as tle
from tle_raw import AnyLayout, Barrier, Buffer, In, Out, Pointer, Scalar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

LATER = 2  # steps whose copies are under way, while those of the step before them are awaited

SOURCE = r"""
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>

__device__ void wait_for_copies(tle::barrier full, bool tells) {
  tle::barrier::fence();  // wgmma reads shared memory by another way than cp.async writes it
  __syncthreads();
  if (tells && threadIdx.x == 0) full.arrive();
}

// to(i, j) = x[rows[i]][column + j]: zeros where there is no row, and beyond the columns. `full` tells of the slot that
// was begun LATER calls before. A thread has one run of 16 bytes in every so many rows.
template <class T, int M, int K, class Layout>
__device__ void fetch_rows(const T* x, tle::tile<const int, M> rows, int column, int columns,
                           tle::buffer<T, Layout, M, K> to, tle::barrier full, int tells) {
  constexpr int RUN = 16 / sizeof(T), RUNS = K / RUN, THREADS = 128;
  const int j = threadIdx.x % RUNS * RUN, at = column + j;
#pragma unroll
  for (int pass = 0; pass < M * RUNS / THREADS; ++pass) {
    const int i = threadIdx.x / RUNS + pass * (THREADS / RUNS);
    const int row = rows[i];
    const bool inside = row >= 0 && at < columns;
    const T* from = x + (inside ? (long long)row * columns + at : 0);
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::
                 "r"(unsigned(__cvta_generic_to_shared(to.data(i, j)))),
                 "l"(__cvta_generic_to_global(from)), "r"(inside ? 16 : 0) : "memory");
  }
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 2;" ::: "memory");
  wait_for_copies(full, tells);
}

__device__ void tell_last(tle::barrier full) {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  wait_for_copies(full, true);
}
"""


@tle_raw.dialect("cuda", source=SOURCE)
def fetch_rows(
    x: Pointer["T"],
    rows: In[Buffer["i32", "M"]],
    column: Scalar["i32"],
    columns: Scalar["i32"],
    to: Out[Buffer["T", "M", "K", AnyLayout]],
    full: Barrier,
    tells: Scalar["i32"],
): ...


@tle_raw.dialect("cuda", source=SOURCE)
def tell_last(full: Barrier): ...


@triton.jit
def produce(
    x_ptr, pairs_ptr, experts_ptr, w_desc, a, b, rows, full_a, full_b, empty, blocks, choices, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    LATER: tl.constexpr,
):  # fmt: skip
    """Bring each step's rows and weights into the slots in turn."""
    tiles_n, steps = tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step = 0
    for tile in range(tl.program_id(0), blocks * tiles_n, tl.num_programs(0)):
        block, tile_n = tle.gpu.grouped_tile(tile, blocks, tiles_n, GROUP_M)
        row = tl.load(experts_ptr + block) * N + tile_n * BLOCK_N
        pair = tl.load(pairs_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M))
        rows.store(tl.where(pair < 0, -1, pair // choices))
        for k in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(empty[slot], step // SLOTS)
            tle.gpu.copy(w_desc, b[slot], [BLOCK_N, BLOCK_K], offsets=[row, k * BLOCK_K], barrier=full_b[slot])
            done = full_a[(step + SLOTS - LATER) % SLOTS]
            fetch_rows(x_ptr, rows, k * BLOCK_K, K, a[slot], done, (step >= LATER).to(tl.int32))
            step += 1
    for later in tl.static_range(LATER):
        if step >= LATER - later:
            tell_last(full_a[(step - LATER + later) % SLOTS])


@triton.jit
def store_rows(y_ptr, pair, column, y, N, PARTS: tl.constexpr):
    """Each pair's row, in parts: a part goes through shared memory on its way."""
    if PARTS == 1:
        columns = column + tl.arange(0, y.shape[1])
        at = pair.to(tl.int64)[:, None] * N + columns[None, :]
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=(pair >= 0)[:, None] & (columns < N)[None, :])
    else:
        WIDTH: tl.constexpr = y.shape[1] // 2
        left, right = tl.split(tl.permute(tl.reshape(y, (y.shape[0], 2, WIDTH)), (0, 2, 1)))
        store_rows(y_ptr, pair, column, left, N, PARTS // 2)
        store_rows(y_ptr, pair, column + WIDTH, right, N, PARTS // 2)


@triton.jit
def consume(
    pairs_ptr, y_ptr, a, b, full_a, full_b, empty, blocks, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    PARTS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply the rows of one group of warps, with one product under way, and write each pair's row."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles_n, steps = tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step = 0
    tl.assume(steps > 0)  # a way around the inner loop would meet it where products are under way
    for tile in range(tl.program_id(0), blocks * tiles_n, tl.num_programs(0)):
        y = tl.zeros((ROWS, BLOCK_N), tl.float32)
        for k in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(full_a[slot], step // SLOTS)
            tle.gpu.barrier_wait(full_b[slot], step // SLOTS)
            y = tle.gpu.wgmma(a[slot].subslice(GROUP * ROWS, ROWS, dim=0), b[slot], y, trans_b=True)
            y = tle.gpu.wgmma_wait(1, y)
            if k > 0:  # the product of the step before is done, and its slot is free
                tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
            step += 1
        y = tle.gpu.wgmma_wait(0, y)
        tle.gpu.barrier_arrive(empty[(step - 1) % SLOTS], 1, (step - 1) // SLOTS)
        block, tile_n = tle.gpu.grouped_tile(tile, blocks, tiles_n, GROUP_M)
        pair = tl.load(pairs_ptr + block * BLOCK_M + GROUP * ROWS + tl.arange(0, ROWS))
        store_rows(y_ptr, pair, tile_n * BLOCK_N, y, N, PARTS)


@triton.jit
def moe_products(
    x_ptr, pairs_ptr, experts_ptr, w_desc, y_ptr, blocks, choices, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    PARTS: tl.constexpr, REGISTERS: tl.constexpr, LATER: tl.constexpr,
):  # fmt: skip
    """``y[pair] = x[pair // choices] @ w[expert of the pair].T``: x is [tokens, K], w [experts * N, K].

    ``pairs`` holds the pairs of tokens and choices in the order of their experts, each expert's filled up with -1 to
    whole blocks of BLOCK_M, ``experts`` the expert of each of the ``blocks``.
    """
    a = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=w_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=w_desc.dtype)
    rows = tle.gpu.alloc([BLOCK_M], dtype=tl.int32)
    full_a = tle.gpu.alloc_barriers(SLOTS)
    full_b = tle.gpu.alloc_barriers(SLOTS, expect_bytes=BLOCK_N * BLOCK_K * 2)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        (
            (consume, (
                pairs_ptr, y_ptr, a, b, full_a, full_b, empty, blocks, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M,
                PARTS, 0,
            )),
            (consume, (
                pairs_ptr, y_ptr, a, b, full_a, full_b, empty, blocks, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M,
                PARTS, 1,
            )),
            (produce, (
                x_ptr, pairs_ptr, experts_ptr, w_desc, a, b, rows, full_a, full_b, empty, blocks, choices, N, K,
                BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, LATER,
            )),
        ),
        worker_num_warps=(4, 4),
        worker_num_regs=(REGISTERS, 72),
    )  # fmt: skip


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8, "PARTS": 8, "REGISTERS": 208}
BLOCKS |= {"LATER": LATER}
WARPS = 4  # of the default partition


def in_blocks(chosen, experts: int, size: int):
    """The pairs in the order of their experts, in whole blocks, and the expert of each block. Sample 07 is faster."""
    import torch

    flat = chosen.flatten()
    order = torch.argsort(flat, stable=True)
    counts = torch.bincount(flat, minlength=experts)
    blocks = (counts + size - 1) // size
    pairs = torch.full((int(blocks.sum()) * size,), -1, dtype=torch.int32, device=chosen.device)
    begin = (blocks.cumsum(0) - blocks) * size - (counts.cumsum(0) - counts)
    pairs[torch.arange(flat.numel(), device=chosen.device) + begin[flat[order]]] = order.to(torch.int32)
    return pairs, torch.repeat_interleave(torch.arange(experts, device=chosen.device), blocks).to(torch.int32)


def launch(x, w, pairs, experts, y, choices: int, programs: int, blocks=BLOCKS, idle: int = 0):
    """``idle`` programs find no tile."""
    N, K = w.shape[1:]
    w_desc = TensorDescriptor.from_tensor(w.view(-1, K), [blocks["BLOCK_N"], blocks["BLOCK_K"]])
    count = experts.numel()
    grid = (common.sharing(triton.cdiv(N, blocks["BLOCK_N"]) * count, programs) + idle,)
    return moe_products[grid](x, pairs, experts, w_desc, y, count, choices, N, K, **blocks, num_warps=WARPS)


def compile_for(target):
    types = {"x_ptr": "*fp16", "pairs_ptr": "*i32", "experts_ptr": "*i32", "y_ptr": "*fp16"}
    types |= {"w_desc": f"tensordesc<fp16[{BLOCKS['BLOCK_N']},{BLOCKS['BLOCK_K']}]>"}
    types |= dict.fromkeys(("blocks", "choices", "N", "K"), "i32")
    order = ("x_ptr", "pairs_ptr", "experts_ptr", "w_desc", "y_ptr", "blocks", "choices", "N", "K")
    types = {name: types[name] for name in order}
    return [common.compile_ahead(moe_products, target, types, BLOCKS, num_warps=WARPS)]


def expected(x, w, chosen):
    """In double precision."""
    import torch

    experts, N, _ = w.shape
    choices = chosen.shape[1]
    want = torch.empty((chosen.numel(), N), device=x.device, dtype=torch.float64)
    for expert in range(experts):
        pair = (chosen.flatten() == expert).nonzero()[:, 0]
        want[pair] = x.double()[pair // choices] @ w[expert].double().T
    return want


def stress(random):
    import torch

    tokens, N, K = common.odd_or_even(random, *common.sizes(gpu=(300, 600, 500), cpu=(40, 200, 90)))
    experts = random.choice((3, 5, 9))
    few = random.randint(2, experts)  # which are chosen at all
    x = torch.randn((tokens, K), device=common.device()).to(torch.bfloat16)
    w = torch.randn((experts, N, K), device=x.device).to(x.dtype)
    chosen = torch.rand((tokens, few), device=x.device).topk(2).indices
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    given = in_blocks(chosen, experts, BLOCKS["BLOCK_M"])
    what = f"{tokens} tokens × 2 of {few} of {experts} experts, {N} × {K}, at most {programs} programs, {idle} idle"
    return common.Stressed(
        what,
        lambda y: launch(x, w, *given, y, 2, programs, idle=idle),
        *((expected(x, w, chosen),), (x.dtype,), (2**-7,), (3e-5 * K**0.5,)),
    )


def check():
    import torch

    small = (1, 1, 1, 8, 8), (77, 4, 2, 200, 136), (300, 8, 2, 504, 72)
    every = (*small, (1000, 16, 4, 384, 1016), (4096, 8, 2, 2048, 1024))
    for tokens, experts, choices, N, K in common.sizes(gpu=every, cpu=small[1:2], watched=small):
        for dtype in common.sizes(gpu=(torch.float16, torch.bfloat16), cpu=(torch.bfloat16,)):
            x = torch.randn((tokens, K)).to(common.device(), dtype)
            w = torch.randn((experts, N, K)).to(common.device(), dtype)
            chosen = torch.rand((tokens, experts)).topk(choices).indices.to(common.device())
            want = expected(x, w, chosen)
            y = torch.full(want.shape, float("nan"), device=x.device, dtype=dtype)
            kernel = launch(x, w, *in_blocks(chosen, experts, BLOCKS["BLOCK_M"]), y, choices, programs=132)
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            name = str(dtype).removeprefix("torch.")
            what = f"{tokens} tokens × {choices} of {experts} experts, {N} × {K} {name}"
            yield kernel, common.compare(what, y, want, relative=unit, absolute=3e-5 * K**0.5)


if __name__ == "__main__":
    sys.exit(common.main("10 products of a mixture of experts by specialised warps", compile_for, check))
