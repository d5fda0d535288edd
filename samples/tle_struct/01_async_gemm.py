"""Sample 01: a matrix product. Tiles are copied into a ring of shared buffers some steps before they are multiplied."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw.language as tle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """``c = a @ b``: a is [M, K], b [K, N], c [M, N], all row-major f16 or bf16; sums are f32."""
    tile_m, tile_n = tle.gpu.grouped_tile(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_at = a_ptr + m[:, None] * K + k[None, :]
    b_at = b_ptr + k[:, None] * N + n[None, :]
    a = tle.gpu.alloc([SLOTS, BLOCK_M, BLOCK_K], dtype=a_ptr.dtype.element_ty)
    b = tle.gpu.alloc([SLOTS, BLOCK_K, BLOCK_N], dtype=b_ptr.dtype.element_ty)
    for step in tl.static_range(SLOTS - 1):
        left = K - step * BLOCK_K
        a_mask, b_mask = (m[:, None] < M) & (k[None, :] < left), (k[:, None] < left) & (n[None, :] < N)
        tle.gpu.copy(a_at + step * BLOCK_K, a.slot(step), [BLOCK_M, BLOCK_K], mask=a_mask, is_async=True)
        tle.gpu.copy(b_at + step * BLOCK_K * N, b.slot(step), [BLOCK_K, BLOCK_N], mask=b_mask, is_async=True)
        tle.gpu.async_commit_group()
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        tle.gpu.async_wait_group(SLOTS - 2)
        c = tl.dot(a.slot(step % SLOTS).load(), b.slot(step % SLOTS).load(), c)
        ahead = step + SLOTS - 1  # into the slot that the step before this one has read
        left = K - ahead * BLOCK_K
        a_mask, b_mask = (m[:, None] < M) & (k[None, :] < left), (k[:, None] < left) & (n[None, :] < N)
        slot = ahead % SLOTS
        tle.gpu.copy(a_at + ahead * BLOCK_K, a.slot(slot), [BLOCK_M, BLOCK_K], mask=a_mask, is_async=True)
        tle.gpu.copy(b_at + ahead * BLOCK_K * N, b.slot(slot), [BLOCK_K, BLOCK_N], mask=b_mask, is_async=True)
        tle.gpu.async_commit_group()
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c.to(c_ptr.dtype.element_ty), mask=inside)


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "SLOTS": 4, "GROUP_M": 8}
SMALL = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "SLOTS": 3, "GROUP_M": 8}


def launch(a, b, c):
    (M, K), N = a.shape, b.shape[1]
    blocks = common.sizes(gpu=(BLOCKS,), cpu=(SMALL,))[0]
    grid = (triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"]),)
    return matmul[grid](a, b, c, M, N, K, **blocks, num_warps=4)


def compile_for(target):
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32:16", "K": "i32:16"}
    return [common.compile_ahead(matmul, target, types, BLOCKS, num_warps=4)]


def check():
    import torch

    gpu = ((128, 128, 32), (200, 136, 72), (1000, 504, 1016), (2048, 2048, 2048), (129, 67, 45))
    both = (torch.float16, torch.bfloat16)
    sizes = common.sizes(gpu=gpu, cpu=((32, 32, 32), (65, 40, 96), (33, 17, 45)), watched=gpu[:3])
    for number, (M, N, K) in enumerate(sizes):
        for dtype in common.sizes(gpu=both, cpu=both[number % 2 :][:1]):  # a kernel for each takes a second there
            a, b = (torch.randn(shape).to(common.device(), dtype) for shape in ((M, K), (K, N)))
            c = torch.full((M, N), float("nan"), device=a.device, dtype=dtype)
            kernel = launch(a, b, c)
            unit = 2**-10 if dtype == torch.float16 else 2**-7
            what = f"{M} × {N} × {K} {str(dtype).removeprefix('torch.')}"
            want = a.double() @ b.double()
            yield kernel, common.compare(what, c, want, relative=unit, absolute=3e-5 * K**0.5)


if __name__ == "__main__":
    sys.exit(common.main("01 matrix product with asynchronous copies", compile_for, check))
