"""Sample 03: a matmul with a CUDA epilogue. The loop is Triton's, pipelined; bias and GELU are CUDA after tl.dot."""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import Element, InOut, Pointer, Scalar, Tile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("cuda", file="bias_gelu.cu")
def bias_gelu_tile(
    t: InOut[Tile["f32", "M", "N"]], bias: Pointer["f16"], first: Scalar["i32"], columns: Scalar["i32"]
): ...


@tle_raw.dialect("cuda", file="bias_gelu.cu")
def bias_gelu(x: Element["f32"], bias: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def product(a_ptr, b_ptr, m, n, k, row, col, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One block of a @ b with float32 accumulation; every size may be any number."""
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + row[:, None] * k + inner[None, :],
            mask=(row[:, None] < m) & (inner[None, :] < k),
            other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * n + col[None, :],
            mask=(inner[:, None] < k) & (col[None, :] < n),
            other=0.0,
        )
        acc = tl.dot(a, b, acc)
    return acc


@triton.jit
def matmul_tile(a_ptr, b_ptr, bias_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = product(a_ptr, b_ptr, m, n, k, row, col, BM, BN, BK)
    c = bias_gelu_tile(acc, bias_ptr, tl.program_id(1) * BN, n)
    inside = (row[:, None] < m) & (col[None, :] < n)
    tl.store(c_ptr + row[:, None] * n + col[None, :], c.to(tl.float16), mask=inside)


@triton.jit
def matmul_element(a_ptr, b_ptr, bias_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = product(a_ptr, b_ptr, m, n, k, row, col, BM, BN, BK)
    bias = tl.load(bias_ptr + col, mask=col < n, other=0.0).to(tl.float32)
    c = bias_gelu(acc, bias[None, :])  # broadcast as in any Triton expression
    inside = (row[:, None] < m) & (col[None, :] < n)
    tl.store(c_ptr + row[:, None] * n + col[None, :], c.to(tl.float16), mask=inside)


KERNELS = (matmul_tile, matmul_element)
BLOCKS = {"BM": 64, "BN": 64, "BK": 32}
SIZES = ((128, 64, 1), (1, 77, 65), (333, 257, 129), (130, 200, 1000), (1024, 512, 768))


def compile_for(target):
    pointers = dict.fromkeys(("a_ptr", "b_ptr", "bias_ptr", "c_ptr"), "*fp16")
    types = pointers | dict.fromkeys(("m", "n", "k"), "i32:16")
    return [common.compile_ahead(kernel, target, types, BLOCKS) for kernel in KERNELS]


def reference(a, b, bias):
    import torch

    return torch.nn.functional.gelu(a.double() @ b.double() + bias.double())


def check():
    import torch

    device = common.device()
    for kernel in KERNELS:
        for m, n, k in common.sizes(gpu=SIZES, cpu=SIZES[1:3]):
            a = torch.randn(m, k, device=device).half()
            b = (torch.randn(k, n, device=device) / k**0.5).half()  # results of about 1, whatever k is
            bias = torch.randn(n, device=device).half()
            c = torch.empty(m, n, device=device, dtype=torch.float16)
            grid = (triton.cdiv(m, BLOCKS["BM"]), triton.cdiv(n, BLOCKS["BN"]))
            compiled = kernel[grid](a, b, bias, c, m, n, k, **BLOCKS, num_warps=4, num_stages=3)
            # Twice the rounding to half at the end; the absolute part is the accumulation, near zeros of the sum.
            what = f"{kernel.__name__}, {m} × {n} × {k}"
            yield compiled, common.compare(what, c, reference(a, b, bias), relative=2**-10, absolute=1e-3)


if __name__ == "__main__":
    sys.exit(common.main("03 matmul with bias and GELU in CUDA", compile_for, check))
