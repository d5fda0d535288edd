"""Program 01, a matrix product whose epilogue is PyCUDA's: an elementwise kernel, and a reduction along the rows.

As a PyCUDA program it would be three launches and two round trips through memory. PyCUDA need not be installed.
"""

import sys
from pathlib import Path

import numpy as np
import triton
import triton.language as tl

from tle_raw import pycuda

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

swish = pycuda.ElementwiseKernel(
    "float beta, float *x, float *y",
    "y[i] = x[i] * sigmoid(beta * x[i])",
    "swish",
    preamble="__device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }",
)
energy = pycuda.ReductionKernel(np.float32, "0", "a+b", "x[i] * x[i]", "float *x", "energy", axis=1)


@triton.jit
def matmul_energy(a_ptr, b_ptr, c_ptr, energy_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c = swish(a @ b), and for each block of columns the sum of squares of each row."""
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        a = tl.load(a_ptr + row[:, None] * k + inner[None, :], (row[:, None] < m) & (inner[None, :] < k), 0.0)
        b = tl.load(b_ptr + inner[:, None] * n + column[None, :], (inner[:, None] < k) & (column[None, :] < n), 0.0)
        total = tl.dot(a, b, total)
    c = swish(1.5, total)
    tl.store(c_ptr + row[:, None] * n + column[None, :], c, (row[:, None] < m) & (column[None, :] < n))
    # Beyond the matrix are zeros, and swish(0) is 0.
    tl.store(energy_ptr + tl.program_id(1) * m + row, energy(c), row < m)


BLOCKS = {"M": 64, "N": 64, "K": 32}


def compile_for(target):
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "energy_ptr": "*fp32"}
    return [common.compile_ahead(matmul_energy, target, types | dict.fromkeys("mnk", "i32"), BLOCKS)]


def check():
    import torch

    device = common.device()
    few = ((64, 64, 32), (70, 130, 45))
    for m, n, k in common.sizes(gpu=(few[0], (1000, 777, 515), (4096, 4096, 1024)), cpu=few, watched=few):
        a = torch.randn(m, k, device=device).half()
        b = (torch.randn(k, n, device=device) / k**0.5).half()
        grid = (triton.cdiv(m, BLOCKS["M"]), triton.cdiv(n, BLOCKS["N"]))
        c, sums = torch.empty(m, n, device=device), torch.empty(grid[1], m, device=device)
        compiled = matmul_energy[grid](a, b, c, sums, m, n, k, **BLOCKS)
        product = a.double() @ b.double()
        want = product * torch.sigmoid(1.5 * product)
        yield compiled, common.compare(f"{m} × {n} × {k}, swish", c, want, relative=1e-5, absolute=1e-4)
        yield compiled, common.compare(f"{m} × {n} × {k}, energy", sums.sum(0), want.pow(2).sum(1), relative=1e-4)


if __name__ == "__main__":
    sys.exit(common.main("01 PyCUDA's kernels behind a matrix product", compile_for, check))
