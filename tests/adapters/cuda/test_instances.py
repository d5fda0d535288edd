"""Templates that are named by the types of an instance, as profilers and ``cuobjdump`` name kernels."""

import re

import pytest

import tle_raw
from tle_raw.errors import SymbolError

pytestmark = pytest.mark.one_triton

SOURCE = """
#include <cuda_fp16.h>
using word = unsigned int;
namespace ns {
template <class T> struct Add { __device__ T operator()(T x) { return x + 1; } };
template <class T, int N> struct Vec { T x[N]; };
template <class T, int N> __global__ void f(T* x, int n) { x[0] = 11 * N; }
template <class T> __global__ void f(T* x, float n) { x[0] = 12; }
template <class T> __global__ void g(const T* __restrict__ x, T* y) { y[0] = 21; }
template <class T> __global__ void g(const T* __restrict__ x, T* y, word n) { y[0] = 22; }
template <class T, class U> __global__ void h(T* x, U* y) { y[0] = 31; }
template <class T> __global__ void h(T* x, int* y) { y[0] = 32; }
template <typename Op, typename T> __global__ void m(Op op, T* y) { y[0] = op(40); }
template <typename T, int N> __global__ void v(Vec<T, N> values, T* y) { y[0] = 50 + N; }
template <typename T, class... More> __global__ void p(T* y, More... more) { y[0] = 60 + sizeof...(more); }
}
"""
STORED = {  # by symbol, what its first element becomes
    "ns::f<int>(int*, float)": 12,
    "ns::f<int, 4>(int*, int)": 44,
    "void ns::f<int, 4>(int*, int)": 44,
    "ns::f<int, (int)4>(int*, int)": 44,
    "_ZN2ns1fIiLi4EEEvPT_i": 44,
    "ns::g(const int*, int*)": 21,
    "ns::g<int>(int const*, int*)": 21,
    "ns::g<int>(const int* x, int* y)": 21,
    "void ns::g<int>(int const*, int*, unsigned int)": 22,
    "ns::h(int*, int*)": 32,
    "ns::h(float*, unsigned*)": 31,
    "ns::m(ns::Add<int>, int*)": 41,
    "void ns::m<ns::Add<int>, int>(ns::Add<int>, int*)": 41,
    "ns::v(ns::Vec<int, 3>, int*)": 53,
    "ns::p<int, float, float>(int*, float, float)": 62,
    "&ns::f<int, 4>": 44,
}


@pytest.mark.parametrize("symbol", STORED)
def test_the_instance_is_the_one_that_the_types_name(symbol):
    compiled = tle_raw.fragment(SOURCE, dialect="cuda", symbol=symbol).as_kernel(block=32).compile("cuda:90")
    constants = re.findall(r"(?:mov\.b32|st\.global\.b32)[^;]*, (\d+)[;\s]", compiled.asm["ptx"])
    assert STORED[symbol] in map(int, constants)


@pytest.mark.parametrize("symbol", ["ns::f<double, 4>(float*, int)", "ns::g(const int*, float*)", "ns::h(int*)"])
def test_types_that_no_template_takes_are_refused_with_those_there_are(symbol):
    with pytest.raises(SymbolError, match="takes") as raised:
        tle_raw.fragment(SOURCE, dialect="cuda", symbol=symbol)
    assert "ns::" in raised.value.log
