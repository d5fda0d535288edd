"""Sample 10: the products of a mixture of experts. CUDA code in warps of its own fetches the tokens' rows. For sm_90.

The rows of one expert lie anywhere among all tokens, and the copy engine does not gather them. So four warps run a
region, which fetches them 16 bytes at a time by ``cp.async`` into the slots that ``wgmma`` of two other groups reads,
and asks the copy engine for the weights. Copies arrive at the slot's barrier (``tle::barrier``) when they are done, so
that all slots but those in use are under way. Who waits for them has a fence behind the wait (``see_copies``).

The weights are the left operand, and the tokens' rows are the columns of the result: a tile has as many of them as
``WIDTHS`` offers, from 16 to 160, where rows of a left operand come by 64. An expert's pairs are shared by as many
tiles as cost least, and no row is fetched that is not there.

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
from tle_raw import AnyLayout, Barrier, Buffer, Const, Descriptor, In, Out, Pointer, Scalar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

SOURCE = r"""
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>
#include <tle_raw/descriptor.h>

// A block of pairs: the expert whose weights they are multiplied with, the first of them, and how many there are.
struct block_of_pairs { int expert, begin, count, unused; };

// Where the tiles of a program are, in the order of tle.gpu.grouped_tile.
struct places {
  const block_of_pairs* blocks;
  int count, columns, group;  // of blocks, of tiles beside each other, of blocks whose tiles are walked together
  __device__ int first(int tile) const { return tile / (group * columns) * group; }
  __device__ int height(int tile) const { return min(count - first(tile), group); }
  __device__ block_of_pairs block(int tile) const {
    return blocks[first(tile) + tile % (group * columns) % height(tile)];
  }
  __device__ int column(int tile) const { return tile % (group * columns) / height(tile); }
};

// Copies 16 bytes of x, or as many zeros.
template <class T> __device__ void copy_run(T* to, const T* from, bool is_inside) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::
               "r"(unsigned(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
               "r"(is_inside ? 16 : 0) : "memory");
}

// Fills the slots of all tiles of the program in turn, each with a step of the weights and of the tokens' rows. Slots'
// barriers count an arrival of each thread, when its copies are done, and one that tells of the weights' bytes.
template <class T, int S, int THREADS, int N, int M, int R, int K, class Layout>
__device__ void fetch_tiles(const T* x, const int* pairs, const int* blocks, tle::descriptor<T, N, K> weights,
                            tle::buffer<T, Layout, N, K> w, tle::buffer<T, Layout, M, K> rows,
                            tle::buffer<T, Layout, R, K> more, tle::barrier full, tle::barrier empty, int count,
                            int choices, int height, int depth, int group, int first, int programs) {
  constexpr int RUN = 16 / sizeof(T), RUNS = K / RUN, AT_ONCE = THREADS / RUNS, PASSES = (M + R) / AT_ONCE;
  const int own = threadIdx.x / RUNS, column = threadIdx.x % RUNS * RUN, steps = (depth + K - 1) / K;
  const places at{reinterpret_cast<const block_of_pairs*>(blocks), count, (height + N - 1) / N, group};
  const int tiles = count * at.columns;
  if (first >= tiles) return;
  block_of_pairs block = at.block(first);
  int token[PASSES];  // that the thread copies of the next tile
  auto load_tokens = [&] {
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) {
      const int i = pass * AT_ONCE + own;
      token[pass] = i < block.count ? pairs[block.begin + i] / choices : 0;
    }
  };
  load_tokens();
  for (int tile = first, step = 0; tile < tiles; tile += programs) {
    const int present = block.count, row = block.expert * height + at.column(tile) * N;
    const T* from[PASSES];
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) from[pass] = x + (long long)token[pass] * depth + column;
    block = at.block(min(tile + programs, tiles - 1));
    for (int k = 0; k < steps; ++k, ++step) {
      const int slot = step % S;
      const tle::barrier here(full.word() + slot);
      const tle::buffer<T, Layout, M, K> to(rows.data() + slot * M * K);
      const tle::buffer<T, Layout, R, K> behind(more.data() + slot * R * K);
      tle::barrier(empty.word() + slot, 1).wait(step / S);
      if (threadIdx.x == 0) {
        here.expect(weights.bytes());
        weights.load(tle::buffer<T, Layout, N, K>(w.data() + slot * N * K), here, row, k * K);
      }
      const bool is_inside = k * K + column < depth;
#pragma unroll
      for (int pass = 0; pass < PASSES; ++pass) {
        const int i = pass * AT_ONCE + own;
        if (pass * AT_ONCE < present)
          copy_run(pass * AT_ONCE < M ? to.data(i, column) : behind.data(i - M, column),
                   is_inside ? from[pass] + k * K : x, is_inside);
      }
      here.arrive_after_copies();
      if (k == 0) load_tokens();
    }
  }
}

// Behind a wait for copies by cp.async: wgmma reads shared memory by another way than they write it.
__device__ void see_copies() { tle::barrier::fence(); }
"""


@tle_raw.dialect("cuda", source=SOURCE)
def fetch_tiles(
    x: Pointer["T"],
    pairs: Pointer["i32"],
    blocks: Pointer["i32"],
    weights: Descriptor["T", "N", "K"],
    w: Out[Buffer["T", "N", "K", AnyLayout]],
    rows: Out[Buffer["T", "M", "K", AnyLayout]],
    more: Out[Buffer["T", "R", "K", AnyLayout]],
    full: Barrier,
    empty: In[Barrier],
    slots: Const["S"],
    threads: Const["THREADS"],
    count: Scalar["i32"],
    choices: Scalar["i32"],
    height: Scalar["i32"],
    depth: Scalar["i32"],
    group: Scalar["i32"],
    first: Scalar["i32"],
    programs: Scalar["i32"],
): ...


@tle_raw.dialect("cuda", source=SOURCE, ordered=False)
def see_copies(): ...


@triton.jit
def produce(
    x_ptr, pairs_ptr, blocks_ptr, w_desc, w, x, more, full, empty, blocks, choices, N, K,
    SLOTS: tl.constexpr, GROUP_M: tl.constexpr, FETCHERS: tl.constexpr,
):  # fmt: skip
    """Bring each step's weights and rows into the slots in turn."""
    fetch_tiles(
        x_ptr, pairs_ptr, blocks_ptr, w_desc, w[0], x[0], more[0], full[0], empty[0], SLOTS, 32 * FETCHERS, blocks,
        choices, N, K, GROUP_M, tl.program_id(0), tl.num_programs(0),
    )  # fmt: skip


@triton.jit
def store_columns(y_ptr, pairs_ptr, passage, begin, end, row, y, N, PARTS: tl.constexpr):
    """Each pair's row of the result is a column here: they go through shared memory on their way, in parts."""
    if PARTS == 1:
        ROWS: tl.constexpr = y.shape[0]
        place = begin + tl.arange(0, y.shape[1])[:, None]
        pair = tl.load(pairs_ptr + place, mask=place < end, other=0)
        rows, N = row + tl.arange(0, ROWS)[None, :], N // 8 * 8  # which says that it is a multiple of eight
        to = passage.subslice(0, y.shape[1], dim=0)
        to.store(tl.trans(y.to(y_ptr.dtype.element_ty)))
        tl.store(y_ptr + pair.to(tl.int64) * N + rows, to.load(), mask=(place < end) & (rows < N))
    else:
        WIDTH: tl.constexpr = y.shape[1] // 2
        left, right = tl.split(tl.permute(tl.reshape(y, (y.shape[0], 2, WIDTH)), (0, 2, 1)))
        store_columns(y_ptr, pairs_ptr, passage, begin, end, row, left, N, PARTS // 2)
        store_columns(y_ptr, pairs_ptr, passage, begin + WIDTH, end, row, right, N, PARTS // 2)


@triton.jit
def multiply(
    w, x, more, full, empty, passage, y_ptr, pairs_ptr, begin, end, row, N, step, steps,
    ROWS: tl.constexpr, SLOTS: tl.constexpr, GROUP: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr,
    PART: tl.constexpr,
):  # fmt: skip
    """A tile's rows of weights of this group times FIRST + SECOND rows of tokens, with one step under way."""
    y = tl.zeros((ROWS, FIRST), tl.float32)
    if SECOND > 0:
        z = tl.zeros((ROWS, SECOND), tl.float32)
    for k in range(steps):
        slot = (step + k) % SLOTS
        tle.gpu.barrier_wait(full[slot], (step + k) // SLOTS)
        see_copies()
        own = w[slot].subslice(GROUP * ROWS, ROWS, dim=0)
        y = tle.gpu.wgmma(own, x[slot].subslice(0, FIRST, dim=0), y, trans_b=True)
        if SECOND > 0:
            if x.shape[1] == FIRST:  # they are all of its rows
                z = tle.gpu.wgmma(own, more[slot].subslice(0, SECOND, dim=0), z, trans_b=True)
            else:
                z = tle.gpu.wgmma(own, x[slot].subslice(FIRST, SECOND, dim=0), z, trans_b=True)
            y = tle.gpu.wgmma_wait(2, y)
        else:
            y = tle.gpu.wgmma_wait(1, y)
        if k > 0:  # the product of the step before is done, and its slot is free
            tle.gpu.barrier_arrive(empty[(step + k - 1) % SLOTS], 1, (step + k - 1) // SLOTS)
    y = tle.gpu.wgmma_wait(0, y)
    if SECOND > 0:
        z = tle.gpu.wgmma_wait(0, z)
    tle.gpu.barrier_arrive(empty[(step + steps - 1) % SLOTS], 1, (step + steps - 1) // SLOTS)
    store_columns(y_ptr, pairs_ptr, passage[GROUP], begin, end, row, y, N, FIRST // PART if FIRST > PART else 1)
    if SECOND > 0:
        store_columns(
            y_ptr, pairs_ptr, passage[GROUP], begin + FIRST, end, row, z, N, SECOND // PART if SECOND > PART else 1
        )


@triton.jit
def consume(
    pairs_ptr, blocks_ptr, y_ptr, w, x, more, full, empty, passage, blocks, N, K,
    BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    PART: tl.constexpr, WIDTHS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiply one group's half of each tile's weights with as many rows of tokens as there are, and write them."""
    ROWS: tl.constexpr = BLOCK_N // 2
    tiles_n, steps = tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step = 0
    tl.assume(steps > 0)  # a way around the inner loop would meet it where products are under way
    for tile in range(tl.program_id(0), blocks * tiles_n, tl.num_programs(0)):
        block, tile_n = tle.gpu.grouped_tile(tile, blocks, tiles_n, GROUP_M)
        begin, count = tl.load(blocks_ptr + 4 * block + 1), tl.load(blocks_ptr + 4 * block + 2)
        row = tile_n * BLOCK_N + GROUP * ROWS
        for number in tl.static_range(len(WIDTHS)):
            if (count > WIDTHS[number][0]) & (count <= WIDTHS[number][1] + WIDTHS[number][2]):
                multiply(
                    w, x, more, full, empty, passage, y_ptr, pairs_ptr, begin, begin + count, row, N, step, steps, ROWS,
                    SLOTS, GROUP, WIDTHS[number][1], WIDTHS[number][2], PART,
                )  # fmt: skip
        step += steps


@triton.jit(do_not_specialize=["blocks", "choices"])
def moe_products(
    x_ptr, pairs_ptr, blocks_ptr, w_desc, y_ptr, blocks, choices, N, K,
    BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, MORE: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
    GROUP_M: tl.constexpr, PART: tl.constexpr, WIDTHS: tl.constexpr, REGISTERS: tl.constexpr, FETCHERS: tl.constexpr,
):  # fmt: skip
    """``y[pair] = x[pair // choices] @ w[expert of the pair].T``: x is [tokens, K], w [experts * N, K]; N and
    K are multiples of eight.

    ``pairs`` holds the pairs of tokens and choices in the order of their experts, ``blocks`` of each block of up to
    BLOCK_M + MORE of them the expert, the first one, and how many there are. The weights are the left operand: the
    rows of tokens are as many as there are, up to one of the sums that WIDTHS lists.
    """
    w = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=w_desc.dtype)
    x = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=w_desc.dtype)
    more = tle.gpu.alloc([SLOTS, MORE, BLOCK_K], dtype=w_desc.dtype)
    passage = tle.gpu.alloc([2, PART, BLOCK_N // 2], dtype=w_desc.dtype)
    full = tle.gpu.alloc_barriers(SLOTS, arrive_count=32 * FETCHERS + 1)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=2, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        (
            (produce, (
                x_ptr, pairs_ptr, blocks_ptr, w_desc, w, x, more, full, empty, blocks, choices, N, K, SLOTS, GROUP_M,
                FETCHERS,
            )),
            (consume, (
                pairs_ptr, blocks_ptr, y_ptr, w, x, more, full, empty, passage, blocks, N, K, BLOCK_N, BLOCK_M, BLOCK_K,
                SLOTS, GROUP_M, PART, WIDTHS, 0,
            )),
            (consume, (
                pairs_ptr, blocks_ptr, y_ptr, w, x, more, full, empty, passage, blocks, N, K, BLOCK_N, BLOCK_M, BLOCK_K,
                SLOTS, GROUP_M, PART, WIDTHS, 1,
            )),
        ),
        worker_num_warps=(4, 4),
        worker_num_regs=(REGISTERS, REGISTERS),
    )  # fmt: skip


# What tiles of tokens are multiplied as: of more than the first number, as the others' sum.
WIDTHS = ((0, 16, 0), (16, 64, 0), (64, 64, 32), (96, 128, 0), (128, 128, 16), (144, 128, 32))
BLOCKS = {"BLOCK_N": 256, "BLOCK_M": 128, "MORE": 32, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8, "PART": 32}
BLOCKS |= {"WIDTHS": WIDTHS, "REGISTERS": 208, "FETCHERS": 4}


def costs():
    """Of tiles of up to so many tokens, in cycles of tensor cores, or of shared memory where that takes longer.

    Two products in a step cost some more than one: of experts with many tokens tiles of 160 took 5 % more than of 128.
    """
    found = [0]
    for least, first, second in WIDTHS:
        width, parts = first + second, 1 + (second > 0)
        found += [max(width, 32 * parts + width // 2) + 10 * (second > 0)] * (width - least)
    return found


def in_blocks(chosen, experts: int):
    """The pairs in the order of their experts, and of each block its expert, its first pair and how many it has.

    An expert's pairs are shared evenly by as many blocks as cost least. Large blocks come first: programs take every so
    manyth tile, and have about as much to do then. Sample 07 sorts faster.
    """
    import torch

    flat = chosen.flatten()
    order = torch.argsort(flat, stable=True).to(torch.int32)
    counts = torch.bincount(flat, minlength=experts)
    cost = torch.tensor(costs(), device=chosen.device)
    shares = (counts + len(cost) - 2) // (len(cost) - 1) + torch.arange(4, device=chosen.device)[:, None]
    shares = shares.clamp(min=1)
    best = (shares * cost[(counts + shares - 1) // shares]).argmin(0)
    shares = torch.where(counts > 0, shares.gather(0, best[None])[0], 0)
    expert = torch.repeat_interleave(torch.arange(experts, device=chosen.device), shares)
    number = torch.arange(expert.numel(), device=chosen.device) - (shares.cumsum(0) - shares)[expert]
    each = (counts[expert] + shares[expert] - 1) // shares[expert]
    before = torch.minimum(number * each, counts[expert])
    behind = torch.minimum(before + each, counts[expert])
    begin = (counts.cumsum(0) - counts)[expert] + before
    largest_first = torch.argsort(each, stable=True, descending=True)
    return order, torch.stack((expert, begin, behind - before, number), 1)[largest_first].to(torch.int32)


def launch(x, w, pairs, blocks, y, choices: int, programs: int, sizes=BLOCKS, idle: int = 0):
    """``idle`` programs find no tile."""
    N, K = w.shape[1:]
    w_desc = TensorDescriptor.from_tensor(w.view(-1, K), [sizes["BLOCK_N"], sizes["BLOCK_K"]])
    count = blocks.shape[0]
    grid = (common.sharing(triton.cdiv(N, sizes["BLOCK_N"]) * count, programs) + idle,)
    return moe_products[grid](x, pairs, blocks, w_desc, y, count, choices, N, K, **sizes, num_warps=sizes["FETCHERS"])


def compile_for(target):
    types = {"x_ptr": "*fp16", "pairs_ptr": "*i32", "blocks_ptr": "*i32"}
    types |= {"w_desc": f"tensordesc<fp16[{BLOCKS['BLOCK_N']},{BLOCKS['BLOCK_K']}]>", "y_ptr": "*fp16"}
    types |= dict.fromkeys(("blocks", "choices", "N", "K"), "i32")
    return [common.compile_ahead(moe_products, target, types, BLOCKS, num_warps=BLOCKS["FETCHERS"])]


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
    given = in_blocks(chosen, experts)
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
            kernel = launch(x, w, *in_blocks(chosen, experts), y, choices, programs=132)
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            name = str(dtype).removeprefix("torch.")
            what = f"{tokens} tokens × {choices} of {experts} experts, {N} × {K} {name}"
            yield kernel, common.compare(what, y, want, relative=unit, absolute=3e-5 * K**0.5)


if __name__ == "__main__":
    sys.exit(common.main("10 products of a mixture of experts by specialised warps", compile_for, check))
