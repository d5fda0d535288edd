"""Sample 04: weights of four bits. A CUDA region unpacks them into the shared buffer that wgmma reads; what follows the
product is a cuTile function. For sm_90."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import AnyLayout, Buffer, Out, Pointer, Scalar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("cuda.tile", "cutile")
import cuda.tile as ct  # noqa: E402

UNPACK = r"""
#include <tle_raw/buffer.h>
#include <cuda_bf16.h>

// Eight weights from -8 to 7 lie in four bytes, the first in the lowest bits. A row of the matrix has `stride` bytes.
template <int M, int K, class Layout>
__device__ void unpack(tle::buffer<__nv_bfloat16, Layout, M, K> a, const unsigned char* packed, int stride, int rows) {
  for (int i : a.template vectors<8>()) {
    const int row = i / K, column = i % K;
    const unsigned word = row < rows ? *(const unsigned*)(packed + (long long)row * stride + column / 2) : 0x88888888u;
    __nv_bfloat162 pairs[4];
    for (int k = 0; k < 4; ++k) {
      // 128 + n has n in its lowest bits: no conversion is needed.
      const unsigned both = (word >> 8 * k & 0xfu) | (word >> (8 * k + 4) & 0xfu) << 16 | 0x43004300u;
      pairs[k] = __hsub2(reinterpret_cast<const __nv_bfloat162&>(both), __floats2bfloat162_rn(136.0f, 136.0f));
    }
    *(uint4*)a.data(row, column) = *(uint4*)pairs;
  }
}
"""


@tle_raw.dialect("cuda", source=UNPACK)
def unpack(
    a: Out[Buffer["bf16", "M", "K", AnyLayout]], packed: Pointer["u8"], stride: Scalar["i32"], rows: Scalar["i32"]
): ...


@tle_raw.dialect("cutile")
def scaled_relu(x, scale, bias):
    return ct.maximum(x * scale + bias, 0.0)


@triton.jit
def matmul(
    packed_ptr, scale_ptr, b_desc, bias_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """``c = relu(scale * (unpacked @ b.T) + bias)``: packed is [M, K / 2] bytes, b [N, K] and c [M, N] are bf16.

    scale has M elements and bias N, f32; K is a multiple of BLOCK_K.
    """
    m, n, steps = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N, K // BLOCK_K
    a = tle.gpu.alloc([2, BLOCK_M, BLOCK_K], dtype=tl.bfloat16)
    b = tle.gpu.alloc([SLOTS, BLOCK_N, BLOCK_K], dtype=tl.bfloat16)
    full = tle.gpu.alloc_barriers(SLOTS, expect_bytes=BLOCK_N * BLOCK_K * 2)
    for step in tl.static_range(SLOTS - 1):
        if step < steps:
            tle.gpu.copy(b_desc, b[step], [BLOCK_N, BLOCK_K], offsets=[n, step * BLOCK_K], barrier=full[step])
    c = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(steps):
        # While the product of the step before runs on the other slot.
        packed = packed_ptr + m.to(tl.int64) * (K // 2) + step * (BLOCK_K // 2)
        unpack(a[step % 2], packed, K // 2, M - m)
        tle.gpu.barrier_wait(full[step % SLOTS], step // SLOTS)
        c = tle.gpu.wgmma(a[step % 2], b[step % SLOTS], c, trans_b=True)
        c = tle.gpu.wgmma_wait(1, c)
        ahead = step + SLOTS - 1
        if ahead < steps:
            free = ahead % SLOTS
            tle.gpu.copy(b_desc, b[free], [BLOCK_N, BLOCK_K], offsets=[n, ahead * BLOCK_K], barrier=full[free])
    c = tle.gpu.wgmma_wait(0, c)
    rows, columns = m + tl.arange(0, BLOCK_M), n + tl.arange(0, BLOCK_N)
    scale = tl.load(scale_ptr + rows, mask=rows < M, other=0.0)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0)
    c = scaled_relu(c, scale[:, None], bias[None, :])
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None].to(tl.int64) * N + columns[None, :], c.to(tl.bfloat16), mask=inside)


BLOCKS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "SLOTS": 4}
SMALL = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "SLOTS": 3}


def launch(packed, scale, b, bias, c):
    from triton.tools.tensor_descriptor import TensorDescriptor

    (M, N), K = c.shape, b.shape[1]
    blocks = common.sizes(gpu=(BLOCKS,), cpu=(SMALL,))[0]
    b_desc = TensorDescriptor(b, [N, K], [K, 1], [blocks["BLOCK_N"], blocks["BLOCK_K"]])
    grid = (triton.cdiv(M, blocks["BLOCK_M"]), triton.cdiv(N, blocks["BLOCK_N"]))
    return matmul[grid](packed, scale, b_desc, bias, c, M, N, K, **blocks, num_warps=4)


def compile_for(target):
    types = {"packed_ptr": "*u8", "scale_ptr": "*fp32", "b_desc": "tensordesc<bf16[128,64]>", "bias_ptr": "*fp32"}
    types |= {"c_ptr": "*bf16", "M": "i32", "N": "i32:16", "K": "i32:16"}
    return [common.compile_ahead(matmul, target, types, BLOCKS)]


def unpacked(packed):
    """The weights as integers: the first of two lies in the lower bits."""
    import torch

    return torch.stack([packed & 15, packed >> 4], -1).flatten(1).to(torch.int32) - 8


def check():
    import torch

    gpu = ((128, 128, 64), (200, 136, 192), (1000, 504, 1024), (2048, 2048, 2048))
    for M, N, K in common.sizes(gpu=gpu, cpu=((64, 32, 32), (65, 40, 96)), watched=gpu[:3]):
        device = common.device()
        packed = torch.randint(0, 256, (M, K // 2), dtype=torch.uint8).to(device)
        scale, bias = (torch.rand(size).to(device) for size in (M, N))
        b = torch.randn(N, K).to(device, torch.bfloat16)
        c = torch.full((M, N), float("nan"), device=device, dtype=torch.bfloat16)
        kernel = launch(packed, scale, b, bias, c)
        want = unpacked(packed).double() @ b.double().T * scale[:, None].double() + bias.double()
        yield kernel, common.compare(f"{M} × {N} × {K}", c, want.relu(), relative=2**-7, absolute=1e-3 * K**0.5)


if __name__ == "__main__":
    sys.exit(common.main("04 weights of four bits, unpacked into wgmma's buffer", compile_for, check))
