"""Triton kernels around TileLang regions that load by TMA and have warps for it; their launches pass descriptors."""

import triton
import triton.language as tl

import tle_raw
from tests.adapters.tilelang.linked import kernels, tma_kernels

M, N, K = 512, 768, 320
GRID = {"bx": "column", "by": "row"}

product = tle_raw.fragment(
    kernels.gemm(M, N, K, (128, 128, 64), threads=128), route="linked", tma=True, tiles=["C"], grid=GRID
)
wide_product = tle_raw.fragment(kernels.gemm(M, N, K, (128, 256, 64), threads=256), route="linked", tma=True, grid=GRID)
any_product = tle_raw.fragment(tma_kernels.dynamic_gemm(), route="linked", tma=True)


@triton.jit
def persistent_gelu(A, B, out, tma, rows: tl.constexpr, columns: tl.constexpr, width: tl.constexpr):
    """The region's tile goes on in Triton; the region runs several times in a program, its barriers anew each time."""
    for number in range(tl.program_id(0), rows * columns, tl.num_programs(0)):
        row, column = number // columns, number % columns
        tile = product(A, B, column, row, tma).to(tl.float32)
        gelu = 0.5 * tile * (1 + tl.erf(tile * 0.7071067811865476))
        at = (row * 128 + tl.arange(0, 128)[:, None]) * width + column * 128 + tl.arange(0, 128)[None, :]
        tl.store(out + at, gelu)


@triton.jit
def persistent_squares(A, B, C, out, tma, rows: tl.constexpr, columns: tl.constexpr, width: tl.constexpr):
    """Triton reads from memory what the region wrote, with the registers that its warps handed back."""
    for number in range(tl.program_id(0), rows * columns, tl.num_programs(0)):
        row, column = number // columns, number % columns
        wide_product(A, B, C, column, row, tma)
        tl.debug_barrier()
        at = (row * 128 + tl.arange(0, 128)[:, None]) * width + column * 256 + tl.arange(0, 256)[None, :]
        tile = tl.load(C + at).to(tl.float32)
        tl.store(out + at, tile * tile)
        tl.debug_barrier()


@triton.jit
def doubled_first(A, twice, B, C, m, n, k, tma, size: tl.constexpr):
    """Triton writes the operand that the region's copies read: each program its own rows, before the region."""
    row = tl.program_id(1)
    for start in range(0, k, size):
        at = (row * 128 + tl.arange(0, 128)[:, None]) * k + start + tl.arange(0, size)[None, :]
        inside = (row * 128 + tl.arange(0, 128)[:, None] < m) & (start + tl.arange(0, size)[None, :] < k)
        tl.store(twice + at, tl.load(A + at, inside, 0) * 2, inside)
    any_product(twice, B, C, m=m, n=n, k=k, tma=tma)
