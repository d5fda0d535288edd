"""AOTInductor with a kernel of plain Triton, and nothing of tle_raw: what torch itself can do on a machine.

``python -m tests.torch_rows.plain_aot_inductor DEVICE FOLDER``; FOLDER is for torch's caches and the package.
"""

from __future__ import annotations

import os
import sys

os.environ["TORCHINDUCTOR_CACHE_DIR"] = sys.argv[2]
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch
import triton
import triton.language as tl
from torch._inductor import config

N = 64


@triton.jit
def twice(x_ptr, o_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(o_ptr + at, tl.load(x_ptr + at) * 2)


class Doubled(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        twice[(1,)](x, out, N=N)
        return out


def main(device: str, folder: str) -> None:
    x = torch.rand(N, device=device)
    program = torch.export.export(Doubled(), (x,), strict=True)
    with config.patch({"aot_inductor.compile_wrapper_opt_level": "O0"}):
        path = torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/plain.pt2")
        torch.testing.assert_close(torch._inductor.aoti_load_package(path)(x), 2 * x)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
