"""Programs of libraries: what of the host's a class of theirs names stays declared, and what headers may lack."""

import numpy as np
import pytest

import tle_raw
from tle_raw.adapters.cpp.host_declarations import without_host_declarations
from tle_raw.adapters.cpp.macros import macros_of
from tle_raw.errors import CompilationFailed, ToolchainError

HEADER = """#pragma once
#include <cufft.h>
#include <cusparse.h>
#include <curand_kernel.h>
#include <memory>
#define DEFINE_CHECK(name, op) inline bool Checked##name(int a, int b) { return a op b; }
DEFINE_CHECK(_LE, <=)
#define CHECK_LE(a, b) Checked_LE(a, b)
namespace state {
inline int registered(const char* name) { return missing_registry(name); }
template <class T> constexpr bool fits(T n) { return n < 100; }
template <class Function> struct Typed;
template <class R, class... A> struct Typed<R(A...)> {
  R call(A... a) const;
  int n = 0;
};
template <class R, class... A> inline R Typed<R(A...)>::call(A... a) const { return R(n); }
template <class T> struct Index { static constexpr cusparseIndexType_t value = CUSPARSE_INDEX_32I; };
class Store {
 public:
  explicit Store(int n) : n_(registered("store") + n) { static_assert(fits(sizeof(Store))); }
  auto is_small() const { return CHECK_LE(n_, 3); }
  cusparseStatus_t check() const { return cusparseCheck(n_); }
  cufftHandle plan_;
  cufftDoubleComplex* spectrum_;
  static constexpr cufftType kind = CUFFT_D2Z;
  curandState* generators_;
  cuComplex first_;  // of cuComplex.h, which these headers include
 private:
  int n_ = registered("store");
};
__device__ inline cufftReal state() { return 4; }
}
"""
PROGRAM = """#include <gone/indexing.h>
#include "state.cuh"
using namespace gone::indexing;
__global__ void k(float* o) { o[threadIdx.x] = state::state(); }
"""


@pytest.mark.one_triton
def test_names_that_classes_of_the_host_say_stay_declared(tmp_path, on_cpu):
    (tmp_path / "state.cuh").write_text(HEADER)
    (tmp_path / "k.cu").write_text(PROGRAM)
    o = np.zeros(32, np.float32)
    tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 4)


def test_classes_are_no_functions_whatever_parentheses_they_begin_with():
    text = """typedef struct ALIGNED(32) { int a; } Pair;
class EXPORTED("default") Name : public Base { int b; };
template <class R, class... A> struct Typed<R(A...)> { int c; };
template <class T> struct Both : choice<bool(T::value), T>::type {};
struct Holder { struct Inner make(int a = 1) { return host(a); } };
class Counted { COUNTED(Counted) protected: int d; };
"""
    kept = without_host_declarations(text, macros_of([text]), with_members=False).splitlines()
    assert kept[:4] == text.splitlines()[:4] and kept[5] == text.splitlines()[5]
    assert kept[4].replace(" ", "") == "structHolder{structInnermake(inta=1);};"


def test_what_stays_declared_loses_its_body_where_the_declaration_tells_all():
    text = "int f(int a = 1) { return g(); }\nauto h() { return 1; }\nint g() { return 2; }\nMAKE(thing)\n"
    macros = macros_of(["#define MAKE(name) inline int make_##name() { return 1; }\n" + text])
    kept = without_host_declarations(text, macros, kept=("f", "h", "make_thing"))
    assert [line.strip() for line in kept.splitlines()] == [
        "int f(int a = 1) ;", "auto h() { return 1; }", "", "MAKE(thing)",
    ]  # fmt: skip


def test_a_function_whose_body_tells_its_type_stays_whole_or_goes():
    text = "template <class T>\ndecltype(auto) checked(T&& p) { return (T&&)p; }\n"
    assert not without_host_declarations(text, {}, with_members=False).strip()
    assert without_host_declarations(text, {}, with_members=False, kept=("checked",)) == text


def test_calls_of_macros_that_write_functions_end_without_semicolons():
    define = "#define WRAP(R, f, T) WRAP_(R, f, return f, T)\n"
    text = "WRAP(int, first, long)\nWRAP(int, second, long)\nint third(int);\n"
    kept = without_host_declarations(text, macros_of([define + text]), kept=("first",))
    assert kept.split() == ["WRAP(int,", "first,", "long)"]


FRIENDS = """#pragma once
template <class R> struct Matrix;
template <class R> R trace(const Matrix<R>& a);
template <class R> struct Matrix {
  friend R trace<R>(const Matrix<R>& a);
  int rows;
};
"""


@pytest.mark.one_triton
def test_friends_that_are_declared_before_stay_declared(tmp_path, on_cpu):
    text = '#include "matrix.h"\nint host() { return missing(); }\n'
    text += "__global__ void k(int* o) { o[threadIdx.x] = sizeof(Matrix<int>); }\n"
    (tmp_path / "k.cu").write_text(text)
    o = np.zeros(32, np.int32)
    # another error lies in the header, too: its host code is left out
    (tmp_path / "matrix.h").write_text(FRIENDS + "inline int broken() { return nobody(); }\n")
    tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 4)


MENDED = """
#include <cuda.h>
template <class T> struct Tile {
  template <int n> __device__ int at(int x) const { return x + n; }
  template <int n> __device__ int at(float x) const { return n; }
  template <int n> __device__ int first() const { return n; }
};
__device__ alignas(64) float table[4];
struct Maps { alignas(64) CUtensorMap map; };
template <class T> __device__ int both(Tile<T> a, Tile<T>* b, int x) { return a.at<3>(x) + b->first<2>(); }
namespace {
template <class T> struct Params { T* o; T add; };
template <class T> __global__ void k(Params<T> p) {
  Tile<T> tile;
  p.o[threadIdx.x] = both(tile, &tile, threadIdx.x) + p.add + (int)((unsigned long long)table % 64);
}
}
"""


@pytest.mark.one_triton
def test_members_that_are_templates_and_alignments_are_taken_as_nvcc_takes_them(on_cpu):
    o = np.zeros(32, np.int32)
    tle_raw.fragment(MENDED, dialect="cuda", symbol="k<int>").as_kernel(block=32)[(1,)]((o, 7))
    np.testing.assert_array_equal(o, np.arange(32) + 12)


FUNCTOR = """
#include <thrust/functional.h>
struct Twice : public thrust::unary_function<int, int> {
  __host__ __device__ result_type operator()(const argument_type& x) const { return 2 * x; }
};
__global__ void k(int* o) { o[threadIdx.x] = Twice()(threadIdx.x); }
"""


@pytest.mark.one_triton
def test_functors_with_a_base_that_thrust_had(on_cpu):
    o = np.zeros(32, np.int32)
    tle_raw.fragment(FUNCTOR, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 2 * np.arange(32))


@pytest.mark.one_triton
def test_a_source_for_newer_gpus_alone_is_read_for_them(cuda):
    text = """
#if defined(__CUDA_ARCH__) && !defined(TLE_RAW_CPU)
static_assert(__CUDA_ARCH__ >= 900, "newer GPUs alone");
#endif
__global__ void k(float* o%s) { *o = 1; }
"""
    assert [p.name for p in cuda.read(name="k", source=text % "").signature.own] == ["o"]
    with pytest.raises(CompilationFailed, match="unknown type name 'nobody'"):
        cuda.read(name="k", source=text % ", nobody n")


@pytest.mark.one_triton
def test_a_library_that_the_device_needs_is_named_by_its_header_of_device_code():
    text = """#include <curand.h>
#include <curand_kernel.h>
__global__ void k(float* o) {
  curandState_t state;
  curand_init(1, 0, 0, &state);
  *o = curand_uniform(&state);
}
"""
    with pytest.raises(ToolchainError, match=r"<curand_kernel\.h> is not installed") as error:
        tle_raw.fragment(text, dialect="cuda", symbol="k").as_kernel(block=32).compile("cuda:90")
    assert "pip install nvidia-curand " in error.value.hint


@pytest.mark.one_triton
def test_an_unknown_name_may_be_of_a_header_that_was_passed_over(cuda):
    text = """#include <nobody/serializer.h>
template <> struct Handler<int> {};
__global__ void k(float* o) { *o = 1; }
"""
    with pytest.raises(CompilationFailed) as error:
        cuda.read(name="k", source=text)
    assert "<nobody/serializer.h>" in error.value.hint and "include_dirs=" in error.value.hint


def test_a_function_is_the_devices_by_its_attribute_too(on_cpu, tmp_path):
    """`__attribute__((device))` is what `__device__` stands for; a macro may say it."""
    (tmp_path / "ops.h").write_text(
        "#define ON_GPU __attribute__((device))\n"
        "struct Options { double scale(); };\n"
        "static __attribute__((device, always_inline)) float twice(float x) { return 2 * x; }\n"
        "ON_GPU inline float once_more(float x) { return twice(x) + x; }\n"
    )
    kernel = '#include "ops.h"\n__global__ void triple(float* x) { x[threadIdx.x] = once_more(x[threadIdx.x]); }\n'
    (tmp_path / "ops.cu").write_text(kernel + "double Options::scale() { return absent::scale(*this); }\n")
    x = np.random.default_rng(0).standard_normal(32).astype(np.float32)
    expected = 3 * x
    tle_raw.fragment(tmp_path / "ops.cu", dialect="cuda", symbol="triple").as_kernel(block=32)[(1,)](x)
    np.testing.assert_allclose(x, expected, rtol=1e-6)


MATRIX = """
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
#define SHARED __device__
#else
#define SHARED
#endif
#include <iostream>
template <class T> struct Matrix {
  T m[4];
  SHARED T& operator()(int x, int y) { return m[2 * y + x]; }
  SHARED const T& operator()(int x, int y) const { return m[2 * y + x]; }
  friend std::ostream& operator<<(std::ostream& out, const Matrix<T>& own) { return out << own(0, 1); }
};
struct Pose {
  Matrix<float> held;
  void print() const { std::cout << held; }
};
__global__ void k(float* o, Matrix<float> m) { o[threadIdx.x] = m(threadIdx.x % 2, 1); }
"""


@pytest.mark.one_triton
def test_members_of_one_side_at_a_time_may_be_called_by_the_hosts_own(on_cpu):
    """``__device__`` in the device's compilation alone: the host's functions then call what only the device has."""
    o = np.zeros(32, np.float32)
    m = np.arange(4, dtype=np.float32)
    tle_raw.fragment(MATRIX, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o, {"m": m})
    np.testing.assert_array_equal(o, np.tile(m[2:], 16))


def test_a_class_behind_a_macros_call_is_no_functions_body():
    text = (
        "#define EACH(f) f(4)\n#define LOW(n) struct low##n { unsigned char _; };\nEACH(LOW)\n"
        'class quint8 {\n  unsigned char x;\n public:\n  void print() const { puts("x"); }\n'
        "  __device__ int value() const { return x; }\n};\n"
    )
    kept = without_host_declarations(text, macros_of([text]), with_members=False).splitlines()
    assert kept[3] == "class quint8 {"
    assert "puts" not in kept[6]
    assert kept[7] == "  __device__ int value() const { return x; }"


def test_a_typedef_behind_a_macros_call_is_no_functions_body():
    text = "ALIGN(64) typedef struct {\n  int h[8];\n} context;\nALIGN(8) typedef enum { A, B } kind;\n"
    assert without_host_declarations(text, {}, with_members=False) == text


ABSENT = """#include <nobody/transfer.h>
namespace host {
struct Thread {
  int id;
  HANDLE* handle;
  char message[LONGEST_MESSAGE];
};
typedef struct : Thread { int n; } Named;
struct Pool { struct Thread first; Pool() : first() {} };
}
struct plain { int n; };
__global__ void k(int* o, plain p) { *o = p.n; }
__global__ void asks(int* o, host::Thread* t) { *o = t->id; }
"""


def test_classes_with_members_of_absent_headers_stay_declared(on_cpu):
    o = np.zeros(1, np.int32)
    tle_raw.fragment(ABSENT, dialect="cuda", symbol="k").as_kernel(block=1)[(1,)](o, {"n": 7})
    assert o[0] == 7
    with pytest.raises(CompilationFailed) as error:
        tle_raw.fragment(ABSENT, dialect="cuda", symbol="asks").as_kernel(block=1)[(1,)](o, o)
    assert "incomplete" in str(error.value) and "nobody/transfer.h" in str(error.value)


SPECIALISED = """#pragma once
#include <nobody/blas.h>
namespace library {
template <class T> void apply_sign(int n, const T* x, T* y);
inline int gemm(int n) { return blas_gemm(n); }
#define KERNEL_AND_LAUNCHES(name, operation)                                                              \
  template <class T> __global__ void name##_kernel(int n, const T* x, T* y) {                              \
    for (int i = threadIdx.x; i < n; i += blockDim.x) operation;                                           \
  }                                                                                                        \
  template <> void apply_##name<float>(int n, const float* x, float* y) { name##_kernel<<<1, 32>>>(n, x, y); }
}
"""


def test_templates_of_the_host_that_a_macro_specialises_stay_declared(tmp_path, on_cpu):
    tmp_path.joinpath("functions.h").write_text(SPECIALISED)
    text = (
        '#include "functions.h"\nnamespace library {\n'
        "KERNEL_AND_LAUNCHES(sign, y[i] = (T(0) < x[i]) - (x[i] < T(0)))\n"
        "__global__ void twice(int n, float* x) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n}\n"
    )
    x = np.arange(-3, 4, dtype=np.float32)
    fragment = tle_raw.fragment(text, dialect="cuda", symbol="library::twice", include_dirs=[str(tmp_path)])
    fragment.as_kernel(block=32)[(1,)](7, x)
    np.testing.assert_array_equal(x, 2 * np.arange(-3, 4))
