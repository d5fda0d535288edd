"""Program 02, a matrix product in TileLang whose result goes on in Triton code: bias, GELU, and the scale of each row.

The product is a TileLang kernel as it stands. ``tiles=["C"]`` keeps its last copy from memory: the block of the result
is a block tensor in registers, in float32, and what Triton makes of it is stored once.
"""

import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("tilelang", "tilelang")
import tilelang.language as T  # noqa: E402

BLOCKS = {"BM": 64, "BN": 64}


def matmul(bM=BLOCKS["BM"], bN=BLOCKS["BN"], bK=32):
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")

    @T.prim_func
    def matmul(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, bN), T.ceildiv(m, bM), threads=128) as (bx, by):
            a = T.alloc_shared((bM, bK), "float16")
            b = T.alloc_shared((bK, bN), "float16")
            c = T.alloc_fragment((bM, bN), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, bK), num_stages=3):
                T.copy(A[by * bM, step * bK], a)
                T.copy(B[step * bK, bx * bN], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * bM, bx * bN])

    return matmul


product = tle_raw.fragment(matmul(), tiles=["C"])


@triton.jit
def matmul_gelu(a_ptr, b_ptr, bias_ptr, scale_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(1) * BM + tl.arange(0, BM)
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    c = product(a_ptr, b_ptr, m=m, n=n, k=k)
    c += tl.load(bias_ptr + column, column < n, 0.0).to(tl.float32)[None, :]
    c = 0.5 * c * (1 + tl.erf(c * 0.7071067811865476))
    c *= tl.load(scale_ptr + row, row < m, 0.0)[:, None]
    tl.store(c_ptr + row[:, None] * n + column[None, :], c, (row[:, None] < m) & (column[None, :] < n))


def compile_for(target):
    types = dict.fromkeys(("a_ptr", "b_ptr", "bias_ptr", "c_ptr"), "*fp16") | {"scale_ptr": "*fp32"}
    types |= dict.fromkeys("mnk", "i32:16")
    return [common.compile_ahead(matmul_gelu, target, types, BLOCKS)]


def check():
    import torch

    device = common.device()
    sizes = ((1, 77, 65), (333, 257, 129), (1024, 512, 768))
    for m, n, k in common.sizes(gpu=sizes, cpu=((1, 77, 65), (130, 70, 33))):
        a, b = torch.randn(m, k, device=device).half(), (torch.randn(k, n, device=device) / k**0.5).half()
        bias, scale = torch.randn(n, device=device).half(), torch.randn(m, device=device)
        c = torch.empty(m, n, device=device, dtype=torch.float16)
        grid = (triton.cdiv(n, BLOCKS["BN"]), triton.cdiv(m, BLOCKS["BM"]))
        compiled = matmul_gelu[grid](a, b, bias, scale, c, m, n, k, **BLOCKS)
        want = torch.nn.functional.gelu(a.double() @ b.double() + bias.double()) * scale.double()[:, None]
        yield compiled, common.compare(f"{m} × {n} × {k}", c, want, relative=2**-10, absolute=1e-3)


if __name__ == "__main__":
    sys.exit(common.main("02 a product in TileLang, its epilogue in Triton", compile_for, check))
