"""Kernels with regions under torch.compile: Inductor's modules, its workers, operators, gradients, CUDA graphs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import triton
import triton.language as tl

import tle_raw
from tle_raw import Element, InOut, Pointer, Scalar, Tile

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu

B = 64


@tle_raw.dialect(
    "cuda",
    source="""
extern "C" __device__ void axpy(float* t, const float* s, float* copy, int n) {
  for (int i = threadIdx.x; i < TLE_N; i += blockDim.x) copy[i] = t[i] += s[i] * n;
}
""",
)
def axpy(t: InOut[Tile["f32", "N"]], s: Pointer["f32"], copy: Pointer["f32"], n: Scalar["i32"]): ...


@tle_raw.dialect("cuda", source="__device__ float half_of(float x) { return x / 2; }")
def half_of(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def two_regions(x_ptr, s_ptr, copy_ptr, o_ptr, n, B: tl.constexpr):
    start = tl.program_id(0) * B
    at = start + tl.arange(0, B)
    y = axpy(tl.load(x_ptr + at), s_ptr + start, copy_ptr + start, n)
    tl.store(o_ptr + at, half_of(y))


@triton.jit
def halve(x_ptr, o_ptr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + at, half_of(tl.load(x_ptr + at)))


def both(x, s, copy):
    x = x.sin()  # Inductor's own kernels stand before and after
    out = torch.empty_like(x)
    two_regions[(x.numel() // B,)](x, s, copy, out, 3, B=B)
    return out + 1


def halved(x):
    out = torch.empty_like(x)
    halve[(x.numel() // B,)](x, out, B=B)
    return out


@pytest.fixture(autouse=True)
def anew(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()


def check_both(function):
    for size in (256, 4096):
        x, s = torch.randn(2, size, device="cuda")
        copy, kept = torch.zeros_like(x), s.clone()
        expected = x.sin() + s * 3
        torch.testing.assert_close(function(x, s, copy), expected / 2 + 1)
        torch.testing.assert_close(copy, expected)
        assert torch.equal(s, kept)


@pytest.mark.parametrize("dynamic", [False, True])
def test_two_regions_and_a_pointer_that_is_written(dynamic):
    check_both(both)
    check_both(torch.compile(both, fullgraph=True, dynamic=dynamic))


def test_inductors_workers_import_the_module_that_declares_the_fragment():
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    with config.patch(compile_threads=4):
        AsyncCompile.wait_pool_ready()
        check_both(torch.compile(both, fullgraph=True))


def test_an_operator_of_torch_library():
    @torch.library.triton_op("tle_raw_gpu_tests::halve", mutates_args={})
    def operator(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        torch.library.wrap_triton(halve)[(x.numel() // B,)](x, out, B=B)
        return out

    x = torch.randn(4096, device="cuda")
    torch.testing.assert_close(operator(x), x / 2)
    torch.testing.assert_close(torch.compile(lambda x: operator(x) + 1, fullgraph=True)(x), x / 2 + 1)


class Halve(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return halved(x)

    @staticmethod
    def backward(_, gradient):
        return halved(gradient.contiguous())


def test_a_function_with_a_gradient():
    for apply in (Halve.apply, torch.compile(lambda x: Halve.apply(x), fullgraph=True)):
        x = torch.randn(256, device="cuda", requires_grad=True)
        apply(x).sum().backward()
        assert (x.grad == 0.5).all()


def test_a_cuda_graph():
    compiled = torch.compile(halved, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        x = torch.randn(4096, device="cuda")
        torch.testing.assert_close(compiled(x), x / 2)


PROGRAM = """
import torch, triton, triton.language as tl, tle_raw
from tle_raw import InOut, Tile

@tle_raw.dialect("cuda", source='''
extern "C" __device__ void twice(float* t) {
  for (int i = threadIdx.x; i < TLE_N; i += blockDim.x) t[i] *= 2;
}
''')
def twice(t: InOut[Tile["f32", "N"]]): ...

@triton.jit
def kernel(x, o, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, twice(tl.load(x + at)))

def f(x):
    o = torch.empty_like(x)
    kernel[(4,)](x, o, B=64)
    return o + 1

if __name__ == "__main__":
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile
    config.compile_threads = 4
    AsyncCompile.wait_pool_ready()
    x = torch.randn(256, device="cuda")
    torch.testing.assert_close(torch.compile(f, fullgraph=True)(x), 2 * x + 1)
    print("right")
"""


def test_a_program_whose_fragments_no_other_process_can_import(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torch")}
    for _ in range(2):  # the second takes its graph from torch's cache
        run = subprocess.run(
            [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=600
        )
        assert run.stdout == "right\n", run.stderr[-3000:]
