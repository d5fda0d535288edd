"""Program 06, assertion: device code checks what it is given; a value that does not fit stops the kernel.

A GPU that stopped serves its process no longer, so the failing launch runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import triton
import triton.language as tl

import tle_raw
from tle_raw import InOut, Tile, mlir

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

MESSAGE = "a root of a negative number"


@tle_raw.dialect("mlir")
def roots(t: InOut[Tile["f32", "N"]]):
    for i in range(mlir.thread_id(), N, mlir.block_dim()):
        assert t[i] >= 0, MESSAGE
        t[i] = mlir.sqrt(t[i])


@triton.jit
def root(x_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index, mask=index < n, other=0.0)
    tl.store(x_ptr + index, roots(x), mask=index < n)


BLOCK = 256


def compile_for(target):
    return [common.compile_ahead(root, target, {"x_ptr": "*fp32", "n": "i32"}, {"BLOCK": BLOCK})]


def launch(x):
    return root[(triton.cdiv(x.numel(), BLOCK),)](x, x.numel(), BLOCK=BLOCK)


def fail() -> None:
    """Launch with one negative number."""
    import torch

    x = torch.rand(1000, device=common.device())
    x[777] = -1
    launch(x)
    if x.is_cuda:
        torch.cuda.synchronize()


def check():
    import torch

    x = torch.rand(1000, device=common.device()) * 9
    want = x.double().sqrt()
    compiled = launch(x)
    yield compiled, common.compare("roots of 1000 numbers", x, want, relative=2**-23)
    failed = subprocess.run([sys.executable, __file__, "--fail"], capture_output=True, text=True, timeout=240)
    said = failed.returncode != 0 and MESSAGE in failed.stderr + failed.stdout
    print(*[line for line in (failed.stderr + failed.stdout).splitlines() if MESSAGE in line][:1])
    silent = torch.tensor([0.0 if said else 1.0])
    yield compiled, common.compare("a failure that says nothing", silent, torch.zeros(1))


if __name__ == "__main__":
    if sys.argv[1:] == ["--fail"]:
        fail()
        sys.exit(0)
    sys.exit(common.main("06 assertion in the MLIR eDSL", compile_for, check, runtime=("__assertfail",)))
