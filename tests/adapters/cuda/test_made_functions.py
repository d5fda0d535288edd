"""Kernels that a program's macros make are kernels like others: whole, in their namespaces, at the line of the use."""

import pytest

import tle_raw
from tle_raw.adapters.cpp.made_functions import made_functions

pytestmark = pytest.mark.one_triton

SOURCE = """
#define BODY(name, T, op) { int i = threadIdx.x; x[i] = x[i] op n; }
#define KERNEL(name, T, op) \\
  extern "C" __global__ void name##_##T(T* x, T n) BODY(name, T, op)
#define BOTH(name, op) KERNEL(name, float, op) KERNEL(name, int, op)
namespace inner {
#define PLAIN(n, ...) template <__VA_ARGS__> __global__ void n(T* x) { *x = N; }
PLAIN(
  filled, class T, int N)
}
BOTH(add, +)
KERNEL(mul, double, *);
// KERNEL(none, int, -)
void host() { KERNELS(add, 1, 2); }
"""


@pytest.mark.parametrize("symbol", ["add_float", "add_int", "mul_double", "inner::filled<float, 3>"])
def test_it_becomes_a_whole_kernel(symbol):
    kernel = tle_raw.fragment(SOURCE, dialect="cuda", symbol=symbol).as_kernel(block=32)
    assert kernel.compile("cuda:90").asm["cubin"]


def test_its_parameters_are_those_of_the_macro():
    signature = tle_raw.fragment(SOURCE, dialect="cuda", symbol="mul_double").as_kernel(block=32).signature
    assert [parameter.name for parameter in signature.parameters] == ["x", "n"]


@pytest.mark.parametrize("name, line", [("add_int", 11), ("mul_double", 12), ("filled", 8)])
def test_it_stands_where_the_macro_is_used(name, line):
    (function,) = made_functions({"k.cu": SOURCE}, name)
    assert (function.line, function.file, function.is_kernel) == (line, "k.cu", True)


@pytest.mark.parametrize("name", ["none", "none_int", "host", "KERNEL"])
def test_others_are_not_made(name):
    assert not [f for f in made_functions({"k.cu": SOURCE}, name) if f.is_kernel]


def test_a_header_may_have_the_macro(tmp_path):
    (tmp_path / "make.h").write_text("#define MAKE(n) __global__ void n##_kernel(int* x) { *x = 7; }\n")
    (tmp_path / "k.cu").write_text('#include "make.h"\nMAKE(first)\n')
    fragment = tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="first_kernel")
    assert fragment.as_kernel(block=32).compile("cuda:90").asm["cubin"]


HIDDEN = """
#define GLOBAL __global__
#define VOID_KERNEL extern "C" GLOBAL void
VOID_KERNEL plain(int* x) { *x = 1; }
GLOBAL void __maxnreg__(64) __launch_bounds__(32) bounded(int* x) { *x = 2; }
"""


@pytest.mark.parametrize("symbol", ["plain", "bounded"])
def test_a_macro_may_stand_for_the_word(symbol):
    kernel = tle_raw.fragment(HIDDEN, dialect="cuda", symbol=symbol).as_kernel(block=32)
    assert kernel.compile("cuda:90").asm["cubin"]
