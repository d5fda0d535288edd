"""Outputs that FlagTree's programs do not name: what the device function returns says which arguments come back."""

from __future__ import annotations

import types
from typing import Literal as L

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel
from tle_raw.compat import flagtree
from tle_raw.compat.flagtree.declare import dialect as declare
from tle_raw.errors import CallError, DialectError, SignatureError

pytest.importorskip("llvmlite")

flagtree.install()

import triton.experimental.tle.language.gpu as tle  # noqa: E402
import triton.experimental.tle.language.raw as raw  # noqa: E402
from triton.experimental.tle.raw import Input, dialect  # noqa: E402


@pytest.fixture
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


SHARED = """
#include <cuda_fp16.h>
#define SHARED __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))
struct Descriptor { SHARED float *allocated, *aligned; int64_t offset, sizes[1], strides[1]; };
namespace { __device__ float own(float x) { return 2 * x; } }
static __attribute__((device, always_inline)) float helper(float x) { return own(x); }
"""
PAIR = f"""{SHARED}
__attribute__((device)) auto swap_and_double(SHARED float* a, SHARED float* a_aligned, int64_t a_offset, int64_t a_size,
                                             int64_t a_stride, SHARED float* b, SHARED float* b_aligned,
                                             int64_t b_offset, int64_t b_size, int64_t b_stride) {{
  for (int i = threadIdx.x; i < a_size; i += blockDim.x) {{
    float kept = a_aligned[a_offset + i * a_stride];
    a_aligned[a_offset + i * a_stride] = helper(b_aligned[b_offset + i * b_stride]);
    b_aligned[b_offset + i * b_stride] = kept;
  }}
  __syncthreads();
  struct {{ Descriptor second, first; }} r{{
    {{b, b_aligned, b_offset, {{b_size}}, {{b_stride}}}}, {{a, a_aligned, a_offset, {{a_size}}, {{a_stride}}}}}};
  return r;
}}
"""
POINTER = f"""{SHARED}
#define MAKE(Type, Name) \\
  extern "C" __device__ Type* Name(GLOBAL Type* out, GLOBAL const uint16_t* bits, void* flags, const int n) {{ \\
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = bits[i] + ((char*)flags)[4 * i]; \\
    return out; \\
  }}
MAKE(int, sum_of_bits)
"""
LOST = f"{SHARED}__device__ float* nowhere(GLOBAL float* x, int n) {{ return (float*)x + n; }}"


@dialect(name="cuda", source=PAIR)
def edsl(*args, **kwargs): ...


@dialect(name="cuda", source=POINTER, extern_func_name="sum_of_bits")
def counted(*args, **kwargs): ...


@dialect(name="cuda", source=LOST)
def lost(*args, **kwargs): ...


@triton.jit
def swap(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    second, first = raw.call(edsl, [tl.load(x + i), tl.load(y + i)])
    tl.store(x + i, first)
    tl.store(y + i, second)


@triton.jit
def swap_in_place(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tle.alloc([B], dtype=tl.float32, nv_mma_shared_layout=False)
    b = tle.alloc([B], dtype=tl.float32, nv_mma_shared_layout=False)
    tl.store(tle.local_ptr(a, (i,)), tl.load(x + i))
    tl.store(tle.local_ptr(b, (i,)), tl.load(y + i))
    raw.call_smem(edsl, [a, b])
    tl.store(x + i, tl.load(tle.local_ptr(a, (i,))))
    tl.store(y + i, tl.load(tle.local_ptr(b, (i,))))


@triton.jit
def count(x, flags, o, n, B: tl.constexpr):
    back = raw.call(counted, [o, x, flags, n])
    i = tl.arange(0, B)
    tl.store(back + i, tl.load(back + i) + 1, mask=i < n)


@triton.jit
def lose(x, n):
    tl.store(raw.call(lost, [x, n]), 0.0)


@pytest.mark.every_triton(3)
@pytest.mark.parametrize("kernel", [swap, swap_in_place])
def test_descriptors_that_a_function_returns(on_the_cpu, kernel):
    a, b = np.random.default_rng(1).standard_normal((2, 64), np.float32)
    x, y = a.copy(), b.copy()
    kernel[(1,)](x, y, B=64, num_warps=1)
    assert np.array_equal(x, 2 * b) and np.array_equal(y, a)


def test_a_pointer_that_a_function_made_by_a_macro_returns(on_the_cpu):
    """And pointers that are compared by size: the bits of an f16, a ``void*``."""
    x, flags = np.random.default_rng(2).standard_normal(37).astype(np.float16), np.arange(37, dtype=np.int32)
    o = np.zeros(64, np.int32)
    report = tle_raw.report(count[(1,)](x, flags, o, 37, B=64))
    assert np.array_equal(o[:37], x.view(np.uint16) + flags + 1) and not o[37:].any()
    assert "arg1: Pointer[f16], compared by size" in report.regions[0].parameters


def test_on_a_gpu_too():
    made = compile_kernel(swap, {"x": "*fp32", "y": "*fp32"}, {"B": 64})
    assert "bar.sync" in made.asm["ptx"]


def test_what_cannot_be_told_is_an_error_at_the_call(on_the_cpu):
    with pytest.raises(triton.CompilationError) as caught:
        lose[(1,)](np.zeros(4, np.float32), 2)
    error = caught.value.__cause__
    assert isinstance(error, CallError) and "output_indices" in error.hint
    assert "raw.call(lost" in str(error)


def _same_code(function, name):
    return types.FunctionType(function.__code__, function.__globals__, name)


def test_tiles_that_a_function_of_mlir_returns(on_the_cpu):
    pytest.importorskip("torch_mlir")
    from tests.compat import flagtree_builders as built

    x, o = np.random.default_rng(3).standard_normal(64, np.float32), np.zeros(64, np.float32)
    built.doubled_in_mlir[(1,)](x, o, B=64)
    assert np.array_equal(o, 2 * x)
    # Of a function without annotations of its own those in its source count.
    made = declare(name="mlir", deferred=True, extern_func_name="twice")(_same_code(built.double, "twice"))
    assert made.deferred and [p.effect for p in made.signature.parameters] == ["InOut", "In"]


def _wrong_type(y: Input[L["memref<?xf32, 3>"]]) -> L["memref<?xf16, 3>"]:
    return y


def _no_parameter(y: Input[L["memref<?xf32, 3>"]]) -> L["memref<?xf32, 3>"]:
    return y + y


@pytest.mark.parametrize("function", [_wrong_type, _no_parameter])
def test_results_that_are_no_tiles_of_the_function(function):
    function.__annotations__ = {
        "y": Input["memref<?xf32, 3>"],
        "return": L["memref<?xf16, 3>"] if function is _wrong_type else L["memref<?xf32, 3>"],
    }
    with pytest.raises(SignatureError, match="nothing says which they are"):
        declare(name="mlir")(function)


def test_flags_and_compilers(monkeypatch):
    monkeypatch.setenv("CLANG_FLAGS", "-DN=3 '-DM=4 + 5'")
    monkeypatch.setattr(triton.knobs.nvidia, "tle_raw_clang_flags", "-DK=2", raising=False)
    made = declare(name="cuda", source="__device__ int f(int x) { return x * K + N + M; }", compiler="nvcc")(_stub)
    assert {"K=2", "N=3", "M=4 + 5"} <= set(made._source.data[0].defines)
    with pytest.raises(DialectError, match="compiler='gcc'"):
        declare(name="cuda", source="", compiler="gcc")


def _stub(*args, **kwargs): ...
