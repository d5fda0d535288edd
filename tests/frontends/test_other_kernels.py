"""Kernels that are not plain ``@triton.jit`` for NVIDIA GPUs: each works or is refused by name."""

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

import tle_raw
from tests.support import cause_of, compile_kernel
from tle_raw import InOut, Tile


@tle_raw.dialect("cuda", source="template <int M> __device__ void twice(float* t) { t[threadIdx.x] *= 2; }")
def twice(t: InOut[Tile["f32", "M"]]): ...


@gluon.jit
def gluon_kernel(x, B: gl.constexpr):
    i = gl.arange(0, B, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(x + i, twice(gl.load(x + i)))


def test_a_gluon_kernel_is_refused():
    source = GluonASTSource(gluon_kernel, {"x": "*fp32", "B": "constexpr"}, {(1,): 128})
    with pytest.raises(triton.compiler.errors.CompilationError, match="called in a Gluon kernel"):
        triton.compile(source, target=GPUTarget("cuda", 90, 32))


@triton.jit
def kernel(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, twice(tl.load(x + i)))


def test_another_backend_is_refused():
    source = ASTSource(kernel, {"x": "*fp32", "B": "constexpr"}, {"B": 128})
    with pytest.raises(triton.compiler.errors.CompilationError) as caught:
        triton.compile(source, target=GPUTarget("hip", "gfx942", 64))
    assert "another backend" in str(cause_of(caught.value))


@triton.jit(noinline=True)
def not_inlined(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, twice(tl.load(x + i)))


@triton.jit
def calls_not_inlined(x, B: tl.constexpr):
    not_inlined(x, B)
    not_inlined(x + B, B)


def test_a_region_in_a_function_that_stays_a_function_works():
    compiled = compile_kernel(calls_not_inlined, {"x": "*fp32"}, {"B": 128})
    report = tle_raw.report(compiled)
    assert report.one_kernel and report.regions[0].inlined
