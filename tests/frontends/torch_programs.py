"""Kernels with regions under torch.compile; run by test_torch_compile.py in processes of their own.

The first argument is a folder for torch's caches, the others name the tests. What has passed is printed.
"""

from __future__ import annotations

import logging
import os
import sys

os.environ["TORCHINDUCTOR_CACHE_DIR"] = sys.argv[1]

import torch
import torch.utils._triton
import triton
import triton.language as tl
from torch._dynamo.utils import counters

import tle_raw
from tle_raw import Element, InOut, Pointer, Scalar, Tile

torch.utils._triton.has_triton = lambda: True  # the CPU's driver is not among those that torch knows
SIZES = (256, 512)


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
def called(x_ptr, o_ptr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + at, tle_raw.call(half_of, [tl.load(x_ptr + at)]))


def both(x, s, copy):
    out = torch.empty_like(x)
    two_regions[(x.numel() // 64,)](x, s, copy, out, 3, B=64)
    return out


def halved(x):
    out = torch.empty_like(x)
    called[(x.numel() // 64,)](x, out, B=64)
    return out


def check_both(function):
    for size in SIZES:
        x, s, copy = torch.randn(size), torch.randn(size), torch.zeros(size)
        kept = s.clone()
        torch.testing.assert_close(function(x, s, copy), (x + s * 3) / 2)
        torch.testing.assert_close(copy, x + s * 3)
        assert (s == kept).all()


def test_two_regions_and_a_pointer_that_is_written():
    torch._dynamo.reset()
    check_both(torch.compile(both, fullgraph=True, dynamic=False))


def test_dynamic_shapes():
    torch._dynamo.reset()
    check_both(torch.compile(both, fullgraph=True, dynamic=True))


def test_only_what_is_written_counts_as_written():
    from torch._higher_order_ops.triton_kernel_wrap import identify_accessed_tensors

    tensors = dict.fromkeys(("x_ptr", "s_ptr", "copy_ptr", "o_ptr"), torch.zeros(64))
    found = identify_accessed_tensors(two_regions, {**tensors, "n": 3, "B": 64}, {})
    assert {d.name for d in found.read_writes.writes} == {"copy_ptr", "o_ptr"}
    assert {"x_ptr", "s_ptr"} <= {d.name for d in found.read_writes.reads}


@torch.library.triton_op("tle_raw_tests::halve", mutates_args={})
def halve(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(called)[(x.numel() // 64,)](x, out, B=64)
    return out


def test_an_operator_of_torch_library():
    torch._dynamo.reset()
    x = torch.randn(256)
    torch.testing.assert_close(halve(x), x / 2)
    torch.testing.assert_close(torch.compile(lambda x: halve(x), fullgraph=True)(x), x / 2)


class Halve(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return halved(x)

    @staticmethod
    def backward(_, gradient):
        return halved(gradient.contiguous())


def test_a_function_with_a_gradient():
    torch._dynamo.reset()
    for apply in (Halve.apply, torch.compile(lambda x: Halve.apply(x), fullgraph=True)):
        x = torch.randn(256, requires_grad=True)
        apply(x).backward(torch.ones(256))
        assert x.grad is not None and (x.grad == 0.5).all()


def test_compiled_in_another_process():
    """Torch's workers have imported nothing of this file."""
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    torch._dynamo.reset()
    with config.patch(compile_threads=2, force_disable_caches=True):
        AsyncCompile.wait_pool_ready()
        assert AsyncCompile.use_process_pool()
        x = torch.randn(256)
        torch.testing.assert_close(torch.compile(halved, fullgraph=True)(x), x / 2)


class Warnings(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        assert "every input is mutated" not in record.getMessage(), record


if __name__ == "__main__":
    logging.getLogger("torch._dynamo").addHandler(Warnings())
    for name in sys.argv[2:]:
        globals()[name]()
        print("passed", name, flush=True)
    print("from the cache:", counters["inductor"]["fxgraph_cache_hit"])
