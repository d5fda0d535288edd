"""Sample 02: a matrix product by the copy engine and wgmma, with one product in the background. For sm_90."""

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
def tile_of_program(program, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """GROUP_M rows of tiles are walked column by column: neighbours in time share what they read."""
    in_group = GROUP_M * tiles_n
    first_m = program // in_group * GROUP_M
    height = tl.minimum(tiles_m - first_m, GROUP_M)
    return first_m + program % in_group % height, program % in_group // height


@triton.jit
def matmul(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """``c = a @ b.T``: a is [M, K], b [N, K], c [M, N]; what lies beyond the edges is read as 0 and not written."""
    tile_m, tile_n = tile_of_program(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    m, n, steps = tile_m * BLOCK_M, tile_n * BLOCK_N, tl.cdiv(K, BLOCK_K)
    a = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=a_desc.dtype)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=b_desc.dtype)
    size: tl.constexpr = a_desc.dtype.primitive_bitwidth // 8
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * size)
    for step in tl.static_range(SLOTS - 1):
        if step < steps:
            tle.gpu.copy(a_desc, a[step], [BLOCK_M, BLOCK_K], offsets=[m, step * BLOCK_K], barrier=full[step])
            tle.gpu.copy(b_desc, b[step], [BLOCK_N, BLOCK_K], offsets=[n, step * BLOCK_K], barrier=full[step])
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    tl.assume(steps > 0)  # a way around the loop would meet it where products are under way: ptxas then waits for each
    for step in range(steps):
        slot = step % SLOTS
        tle.gpu.barrier_wait(full[slot], step // SLOTS)
        c = tle.gpu.wgmma(a[slot], b[slot], c, trans_b=True)
        c = tle.gpu.wgmma_wait(1, c)  # the product of the step before is done, and its slot is free
        ahead = step + SLOTS - 1
        if ahead < steps:
            free = ahead % SLOTS
            tle.gpu.copy(a_desc, a[free], [BLOCK_M, BLOCK_K], offsets=[m, ahead * BLOCK_K], barrier=full[free])
            tle.gpu.copy(b_desc, b[free], [BLOCK_N, BLOCK_K], offsets=[n, ahead * BLOCK_K], barrier=full[free])
    c = tle.gpu.wgmma_wait(0, c)
    c_desc.store([m, n], c.to(c_desc.dtype))


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "SLOTS": 4, "GROUP_M": 8}
SMALL = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "SLOTS": 3, "GROUP_M": 8}


def descriptor(x, rows: int, columns: int):
    return TensorDescriptor(x, list(x.shape), [x.stride(0), 1], [rows, columns])


def launch(a, b, c):
    (M, K), N = a.shape, b.shape[0]
    blocks = common.sizes(gpu=(BLOCKS,), cpu=(SMALL,))[0]
    rows, columns, depth = (blocks[f"BLOCK_{axis}"] for axis in "MNK")
    grid = (triton.cdiv(M, rows) * triton.cdiv(N, columns),)
    descriptors = (descriptor(a, rows, depth), descriptor(b, columns, depth), descriptor(c, rows, columns))
    return matmul[grid](*descriptors, M, N, K, **blocks, num_warps=4)


def compile_for(target):
    rows, columns, depth = BLOCKS["BLOCK_M"], BLOCKS["BLOCK_N"], BLOCKS["BLOCK_K"]
    types = {
        "a_desc": f"tensordesc<fp16[{rows},{depth}]>",
        "b_desc": f"tensordesc<fp16[{columns},{depth}]>",
        "c_desc": f"tensordesc<fp16[{rows},{columns}]>",
    }
    return [common.compile_ahead(matmul, target, types | dict.fromkeys(("M", "N", "K"), "i32"), BLOCKS)]


def check():
    import torch

    gpu = ((128, 128, 64), (200, 136, 72), (1000, 504, 1016), (2048, 2048, 2048), (129, 64, 40))
    for M, N, K in common.sizes(gpu=gpu, cpu=((64, 32, 32), (65, 40, 96), (33, 16, 200)), watched=gpu[:3]):
        for dtype in (torch.float16, torch.bfloat16):
            a, b = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (N, K)))
            c = torch.full((M, N), float("nan"), device=a.device, dtype=dtype)
            kernel = launch(a, b, c)
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}"
            want = a.double() @ b.double().T
            yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


if __name__ == "__main__":
    sys.exit(common.main("02 matrix product by TMA and wgmma", compile_for, check))
