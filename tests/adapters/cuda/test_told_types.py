"""A prototype is told by clang's warnings, without going through all headers, as its dump of the tree tells it."""

import pytest

import tle_raw
from tle_raw.adapters.cpp import prototypes
from tle_raw.adapters.cpp.told_types import ToldType, told_types
from tle_raw.adapters.cuda import ask_prototype
from tle_raw.errors import CompilationFailed

pytestmark = pytest.mark.one_triton

KERNELS = """
#include <cuda_fp16.h>
namespace n {
struct S { int a; float b[3]; };
enum E : short { A };
enum class U : unsigned char { B };
template <class T, int N> struct V { T v[N]; };
template <class... T> struct P {};
inline namespace v1 { struct Q { float q; }; }
template <auto X> struct C {};
template <bool B> struct D {};
}
typedef float row[4];
struct { int z; } unnamed;
__global__ void numbers(float* a, const int* __restrict__ b, volatile float* c, const volatile double* d, void* e,
    const void* f, unsigned long long g, long h, bool i, char j, signed char k, __half l, const __half2* m, float4 n,
    float** o, const float* const* p, row* q, const row* r, int (*s)[3][5]) {}
__global__ void classes(n::S a, const n::S* b, n::E c, n::U d, n::V<n::S, 4> e, const n::V<float, 2>* f,
    n::P<int, n::V<float, 3>>* g, n::Q h, n::C<7>* i, n::D<(3 > 2)>* j, decltype(unnamed)* k) {}
template <class T, int N> __global__ void made(const T (&x)[N], n::V<T, N> y) {}
"""


@pytest.fixture
def prototypes_of(monkeypatch):
    """The prototype that clang tells, and the one in its dump."""

    def both(symbol):
        found = []
        for read in (ask_prototype.told_prototype, lambda log: None):
            monkeypatch.setattr(ask_prototype, "_KNOWN", {})
            monkeypatch.setattr(ask_prototype, "told_prototype", read)
            with tle_raw.knobs.scope() as knobs:
                knobs.cache.enabled = False
                knobs.target = "cuda:90"
                tle_raw.fragment(KERNELS, dialect="cuda", symbol=symbol)
            found += ask_prototype._KNOWN.values()
        return found

    return both


@pytest.mark.parametrize("symbol", ["numbers", "classes", "made<float, 3>"])
def test_what_warnings_tell_is_what_the_tree_has(prototypes_of, monkeypatch, symbol):
    told, dumped = prototypes_of(symbol)
    assert told == dumped and len(told.parameters) > 1


@pytest.fixture
def asked(monkeypatch):
    """The outputs that prototypes were asked for by."""
    asked, attempt = [], ask_prototype._attempt
    monkeypatch.setattr(ask_prototype, "_KNOWN", {})

    def noting(source, callee, functions, arch, output=ask_prototype.TELL):
        asked.append("-ast-dump=json" in output)
        return attempt(source, callee, functions, arch, output)

    monkeypatch.setattr(ask_prototype, "_attempt", noting)
    with tle_raw.knobs.scope() as knobs:
        knobs.cache.enabled = False
        knobs.target = "cuda:90"
        yield asked


@pytest.mark.parametrize("flags, is_dumped", [((), [False]), (("-Werror",), [False]), (("-w",), [False, True])])
def test_one_run_tells_it_and_flags_that_silence_clang_leave_the_dump(asked, flags, is_dumped):
    kernel = "[[deprecated]] __device__ int f(); __global__ void k(float* x, int n) {}"
    of = tle_raw.fragment(kernel, dialect="cuda", symbol="k", flags=flags)
    assert [str(p.type) for p in of.signature.own] == ["Pointer[f32]", "Scalar[i32]"]
    assert asked == is_dumped


def test_bodies_are_read_when_the_code_is_compiled(asked):
    body = "constexpr int four() { return 4; } __global__ void k(float (*x)[four()]) { nobody(); }"
    kernel = tle_raw.fragment(body, dialect="cuda", symbol="k")
    assert asked == [False]
    with pytest.raises(CompilationFailed, match="undeclared identifier 'nobody'"):
        kernel.as_kernel(block=32).compile("cuda:90")


@pytest.mark.parametrize("lost", ["types", "behind", "consts", "facts"])
def test_what_is_not_told_as_a_whole_is_not_taken(lost):
    given = {"types": "void, const float *", "behind": "p_nothing, float", "consts": "0, 1", "facts": "0L, 64L"}
    log = "".join(f"x:1:1: warning: 'p_told_{what}<{text}>' is deprecated\n" for what, text in given.items())
    assert told_types(log, "p") == [ToldType("void", "", False, 0), ToldType("const float *", "float", True, 64)]
    assert told_types(log.replace(f"told_{lost}", "told"), "p") == []
    assert told_types(log.replace("0L, 64L", "0L, 64L, 2L"), "p") == []
    assert told_types(log.replace("float *", "C<'x'> *"), "p") == []


def test_the_dump_is_asked_for_without_bodies_too():
    assert all("-skip-function-bodies" in output for output in (prototypes.DUMP, prototypes.TELL))
