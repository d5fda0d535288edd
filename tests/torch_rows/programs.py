"""Rows: programs that torch keeps: exported ones, packages of AOTInductor, graphs of its cache."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch._inductor import config

from tests.started import run_python
from tests.torch_rows.kernels import check_launched, launched, numbers
from tests.torch_rows.modes import refused
from tests.torch_rows.operators import halve_operator


class Launched(torch.nn.Module):
    def forward(self, x, s, copy):
        return launched(x, s, copy)


class Operator(torch.nn.Module):
    def forward(self, x):
        return halve_operator(x)


def export(device):
    check_launched(exported(device).module(), device)


def exported(device):
    """By Dynamo, which knows launches; without it torch launches on tensors without memory."""
    x, s = numbers(device)
    return torch.export.export(Launched(), (x, s, torch.zeros_like(x)), strict=True)


def export_of_an_operator(device):
    """Saved and loaded: the program that loads it has imported the operator."""
    x, _ = numbers(device)
    program = torch.export.export(Operator(), (x,))
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(program, f"{folder}/operator.pt2")
        again = torch.export.load(f"{folder}/operator.pt2").module()
    torch.testing.assert_close(again(x).double(), x.double() / 2)


def aot_inductor(device):
    program = exported(device)
    quick = config.patch({"aot_inductor.compile_wrapper_opt_level": "O0"})
    with tempfile.TemporaryDirectory() as folder, quick, refused(device, "Python launches kernels for the CPU"):
        path = torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/launched.pt2")
        check_launched(torch._inductor.aoti_load_package(path), device)


PROGRAM = """
import sys, torch, triton, triton.language as tl
import tle_raw, tle_raw.language as tle
from torch._dynamo.utils import counters
from tle_raw import Element

@tle_raw.dialect("cuda", file=sys.argv[2])
def half(x: Element["f32"]) -> Element["f32"]: ...

@triton.jit
def kernel(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    buffer = tle.gpu.alloc([B], tl.float32)
    buffer.store(half(tl.load(x + at)))
    tl.store(o + at, buffer.load())

def f(x):
    o = torch.empty_like(x)
    kernel[(1,)](x, o, B=64)
    return o

x = torch.ones(64, device=sys.argv[1])
print(torch.compile(f, fullgraph=True)(x)[0].item(), counters["inductor"]["fxgraph_cache_hit"])
"""


DIVISORS = (2, 2, 4)

# Imports what the program above does, and torch's compiler, once, and forks for each content of the fragment's file.
# For the CPU alone: these imports may look for a GPU, and CUDA does not work in a fork of a process that did.
STARTED_THRICE = """
import os, runpy, sys
import torch._dynamo, torch._inductor.compile_fx, torch._inductor.lowering, triton, tle_raw.language

_, device, program, source, *divisors = sys.argv
for divisor in divisors:
    with open(source, "w") as file:
        file.write(f"__device__ float half(float x) {{ return x / {divisor}; }}")
    pid = os.fork()
    if pid == 0:
        sys.argv = [program, device, source]
        runpy.run_path(program, run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit(f"failed where it divides by {divisor}")
"""


def a_cache_of_graphs_sees_an_edited_fragment(device):
    """Three processes, the third behind an edit: their value, and how many graphs were found in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        program, source = Path(folder, "program.py"), Path(folder, "half.cu")
        program.write_text(PROGRAM)
        if device == "cpu":
            printed = _output("-c", STARTED_THRICE, device, program, source, *DIVISORS)
        else:
            printed = ""
            for divisor in DIVISORS:
                source.write_text(f"__device__ float half(float x) {{ return x / {divisor}; }}")
                printed += _output(program, device, source)
        assert printed.splitlines() == ["0.5 0", "0.5 1", "0.25 0"]


def _output(*arguments):
    run = run_python(*arguments)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout
