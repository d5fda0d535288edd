"""Program 04, hello world: printf from device code, and what was printed is checked."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import triton

import tle_raw
from tle_raw import Pointer, Scalar, mlir

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common


@tle_raw.dialect("mlir")
def hello(x: Pointer["f32"], n: Scalar["i32"]):
    i = mlir.thread_id()
    if i < n:
        mlir.printf("hello from thread %d of program %d: x = %.2f\n", i, mlir.block_id(), x[i])


@triton.jit
def greet(x_ptr, n):
    hello(x_ptr, n)


PROGRAMS, GREETING = 2, 3


def compile_for(target):
    return [common.compile_ahead(greet, target, {"x_ptr": "*fp32", "n": "i32"}, {})]


def printed(run: Callable[[], None]) -> str:
    """What device code writes to standard output, which Python's own ``sys.stdout`` does not see."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        output = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            run()
        finally:
            os.dup2(output, 1)
            os.close(output)
        file.seek(0)
        return file.read().decode()


def check():
    import torch

    x = torch.randn(GREETING, device=common.device())
    launched = []

    def run() -> None:
        launched.append(greet[(PROGRAMS,)](x, GREETING))
        if x.is_cuda:
            torch.cuda.synchronize()  # prints what the device has kept

    lines = printed(run).splitlines()
    print(*lines, sep="\n")
    wanted = [
        f"hello from thread {i} of program {p}: x = {x[i].item():.2f}" for p in range(PROGRAMS) for i in range(GREETING)
    ]
    missing = torch.tensor([float(line not in lines) for line in wanted])
    extra = torch.tensor([float(len(lines) - len(wanted))])
    yield launched[0], common.compare("lines that are missing", missing, torch.zeros_like(missing))
    yield launched[0], common.compare("lines too many", extra, torch.zeros_like(extra))


if __name__ == "__main__":
    sys.exit(common.main("04 hello world in the MLIR eDSL", compile_for, check, runtime=("vprintf",)))
