"""Sample 18: a matrix product whose tiles a warp of Triton copies and TileLang code multiplies. For sm_90.

One warp copies by TMA, in Triton. Two groups of four warps run a TileLang kernel as a region, each for its half of a
tile's rows. It waits for barriers of the Triton kernel, multiplies tiles that the copy engine has brought, and arrives
at other barriers, for whoever fills the slots again. Its operands are the slots themselves, which ``wgmma`` reads in
place. Twice:

* one step of a product, traced into Triton IR: the sums stay in registers from step to step, and what becomes of them
  is Triton's again, which adds a bias and writes by TMA;
* all steps, linked: the ring of slots with its barriers is TileLang's (``buffers=``, ``barriers=``), and so are the
  loop and what is written.

On the CPU, which runs the traced one, the warps take turns on one thread, at the barriers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("tilelang", "tilelang")
import tilelang.language as T  # noqa: E402

store_tile = common.load("tle_struct/02_tma_gemm.py").store_tile

BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8, "PARTS": 4}
GROUPS, SLOTS = 2, BLOCKS["SLOTS"]
ROWS, COLUMNS, DEPTH, THREADS = BLOCKS["BLOCK_M"] // GROUPS, BLOCKS["BLOCK_N"], BLOCKS["BLOCK_K"], 128


@tle_raw.dialect("tilelang", tiles=["A", "B", "C"], barriers=["full", "empty"])
@T.prim_func
def multiply(
    A: T.Tensor((ROWS, DEPTH), "bfloat16"),
    B: T.Tensor((COLUMNS, DEPTH), "bfloat16"),
    C: T.Tensor((ROWS, COLUMNS), "float32"),
    use: T.int32,
):
    with T.Kernel(1, threads=THREADS) as _:
        full, empty = T.alloc_barrier(1), T.alloc_barrier(GROUPS)
        a, b = T.alloc_shared((ROWS, DEPTH), "bfloat16"), T.alloc_shared((COLUMNS, DEPTH), "bfloat16")
        c = T.alloc_fragment((ROWS, COLUMNS), "float32")
        T.mbarrier_wait_parity(full, use % 2)
        T.copy(A, a)
        T.copy(B, b)
        T.copy(C, c)
        T.gemm(a, b, c, transpose_B=True)
        if T.get_thread_binding() == 0:
            T.mbarrier_arrive(empty)
        T.copy(c, C)


@tle_raw.dialect("tilelang", barriers=["full", "empty"], buffers=["a", "b"])
@T.prim_func
def multiply_all(
    C: T.Tensor((T.dynamic("m"), T.dynamic("n")), "bfloat16"),
    bias: T.Tensor((T.dynamic("n"),), "float32"),
    row: T.int32,
    column: T.int32,
    first: T.int32,
    steps: T.int32,
):
    with T.Kernel(1, threads=THREADS) as _:
        full, empty = T.alloc_barrier([1] * SLOTS), T.alloc_barrier([4 * GROUPS] * SLOTS)
        a = T.alloc_shared((SLOTS, ROWS, DEPTH), "bfloat16", scope="shared")
        b = T.alloc_shared((SLOTS, COLUMNS, DEPTH), "bfloat16", scope="shared")
        c = T.alloc_fragment((ROWS, COLUMNS), "float32")
        T.clear(c)
        for step in T.serial(first, first + steps):
            T.mbarrier_wait_parity(full[step % SLOTS], step // SLOTS % 2)
            T.wgmma_gemm(a[step % SLOTS, :, :], b[step % SLOTS, :, :], c, transpose_B=True)
            T.wait_wgmma(1)
            if step > first and T.get_thread_binding() % 32 == 0:  # each warp has waited for its own products
                T.mbarrier_arrive(empty[(step - 1) % SLOTS])
        T.wait_wgmma(0)
        if T.get_thread_binding() % 32 == 0:
            T.mbarrier_arrive(empty[(first + steps - 1) % SLOTS])
        for i, j in T.Parallel(ROWS, COLUMNS):
            if row + i < C.shape[0] and column + j < C.shape[1]:
                C[row + i, column + j] = c[i, j] + bias[column + j]


@triton.jit
def produce(
    upper, lower, b, full, empty, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    a_desc, b_desc,
):  # fmt: skip
    """Copy the operands of all the program's tiles, step after step, into the slots in turn."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        tile_m, tile_n = tle.gpu.grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        for k in range(steps):
            slot = step % SLOTS
            tle.gpu.barrier_wait(empty[slot], step // SLOTS)
            at = [tile_m * BLOCK_M, k * BLOCK_K]
            tle.gpu.copy(a_desc, upper[slot], [ROWS, BLOCK_K], offsets=at, barrier=full[slot])
            at = [tile_m * BLOCK_M + ROWS, k * BLOCK_K]
            tle.gpu.copy(a_desc, lower[slot], [ROWS, BLOCK_K], offsets=at, barrier=full[slot])
            at = [tile_n * BLOCK_N, k * BLOCK_K]
            tle.gpu.copy(b_desc, b[slot], [BLOCK_N, BLOCK_K], offsets=at, barrier=full[slot])
            step += 1


@triton.jit
def consume(
    a, b, full, empty, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    bias_ptr, c_ptr, c_desc, PARTS: tl.constexpr, LINKED: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Hand the rows of one group of warps to TileLang, step after step, and write what it gives."""
    ROWS: tl.constexpr = BLOCK_M // 2
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    step = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        tile_m, tile_n = tle.gpu.grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        m, n = tile_m * BLOCK_M + GROUP * ROWS, tile_n * BLOCK_N
        if LINKED:
            multiply_all(c_ptr, bias_ptr, m, n, step, steps, M, N, full[0], empty[0], a[0], b[0])
            step += steps
        else:
            column = n + tl.arange(0, BLOCK_N)
            bias = tl.load(bias_ptr + column, mask=column < N, other=0.0)
            c = tl.zeros((ROWS, BLOCK_N), tl.float32) + bias[None, :]
            for _ in range(steps):
                slot = step % SLOTS
                c = multiply(a[slot], b[slot], c, step // SLOTS, full[slot], empty[slot])
                step += 1
            store_tile(c_desc, m, n, c, PARTS)


@triton.jit
def matmul(
    a_desc, b_desc, bias_ptr, c_ptr, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
    PARTS: tl.constexpr, LINKED: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T + bias``: a is [M, K], b [N, K], c [M, N], in bf16; bias [N] in f32."""
    upper = tle.gpu.alloc([SLOTS, BLOCK_M // 2, BLOCK_K], dtype=a_desc.dtype)
    lower = tle.gpu.alloc([SLOTS, BLOCK_M // 2, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * 2)
    empty = tle.gpu.alloc_barriers(SLOTS, arrive_count=8 if LINKED else 2, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        (
            (consume, (
                upper, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, bias_ptr, c_ptr, c_desc,
                PARTS, LINKED, 0,
            )),
            (consume, (
                lower, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, bias_ptr, c_ptr, c_desc,
                PARTS, LINKED, 1,
            )),
            (produce, (
                upper, lower, b, full, empty, M, N, K, BLOCK_M, BLOCK_N, BLOCK_K, SLOTS, GROUP_M, a_desc, b_desc,
            )),
        ),
        worker_num_warps=(4, 1),
        worker_num_regs=(240, 24),
    )  # fmt: skip


def descriptor(x, rows: int, columns: int):
    return TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [rows, columns])


def launch(a, b, bias, c, linked: bool, programs: int, blocks=BLOCKS, idle: int = 0):
    """``idle`` programs find no tile."""
    (M, K), N = a.shape, b.shape[0]
    taken = descriptor(a, ROWS, DEPTH), descriptor(b, COLUMNS, DEPTH)
    made = descriptor(c, ROWS, COLUMNS // blocks["PARTS"])
    tiles = triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, COLUMNS)
    return matmul[(common.sharing(tiles, programs) + idle,)](
        *(*taken, bias, c, made, M, N, K), **blocks, LINKED=linked, num_warps=4
    )


def compile_for(target):
    types = {
        "a_desc": f"tensordesc<bf16[{ROWS},{DEPTH}]>",
        "b_desc": f"tensordesc<bf16[{COLUMNS},{DEPTH}]>",
        "bias_ptr": "*fp32",
        "c_ptr": "*bf16",
        "c_desc": f"tensordesc<bf16[{ROWS},{COLUMNS // BLOCKS['PARTS']}]>",
    } | dict.fromkeys(("M", "N", "K"), "i32")
    return [
        common.compile_ahead(matmul, target, types, BLOCKS | {"LINKED": linked}, num_warps=4)
        for linked in (False, True)
    ]


def check():
    import torch

    every = ((128, 256, 64), (200, 136, 72), (1000, 504, 1016), (129, 64, 40), (2048, 2048, 2048))
    for M, N, K in common.sizes(gpu=every, cpu=every[1:2], watched=every[:3]):
        a, b = (torch.randn(shape).to(common.device(), torch.bfloat16) for shape in ((M, K), (N, K)))
        bias = torch.randn(N).to(common.device())
        want = a.double() @ b.double().T + bias.double()
        for linked in common.sizes(gpu=(False, True), cpu=(False,)):
            c = torch.full((M, N), float("nan"), device=a.device, dtype=torch.bfloat16)
            kernel = launch(a, b, bias, c, linked, programs=132)
            what = f"{M} × {N} × {K}, {'linked' if linked else 'traced'}"
            yield kernel, common.compare(what, c, want, relative=2**-7, absolute=3e-5 * K**0.5)


def stress(random):
    import torch

    M, N, K = common.odd_or_even(random, *common.sizes(gpu=(700, 1100, 900), cpu=(200, 200, 90)))
    a, b = (torch.randn(shape, device=common.device()).to(torch.bfloat16) for shape in ((M, K), (N, K)))
    bias = torch.randn(N, device=a.device)
    programs, idle = random.choice((1, 2, 5, 132)), random.choice((0, 0, 3))
    linked = not common.on_cpu() and random.random() < 0.5
    what = f"{M} × {N} × {K}, {'linked' if linked else 'traced'}, at most {programs} programs, {idle} idle"
    wanted = a.double() @ b.double().T + bias.double()
    return common.Stressed(
        what,
        lambda c: launch(a, b, bias, c, linked, programs, idle=idle),
        (wanted,),
        (a.dtype,),
        (2**-7,),
        (3e-5 * K**0.5,),
    )


if __name__ == "__main__":
    sys.exit(common.main("18 matrix product: Triton copies, TileLang multiplies", compile_for, check))
