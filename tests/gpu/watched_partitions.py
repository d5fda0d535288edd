"""A few launches of kernels with specialised warps, for compute-sanitizer's racecheck, and where their states lie.

    compute-sanitizer --tool racecheck python tests/gpu/watched_partitions.py ring|gemm

``TRITON_CACHE_DIR`` is printed with the name of each kernel's file of machine code.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.gpu import partition_kernels as kernels


def ring():
    x = torch.randn(7 * 512, device="cuda")
    o, y = torch.empty(7 * 512, device="cuda"), torch.empty(513, device="cuda")
    return kernels.through_ring[(1,)](x, o, y, 7, x.numel(), 512, 3, 1, 2, "store", num_warps=4)


def gemm():
    a = torch.randn(128, 256, device="cuda").to(torch.bfloat16)
    b = torch.randn(128, 256, device="cuda").to(torch.bfloat16)
    c = torch.empty(128, 128, device="cuda")
    tiles = TensorDescriptor.from_tensor(a, [128, 64]), TensorDescriptor.from_tensor(b, [128, 64])
    return kernels.gemm[(1, 1)](*tiles, c, 4, 128, 128, 64, 3, 1, 1, num_warps=4)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        compiled = {"ring": ring, "gemm": gemm}[name]()
        torch.cuda.synchronize()
        Path(f"{triton.knobs.cache.dir}/watched-{name}.cubin").write_bytes(compiled.asm["cubin"])
        print(f"{name}: {compiled.name}, {compiled.metadata.shared} bytes", flush=True)
