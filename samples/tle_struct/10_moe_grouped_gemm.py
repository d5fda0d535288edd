"""Sample 10: the products of a mixture of experts by CUDA code in specialised warps. For sm_90.

The rows of one expert lie anywhere among all tokens, and the copy engine does not gather them. So four warps run a
region, which fetches them 16 bytes at a time by ``cp.async`` into slots of a buffer of the kernel, and asks the copy
engine for the weights. Copies arrive at the slot's barrier (``tle::barrier``) when they are done, so that all slots but
those in use are under way. Who waits for them has a fence behind the wait.

The weights are the left operand, and the tokens' rows are the columns of the result: ``wgmma`` takes any multiple of
eight of them, where a block tensor has a power of two. So eight warps run another region, which multiplies by as wide a
``wgmma`` as there are rows, of those that ``WIDTHS`` lists. An expert's pairs are shared by as many
tiles as cost least, and no row is fetched that is not there. The regions are in ``moe_products.cu``.

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

# What tiles of tokens are multiplied as.
WIDTHS = (16, 48, 80, 96, 112, 128, 136, 144, 152, 160)
BLOCKS = {"BLOCK_N": 256, "BLOCK_M": WIDTHS[-1], "BLOCK_K": 64, "SLOTS": 4, "REGISTERS": 208, "FETCHERS": 4}
ROWS_OF_128_BYTES = hex(1 << 30 | 1024 // 16)  # the high word: eight of them lie together


def product(width: int) -> str:
    """C++ that adds a step's products: 64 numbers deep, of 2 × 64 rows of weights and ``width`` rows of tokens."""
    sums = [f"%{i}" for i in range(width)]
    halves = [f"{{{', '.join(half)}}}" for half in (sums[: width // 2], sums[width // 2 :])]
    each = [
        f"add.u32 low, %{width}, {2 * k + 512 * half}; mov.b64 w, {{low, {ROWS_OF_128_BYTES}}};"
        f" add.u32 low, %{width + 1}, {2 * k}; mov.b64 x, {{low, {ROWS_OF_128_BYTES}}};"
        f" wgmma.mma_async.sync.aligned.m64n{width}k16.f32.TYPE.TYPE {halves[half]}, w, x, 1, 1, 1, 0, 0;"
        for k in range(4)
        for half in range(2)
    ]
    text = " ".join(
        ["{.reg .b32 low; .reg .b64 w, x; wgmma.fence.sync.aligned;", *each, "wgmma.commit_group.sync.aligned;"]
    )
    text += " wgmma.wait_group.sync.aligned 1;}"  # of the step before
    operands = ", ".join(f'"+f"(sum[{i}])' for i in range(width))
    types = {"__nv_bfloat16": "bf16", "__half": "f16"}
    lines = [
        f"__device__ void add_products(float (&sum)[{width}], unsigned w, unsigned x, const {t}*) {{"
        f' asm volatile("{text.replace("TYPE", short)}" : {operands} : "r"(w), "r"(x) : "memory"); }}'
        for t, short in types.items()
    ]
    lines.append(
        f"__device__ void complete(float (&sum)[{width}]) {{"
        f' asm volatile("wgmma.wait_group.sync.aligned 0;" : {operands} :: "memory"); }}'
    )
    return "\n".join(f"static {line}" for line in lines)


def choices(widths) -> str:
    return "\n    else ".join(f"if (block.count <= {width}) multiply(constant<{width}>());" for width in widths)


def source() -> str:
    """The CUDA code with a product for each width."""
    text = Path(__file__).with_name("moe_products.cu").read_text()
    text = text.replace("// PRODUCTS", "\n".join(map(product, WIDTHS)))
    few = WIDTHS[0], WIDTHS[-1]  # on the CPU, where all of them would take long to compile
    lines = ["#if defined(TLE_RAW_TEAM)", choices(few), "#else", choices(WIDTHS), "#endif"]
    return text.replace("// CHOICES", "\n".join(lines))


SOURCE, HERE = source(), str(Path(__file__).parent)
MOST_TO_STREAM = 384  # pairs of an expert: its weights are read by as many as three blocks


@tle_raw.dialect("cuda", source=SOURCE, include_dirs=[HERE])
def fetch_tiles(
    x: Pointer["T"],
    pairs: Pointer["i32"],
    blocks: Pointer["i32"],
    weights: Descriptor["T", "N", "K"],
    w: Out[Buffer["T", "N", "K", AnyLayout]],
    rows: Out[Buffer["T", "R", "K", AnyLayout]],
    full: Barrier,
    empty: In[Barrier],
    slots: Const["S"],
    threads: Const["THREADS"],
    most: Const["M"],
    stream: Const["STREAM"],
    count: Scalar["i32"],
    choices: Scalar["i32"],
    height: Scalar["i32"],
    depth: Scalar["i32"],
    group: Scalar["i32"],
    first: Scalar["i32"],
    programs: Scalar["i32"],
): ...


@tle_raw.dialect("cuda", source=SOURCE, include_dirs=[HERE])
def multiply_tiles(
    y: Pointer["T"],
    pairs: Pointer["i32"],
    blocks: Pointer["i32"],
    w: In[Buffer["T", "N", "K", AnyLayout]],
    x: In[Buffer["T", "R", "K", AnyLayout]],
    full: In[Barrier],
    empty: Barrier,
    slots: Const["S"],
    most: Const["M"],
    stream: Const["STREAM"],
    count: Scalar["i32"],
    height: Scalar["i32"],
    depth: Scalar["i32"],
    group: Scalar["i32"],
    first: Scalar["i32"],
    programs: Scalar["i32"],
): ...


@triton.jit
def fetch(
    x_ptr, pairs_ptr, blocks_ptr, w_desc, w, x, full, empty, blocks, choices, N, K, group,
    BLOCK_M: tl.constexpr, SLOTS: tl.constexpr, FETCHERS: tl.constexpr, STREAM: tl.constexpr,
):  # fmt: skip
    """Bring each step's weights and rows into the slots in turn."""
    fetch_tiles(
        x_ptr, pairs_ptr, blocks_ptr, w_desc, w[0], x[0], full[0], empty[0], SLOTS, 32 * FETCHERS, BLOCK_M, STREAM,
        blocks, choices, N, K, group, tl.program_id(0), tl.num_programs(0),
    )  # fmt: skip


@triton.jit
def multiply(
    y_ptr, pairs_ptr, blocks_ptr, w, x, full, empty, blocks, N, K, group, BLOCK_M: tl.constexpr, SLOTS: tl.constexpr,
    STREAM: tl.constexpr,
):  # fmt: skip
    """Multiply each tile's weights with as many rows of tokens as there are, and write them."""
    multiply_tiles(
        y_ptr, pairs_ptr, blocks_ptr, w[0], x[0], full[0], empty[0], SLOTS, BLOCK_M, STREAM, blocks, N, K, group,
        tl.program_id(0), tl.num_programs(0),
    )  # fmt: skip


@triton.jit(do_not_specialize=["blocks", "choices", "N", "K", "group"])
def moe_products(
    x_ptr, pairs_ptr, blocks_ptr, w_desc, y_ptr, blocks, choices, N, K, group,
    BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
    REGISTERS: tl.constexpr, FETCHERS: tl.constexpr, STREAM: tl.constexpr,
):  # fmt: skip
    """``y[pair] = x[pair // choices] @ w[expert of the pair].T``: x is [tokens, K], w [experts * N, K]; N and
    K are multiples of eight.

    ``pairs`` holds the pairs of tokens and choices in the order of their experts, ``blocks`` of each block of up to
    BLOCK_M of them the expert, the first one, and how many there are. Tiles of ``group`` blocks are walked together.
    With STREAM weights leave the L2 cache first, and y stays there.
    """
    w = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=w_desc.dtype)
    x = tle.gpu.alloc([SLOTS * BLOCK_M // 32, 32, BLOCK_K], dtype=w_desc.dtype)  # BLOCK_M is no power of two
    full = tle.gpu.alloc_barriers(SLOTS, arrive_count=32 * FETCHERS + 1)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=8, init=tle.gpu.READY)  # of each warp that multiplies
    tle.gpu.warp_specialize(
        (
            (fetch, (
                x_ptr, pairs_ptr, blocks_ptr, w_desc, w, x, full, empty, blocks, choices, N, K, group, BLOCK_M, SLOTS,
                FETCHERS, STREAM,
            )),
            (multiply, (y_ptr, pairs_ptr, blocks_ptr, w, x, full, empty, blocks, N, K, group, BLOCK_M, SLOTS, STREAM)),
        ),
        worker_num_warps=(8,),
        worker_num_regs=(REGISTERS,),
    )  # fmt: skip


def costs():
    """Of a step of tiles of up to so many tokens, in cycles of tensor cores, or of shared memory where it takes longer.

    A cycle multiplies 256 rows of weights with an eighth of a token, and moves 128 bytes: each half of 64 of these rows
    is read once, and for each half all tokens are; both have been written before.
    """
    found = [0]
    for width in WIDTHS:
        found += [max(8 * width, 512 + 5 * width)] * (width - len(found) + 1)
    return found


def in_blocks(chosen, experts: int):
    """The pairs in the order of their experts, and of each block its expert, its first pair and how many it has.

    An expert's pairs are shared evenly by as many blocks as cost least. Large blocks come first: programs take every so
    manyth tile, and have about as much to do then. Sample 07 sorts faster.
    """
    import torch

    order, counts = common.sorted_by_expert(chosen, experts)
    cost = torch.tensor(costs(), device=chosen.device)
    shares = (counts + len(cost) - 2) // (len(cost) - 1) + torch.arange(4, device=chosen.device)[:, None]
    shares = shares.clamp(min=1)
    each = (counts + shares - 1) // shares
    cheapest = (shares * cost[each]).argmin(0)
    each = each.gather(0, cheapest[None])[0].clamp(min=1)  # an expert without pairs has no block
    blocks = common.blocks_of_experts(counts, each)
    largest_first = torch.argsort(each[blocks[:, 0].long()], stable=True, descending=True)
    return order, blocks[largest_first]


def launch(
    x, w, pairs, blocks, y, choices: int, programs: int, group: int = 8, sizes=BLOCKS, idle: int = 0, stream=None
):
    """``idle`` programs find no tile. ``stream``: without it, where experts have few pairs."""
    N, K = w.shape[1:]
    w_desc = TensorDescriptor.from_tensor(w.view(-1, K), [sizes["BLOCK_N"], sizes["BLOCK_K"]])
    count = blocks.shape[0]
    grid = (min(triton.cdiv(N, sizes["BLOCK_N"]) * count, programs) + idle,)
    given = x, pairs, blocks, w_desc, y, count, choices, N, K, group
    stream = pairs.numel() <= MOST_TO_STREAM * w.shape[0] if stream is None else stream
    return moe_products[grid](*given, **sizes, STREAM=int(stream), num_warps=sizes["FETCHERS"])


def compile_for(target):
    types = {"x_ptr": "*fp16", "pairs_ptr": "*i32", "blocks_ptr": "*i32"}
    types |= {"w_desc": f"tensordesc<fp16[{BLOCKS['BLOCK_N']},{BLOCKS['BLOCK_K']}]>", "y_ptr": "*fp16"}
    types |= dict.fromkeys(("blocks", "choices", "N", "K", "group"), "i32")
    constants = BLOCKS | {"STREAM": 1}
    return [common.compile_ahead(moe_products, target, types, constants, num_warps=BLOCKS["FETCHERS"])]


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

    tokens, N, K = common.odd_or_even(random, *common.sizes(gpu=(600, 600, 500), cpu=(40, 200, 90)))
    experts = random.choice((3, 5, 9))
    few = random.randint(2, experts)  # which are chosen at all
    x = torch.randn((tokens, K), device=common.device()).to(torch.bfloat16)
    w = torch.randn((experts, N, K), device=x.device).to(x.dtype)
    chosen = torch.rand((tokens, few), device=x.device).topk(2).indices
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    stream = random.choice((False, True))
    given = in_blocks(chosen, experts)
    what = f"{tokens} tokens × 2 of {few} of {experts} experts, {N} × {K}, at most {programs} programs, {idle} idle"
    return common.Stressed(
        what,
        lambda y: launch(x, w, *given, y, 2, programs, idle=idle, stream=stream),
        *((expected(x, w, chosen),), (x.dtype,), (2**-7,), (3e-5 * K**0.5,)),
    )


def check():
    import torch

    small = (1, 1, 1, 8, 8), (77, 4, 2, 200, 136), (300, 8, 2, 504, 72), (500, 3, 2, 136, 136)
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
