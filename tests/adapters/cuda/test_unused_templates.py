"""Templates and functions that only clang reads: nvcc finds their errors when somebody uses them."""

import numpy as np
import pytest

import tle_raw
from tle_raw.adapters.cpp.mends import Mend
from tle_raw.adapters.cpp.unused_templates import uses_left_out
from tle_raw.errors import CompilationFailed

pytestmark = pytest.mark.one_triton


TEXT = """
template <class T> struct View {
  __device__ void set(int i, const T& value) const { this->data[i] = value; }
  __device__ T one() const { return 1; }
};
template <typename T, unsigned N = 1024> __global__ void __launch_bounds__(N) sort(T* data, const int size) {
  if (size > N) {
    size = N;
  }
  data[threadIdx.x] = size;
}
template <class T> __device__ void keep(T* o, const int n) {
  n = 2;
  o[threadIdx.x] = n;
}
__global__ void twice(float* o, const float* x) { o[threadIdx.x] = View<float>().one() + 2 * x[threadIdx.x]; }
__global__ void sets(float* o) { View<float>().set(0, o[0]); }
__global__ void keeps(float* o) { keep(o, 1); }
"""


def test_errors_in_templates_that_nobody_uses_are_none(on_cpu):
    kernel = tle_raw.fragment(TEXT, dialect="cuda", symbol="twice").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 1 + 2 * x)


@pytest.mark.parametrize("symbol, said", [("sets", "no member named 'data'"), ("keeps", "cannot assign to variable")])
def test_errors_in_templates_that_the_kernel_uses_are_told(on_cpu, symbol, said):
    with pytest.raises(CompilationFailed, match=said):
        tle_raw.fragment(TEXT, dialect="cuda", symbol=symbol).as_kernel(block=8).compile()


@pytest.mark.parametrize("symbol", ["sort<float, 32>"])
def test_errors_in_the_template_itself_are_told(on_cpu, symbol):
    with pytest.raises(CompilationFailed, match="cannot assign to variable 'size'"):
        tle_raw.fragment(TEXT, dialect="cuda", symbol=symbol).as_kernel(block=32).compile()


def test_only_a_declaration_is_a_use():
    change = Mend("a.cu", 1, 1, "{ return 1; }", "; /* without the body of keep */")
    assert uses_left_out("declare dso_local void @_Z4keepIfEvPT_i(ptr, i32)\n", [change])
    assert uses_left_out("declare i32 @keep(ptr)\n", [change])
    assert not uses_left_out("declare dso_local void @_Z5keepsPf(ptr)\ndefine void @_Z4keepv() {\n", [change])


HOST_CALL = """
#include <string.h>
__device__ inline bool is_iron(const char* name) { return strcmp(name, "Fe") == 0; }
__global__ void twice(float* o, const float* x) { o[threadIdx.x] = 2 * x[threadIdx.x]; }
__global__ void iron(int* o, const char* name) { o[0] = is_iron(name); }
"""


def test_a_function_of_the_hosts_in_a_function_that_nobody_calls_is_no_error(on_cpu):
    kernel = tle_raw.fragment(HOST_CALL, dialect="cuda", symbol="twice").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 2 * x)
    with pytest.raises(CompilationFailed, match="strcmp"):
        tle_raw.fragment(HOST_CALL, dialect="cuda", symbol="iron").as_kernel(block=1).compile("cuda:90")


BOTH_SIDES = """
#include <iostream>
#include <vector>
int counted(int x) { static int n; return x + n++; }
__host__ __device__ int both(int x) { return counted(x); }
__device__ int nobodys(int x) { return both(x) + x; }
struct Model {
  float* data;
  int n;
  std::vector<float> values;
  __host__ __device__ float at(int i) const { return data[i]; }
  __host__ __device__ void print() const { std::cout << n << std::endl; }
  __host__ __device__ void grow() { values.push_back(1); }
};
template <class T> __host__ __device__ T at(const T* x, int i) { return ((const Model*)x)->at(i); }
__global__ void twice(float* o, const float* x) { o[threadIdx.x] = 2 * x[threadIdx.x]; }
__global__ void counts(int* o) { o[0] = nobodys(1); }
"""


def test_a_function_for_both_sides_that_the_kernel_does_not_lead_to_may_call_the_hosts(on_cpu):
    kernel = tle_raw.fragment(BOTH_SIDES, dialect="cuda", symbol="twice").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 2 * x)
    with pytest.raises(CompilationFailed, match="reference to __host__ function 'counted'"):
        tle_raw.fragment(BOTH_SIDES, dialect="cuda", symbol="counts").as_kernel(block=1).compile("cuda:90")


def test_a_use_by_what_the_kernel_does_not_lead_to_is_none():
    change = Mend("a.cu", 1, 1, "{ return 1; }", "; /* without the body of keep */")
    ir = """declare i32 @keep(ptr)
@table = addrspace(1) global [1 x ptr] [ptr @_Z4usesv]
define i32 @_Z4usesv() {
  %1 = call i32 @keep(ptr null)
  ret i32 %1
}
define void @_Z5firstv() {
  ret void
}
define void @_Z6secondv() {
  %1 = load ptr, ptr addrspace(1) @table
  ret void
}
"""
    assert not uses_left_out(ir, [change], "first")
    assert uses_left_out(ir, [change], "second")
    assert uses_left_out(ir, [change], "third")
