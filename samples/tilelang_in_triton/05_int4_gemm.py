"""Program 05, a product with int4 weights: one TileLang kernel by each route, its blocks in Triton's order.

``route="linked"`` is TileLang's own lowering: the CUDA that it writes is compiled and inlined into the Triton kernel,
and its copies and tensor core instructions stay as it chose them. ``route="traced"`` says the same kernel in Triton's
operations, which the CPU runs too. ``grid=`` takes the block indices from the caller: Triton walks through the result
in groups of rows, so that weights that were just read are still in the cache.
"""

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("tilelang", "tilelang")
dequantise_gemm = common.load("benchmarks/tilelang_kernels.py").dequantise_gemm

BLOCKS = {"BM": 64, "BN": 128}
GROUP = 4
PLACES = {"bx": "column", "by": "row"}


def kernel_of(m, n, k, route):
    """A Triton kernel for a product of these sizes, which are in TileLang's kernel."""
    product = tle_raw.fragment(dequantise_gemm(m, n, k, (BLOCKS["BM"], BLOCKS["BN"], 64)), route=route, grid=PLACES)

    @triton.jit
    def int4_gemm(a_ptr, b_ptr, c_ptr, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
        rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
        first = tl.program_id(0) // (GROUP * columns) * GROUP
        height = min(rows - first, GROUP)
        inside = tl.program_id(0) % (GROUP * columns)
        row, column = first + inside % height, inside // height
        product(a_ptr, b_ptr, c_ptr, column, row)

    return int4_gemm


CONSTANTS = {**BLOCKS, "GROUP": GROUP}


def compile_for(target):
    types = {"a_ptr": "*fp16", "b_ptr": "*u8", "c_ptr": "*fp16", "m": "i32", "n": "i32"}
    kernels = [kernel_of(256, 512, 256, route) for route in ("traced", "linked")]
    return [common.compile_ahead(kernel, target, types, CONSTANTS) for kernel in kernels]


def reference(a, packed):
    """Two weights of -8 to 7 in a byte, the even column in the low half."""
    import torch

    weights = torch.stack([packed & 15, packed >> 4], dim=2).reshape(len(packed), a.shape[1]).double() - 8
    return a.double() @ weights.T


def check():
    import torch

    device = common.device()
    sizes = ((1, 130, 64), (333, 200, 512), (1024, 4096, 4096))
    for m, n, k in common.sizes(gpu=sizes, cpu=((1, 130, 64), (70, 200, 128)), watched=((133, 200, 192),)):
        a = torch.randn(m, k, device=device).half()
        packed = torch.randint(0, 256, (n, k // 2), device=device).to(torch.uint8)
        want = reference(a, packed)
        for route in common.sizes(gpu=("traced", "linked"), cpu=("traced",)):
            c = torch.empty(m, n, device=device, dtype=torch.float16)
            grid = (triton.cdiv(m, BLOCKS["BM"]) * triton.cdiv(n, BLOCKS["BN"]),)
            compiled = kernel_of(m, n, k, route)[grid](a, packed, c, m, n, **CONSTANTS)
            what = f"{m} × {n} × {k}, {route}"
            yield compiled, common.compare(what, c, want, relative=2**-10, absolute=1e-5 * k)


if __name__ == "__main__":
    sys.exit(common.main("05 int4 weights: one TileLang kernel by two routes", compile_for, check))
