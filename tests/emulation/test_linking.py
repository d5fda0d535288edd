"""Two fragments in one kernel's module, called as ``tle_raw/emulation/__init__.py`` says."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tle_raw
from tle_raw import Element, InOut, Scalar, Tile
from tle_raw.flir.cpu.region_failure import region_failure
from tle_raw.flir.cpu.run_fragment import release_workspace
from tle_raw.host.code import Library, assemble, link_host_code
from tle_raw.host.loader import load_object

pytestmark = pytest.mark.one_triton

SOURCE = """
#include <cassert>
#include <tle_raw/tile.h>
__shared__ float scratch[64];
__device__ float helper(float x) {{ return x * {factor}; }}
__device__ float one(float x) {{ return helper(x); }}
template <int N> __device__ void all(tle::tile<float, N> t, int n) {{
  assert(n < 100);
  for (int i : t.indices()) scratch[i] = helper(t[i]) + n + blockIdx.x;
  __syncthreads();
  for (int i : t.indices()) t[i] = scratch[N - 1 - i];
}}
"""


def all_stub(t: InOut[Tile["f32", "N"]], n: Scalar["i32"]): ...
def one_stub(x: Element["f32"]) -> Element["f32"]: ...


all_stub.__name__, one_stub.__name__ = "all", "one"

KERNEL = """
declare i32 @{first}(ptr, ptr)
declare i32 @{second}(ptr, ptr)
declare float @{one}(float)
define i32 @tle_launch(ptr %tile, i32 %n, i32 %pid, ptr %context) {{
  %number = alloca i32
  %call = alloca {{ i32, i32, i32, i32, i32, i32, i32, i32, ptr }}, align 8
  %args = alloca [2 x ptr]
  store i32 %n, ptr %number
  store {{ i32, i32, i32, i32, i32, i32, i32, i32, ptr }}
    {{ i32 64, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 0, ptr null }}, ptr %call
  %p = getelementptr i32, ptr %call, i64 1
  store i32 %pid, ptr %p
  %c = getelementptr i8, ptr %call, i64 32
  store ptr %context, ptr %c
  store ptr %tile, ptr %args
  %a = getelementptr ptr, ptr %args, i64 1
  store ptr %number, ptr %a
  %x = call i32 @{first}(ptr %call, ptr %args)
  %y = call i32 @{second}(ptr %call, ptr %args)
  %v = load float, ptr %tile
  %w = call float @{one}(float %v)
  store float %w, ptr %tile
  %failed = or i32 %x, %y
  ret i32 %failed
}}
"""


def test_two_fragments_with_equal_names_in_one_kernel():
    def fragment(factor, stub):
        return tle_raw.fragment(SOURCE.format(factor=factor), signature=stub, dialect="cuda")

    first = fragment(3, all_stub).compile(target="cpu", N=64)
    second = fragment(5, all_stub).compile(target="cpu", N=64)
    one = fragment(7, one_stub).compile(target="cpu")
    assert first.static_shared and first.uses_barrier
    text = KERNEL.format(first=first.entry, second=second.entry, one=one.entry)
    libraries = [Library(c.entry, c.text) for c in (first, second, one)]
    loaded = load_object(assemble(link_host_code(text, libraries)))
    launch = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
    status, context = (ctypes.c_int64 * 8)(), (ctypes.c_int64 * 8)()
    context[1] = ctypes.addressof(status)
    x = np.arange(64, dtype="f4")
    t = x.copy()
    assert launch(loaded.address)(t.ctypes.data, 2, 9, ctypes.addressof(context)) == 0
    expected = (x * 3 + 11) * 5 + 11
    expected[0] *= 7
    np.testing.assert_array_equal(t, expected)
    assert status[0] == 0 and context[2] != 0
    assert launch(loaded.address)(t.ctypes.data, 200, 9, ctypes.addressof(context)) == 1
    error = region_failure(list(status), "all")
    assert error is not None and error.program == (9, 0, 0)
    assert "thread 0: the assertion `n < 100` failed" in str(error)
    release_workspace(context[2])
