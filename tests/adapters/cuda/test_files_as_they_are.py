"""CUDA files as they were written for nvcc: host code beside kernels, its functions, pointers to anything."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of
from tle_raw import InOut, Pointer, Scalar
from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cuda import host_code
from tle_raw.adapters.cuda.absent_libraries import absent_library
from tle_raw.adapters.cuda.host_code import device_part
from tle_raw.errors import (
    ArgumentTypeError,
    CompilationFailed,
    FragmentSourceError,
    SymbolError,
    ToolchainError,
    UnsupportedFeatureError,
)

HEADER = """
__device__ float twice(float x) { return 2 * x; }
inline int at_least_one(int n) { return max(n, 1); }
"""
FILE = """#include <vector>
#include <cuda_runtime.h>
#include "twice.cuh"
struct Settings { float factor; int rows; };
template <class T> __device__ void through(T* out, const T* in) { __stcs(out, __ldca(in)); }
__global__ void k(float* o, const Settings* s, const void* add, const float* more, short* out, const short* in) {
  const int i = threadIdx.y * blockDim.x + threadIdx.x;
  o[i] = twice(s->factor) * threadIdx.y + (add ? *(const float*)add : 0) + (more ? more[i] : 0.5f) + blockDim.y;
  through(out, in);
}
int clamped(int a, int b) { return min(a, b) + not_declared_here(a); }
int resident(const void* f, int b) {
  cudaLaunchConfig_t config = {};
  config.gridDim = 8, config.blockDim = b;
  int n = 0;
  return cudaOccupancyMaxPotentialClusterSize(&n, f, &config), n;
}
void k(int n, std::vector<float>& o, missing_library_t handle) {
  k<<<dim3(1), dim3(32, 2)>>>(o.data(), nullptr, nullptr, nullptr, nullptr, nullptr);
}
"""


@pytest.fixture
def kernel(tmp_path, on_cpu):
    (tmp_path / "twice.cuh").write_text(HEADER)
    (tmp_path / "k.cu").write_text(FILE)
    return tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="k").as_kernel(block=(32, 2))


@pytest.mark.one_triton
def test_a_file_with_host_code_is_launched_as_it_is(kernel):
    o, more = np.zeros(64, np.float32), np.arange(64, dtype=np.float32)
    settings = np.array([(1.5, 4)], dtype=[("factor", "f4"), ("rows", "i4")])
    out, given = np.zeros(1, np.int16), np.array([7], np.int16)
    rows = np.repeat([0.0, 1.0], 32)
    kernel[(1,)](o, settings, np.array([10.0], np.float32), more, out, given)
    np.testing.assert_array_equal(o, 3 * rows + 10 + more + 2)
    assert out[0] == 7
    kernel[(1,)](o, settings.view("u1"), None, 0, out, given)  # both are null pointers
    np.testing.assert_array_equal(o, 3 * rows + 0.5 + 2)


@pytest.mark.one_triton
def test_a_pointer_to_anything_takes_any_array_and_nothing_else(kernel):
    assert str(kernel.signature.parameters[1]) == "s: Pointer[void]"
    arrays = [np.zeros(64, np.float32)] * 4
    with pytest.raises(ArgumentTypeError) as error:
        kernel[(1,)](arrays[0], 5, True, arrays[0], arrays[0], arrays[0])
    assert [row.what for row in error.value.table] == ["s", "add", "out", "in"]


@pytest.mark.one_triton
def test_host_functions_are_left_out_and_the_rest_keeps_its_place(cuda):
    text = (
        "int f() {\n  return min(1, 2);\n}\nconstexpr int two() { return 2; }\n__global__ void k() {}\nint g(A a) { }"
    )
    left = device_part(cuda.read(source=text, name="k")).text
    assert [line.rstrip() for line in left.split("\n")] == [
        "", "", "", "constexpr int two() { return 2; }", "__global__ void k() {}", ""
    ]  # fmt: skip
    assert len(left) == len(text)


@pytest.mark.one_triton
def test_what_using_names_goes_with_the_host_function_of_that_name(cuda):
    host, device = "int plan(int n) { return n; }", "__device__ int plan(float x) { return x; }"
    text = (
        f"namespace a {{ namespace b {{ {host} }} namespace c {{ {host} {device} }} using b::plan; using c::plan; }}\n"
    )
    text += f"namespace d {{ {device} }} using d::plan; using a::b::plan; __global__ void k() {{}}"
    left = device_part(cuda.read(source=text, name="k", symbol="k")).text
    assert "b::plan" not in left and left.count("using c::plan;") == left.count("using d::plan;") == 1
    assert len(left) == len(text)


def compile_whole(text):
    """Bodies are read when the code is compiled, not for a prototype."""
    return tle_raw.fragment(text, dialect="cuda", symbol="k").as_kernel(block=32).compile("cuda:90")


@pytest.mark.one_triton
def test_an_error_of_the_device_is_told_beside_one_of_the_host():
    text = "int host(int a) { return min(a, nowhere(a)); }\n__global__ void k(float* o) { o[0] = y; }"
    with pytest.raises(CompilationFailed, match="undeclared identifier 'y'"):
        compile_whole(text)


@pytest.mark.one_triton
def test_a_quoted_include_that_is_missing_says_where_it_was_looked_for(cuda, tmp_path):
    text = '\n#include "cuda_compat.h"\n__global__ void k(float* o) {}'
    with pytest.raises(FragmentSourceError, match=r'"cuda_compat\.h" was not found') as error:
        cuda.read(name="k", source=text, folder=tmp_path, include_dirs=["inc"])
    assert error.value.context.source.line == 2
    assert error.value.log.splitlines() == [f"looked in {tmp_path}", f"looked in {tmp_path / 'inc'}"]


NAMESAKES = """
namespace n { template <int B> __global__ void k(float* o) { o[threadIdx.x] = B; } void k(int n, float* o); }
__global__ void plain(float* o, int a) { o[threadIdx.x] = a; }
void plain(float* o) { plain<<<1, 32>>>(o, 1); }
"""


@pytest.mark.one_triton
def test_a_host_function_of_the_same_name_is_no_candidate(cuda, on_cpu):
    assert cuda.read(name="n::k<3>", source=NAMESAKES, symbol="n::k<3>").signature is not None
    o = np.zeros(32, np.float32)
    tle_raw.fragment(NAMESAKES, dialect="cuda", symbol="plain").as_kernel(block=32)[(1,)](o, 3)
    np.testing.assert_array_equal(o, 3)


OPAQUE = """
struct P { float a; int n; };
__global__ void k(float* o, const P* p, const void* q) { o[threadIdx.x] = p->a + ((const float*)q)[0]; }
__device__ float sum(const P* p, void* q) { return p->a + ((const float*)q)[0]; }
__device__ float wrong(const P* p, const short* q) { return 0; }
"""


@tle_raw.dialect("cuda", source=OPAQUE)
def k(o: InOut[Pointer["f32"]], p: Pointer["u8"], q: Pointer["u8"]): ...


@tle_raw.dialect("cuda", source=OPAQUE, symbol="sum")
def total(p: Pointer["u8"], q: Pointer["u8"]) -> Scalar["f32"]: ...


@tle_raw.dialect("cuda", source=OPAQUE)
def wrong(p: Pointer["u8"], q: Pointer["u8"]) -> Scalar["f32"]: ...


@triton.jit
def both(o, p, q):
    k(o, p, q)
    tl.debug_barrier()
    tl.store(o + 1, total(p, q))


@pytest.mark.one_triton
def test_bytes_are_a_pointer_to_anything_in_a_written_signature(on_cpu):
    o, p, q = np.zeros(32, np.float32), np.array([1.5, 0], np.float32).view("u1"), np.array([4], np.float32).view("u1")
    k.as_kernel(block=32)[(1,)](o, p, q)
    np.testing.assert_array_equal(o, 5.5)
    o[:] = 0
    both[(1,)](o, p, q, num_warps=1)
    np.testing.assert_array_equal(o, 5.5)


@pytest.mark.one_triton
def test_bytes_are_no_pointer_to_other_numbers(cuda):
    with pytest.raises(tle_raw.errors.SignatureMismatchError) as error:
        wrong.compile("cuda:90")
    assert [row.differs for row in error.value.table] == [False, True]


CACHED = """
template <class T> __device__ void through(T* o, const T* p) {
  __stcs(o, __ldca(p)); __stcg(o + 1, __ldlu(p)); __stwb(o + 2, __ldcg(p)); __stwt(o + 3, __ldcs(p));
}
__global__ void k(float* o, double* d, short* s, unsigned char* c, double2* v, char4* w, long long* l) {
  through(o, o + 4), through(d, d + 4), through(s, s + 4), through(c, c + 4), through(v, v + 4), through(w, w + 4);
  through(l, l + 4);
}
"""


def test_loads_and_stores_with_cache_operators_are_nvccs(on_cpu):
    kernel = tle_raw.fragment(CACHED, dialect="cuda", symbol="k").as_kernel(block=32)
    arrays = [
        np.arange(8 * n).astype(t) for t, n in zip(("f4", "f8", "i2", "u1", "f8", "i1", "i8"), (1, 1, 1, 1, 2, 4, 1))
    ]
    kernel[(1,)](*arrays)
    for array in arrays:
        parts = array.reshape(8, -1)
        np.testing.assert_array_equal(parts[:4], np.broadcast_to(parts[4], parts[:4].shape))
    ptx = kernel.compile("cuda:90").asm["ptx"]
    for operation in ("ld.global.ca", "ld.global.lu", "st.global.cs", "st.global.cg", "st.global.wb"):
        assert ptx.count(operation) == len(arrays)


PAIRS = "__global__ void k(float2* o) { o[0] = __ffma2_rn(o[0], o[1], __fadd2_ru(o[2], __fmul2_rz(o[3], o[1]))); }"


@pytest.mark.one_triton
def test_arithmetic_on_pairs_is_that_of_sm_100():
    ptx = tle_raw.fragment(PAIRS, dialect="cuda", symbol="k").as_kernel(block=32).compile("cuda:100").asm["ptx"]
    assert all(word in ptx for word in ("fma.rn.f32x2", "add.rp.f32x2", "mul.rz.f32x2"))


CLUSTER = """
#include <cooperative_groups.h>
__global__ void k(float* o) {
  auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  o[threadIdx.x] = cluster.block_rank();
}
"""


def test_a_block_is_a_cluster_of_its_own():
    kernel = tle_raw.fragment(CLUSTER, dialect="cuda", symbol="k").as_kernel(block=64).compile("cuda:90")
    assert "barrier.cluster.arrive" in kernel.asm["ptx"]


PAIR = "__global__ void __cluster_dims__(2, 1, 1) pair(float* o) {}"


@pytest.mark.one_triton
def test_a_kernel_that_asks_for_clusters_is_refused_at_its_line():
    with pytest.raises(Exception, match="__cluster_dims__") as error:
        tle_raw.fragment(PAIR, dialect="cuda", symbol="pair").as_kernel(block=64).compile("cuda:90")
    assert isinstance(cause_of(error.value), UnsupportedFeatureError)


BEHIND_A_MACRO = """
#ifndef OUR_NAMESPACE
#define OUR_NAMESPACE ours
#endif
namespace OUR_NAMESPACE {
template <int N> __global__ void add(float* o) { o[threadIdx.x] += N; }
}
namespace theirs {
template <int N> __global__ void add(float* o) { o[threadIdx.x] -= N; }
}
"""


@pytest.mark.one_triton
def test_a_namespace_may_have_its_name_from_a_macro(on_cpu):
    o = np.zeros(32, np.float32)
    tle_raw.fragment(BEHIND_A_MACRO, dialect="cuda", symbol="ours::add<3>").as_kernel(block=32)[(1,)](o)
    tle_raw.fragment(BEHIND_A_MACRO, dialect="cuda", symbol="theirs::add<1>").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 2)


OVERLOADS = """
__global__ void k(float* o, const float* x, int n) { if (threadIdx.x < n) o[threadIdx.x] = x[threadIdx.x] + 1; }
__global__ void k(int* o, int n) { if (threadIdx.x < n) o[threadIdx.x] = n; }
template <class T, int N> __global__ void t(T* o) { o[threadIdx.x] = N; }
template <int N> __global__ void t(float* o) { o[threadIdx.x] = -N; }
template <class T> __global__ void k(T* o, int n) { o[threadIdx.x] = n + 1; }
__device__ float f(float x) { return 2 * x; }
__device__ int f(int x) { return 3 * x; }
"""


@pytest.mark.one_triton
def test_an_overload_is_chosen_by_its_parameters(on_cpu):
    x, o, i = np.arange(32, dtype=np.float32), np.zeros(32, np.float32), np.zeros(32, np.int32)
    named = tle_raw.fragment(OVERLOADS, dialect="cuda", symbol="k(float*, float const *, int)")
    named.as_kernel(block=32)[(1,)](o, x, 32)
    np.testing.assert_array_equal(o, x + 1)
    tle_raw.fragment(OVERLOADS, dialect="cuda", symbol="k(int*, int)").as_kernel(block=32)[(1,)](i, 32)
    np.testing.assert_array_equal(i, 32)
    tle_raw.fragment(OVERLOADS, dialect="cuda", symbol="t<float, 5>(T*)").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 5)
    tle_raw.fragment(OVERLOADS, dialect="cuda", symbol="t<float, 6>").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 6)


@tle_raw.dialect("cuda", source=OVERLOADS, symbol="f(int)")
def thrice(x: Scalar["i32"]) -> Scalar["i32"]: ...


@triton.jit
def of_int(o, n):
    tl.store(o, thrice(n))


@pytest.mark.one_triton
def test_a_device_function_is_chosen_by_its_parameters(on_cpu):
    o = np.zeros(1, np.int32)
    of_int[(1,)](o, 7)
    assert o[0] == 21


@pytest.mark.one_triton
def test_an_ambiguous_name_lists_the_overloads_and_says_how_to_choose(cuda):
    with pytest.raises(SymbolError, match="3 functions of that name") as error:
        cuda.read(name="k", source=OVERLOADS, symbol="k")
    assert "k(float*, const float*, int)" in error.value.log and "k(int*, int)" in error.value.log
    assert error.value.hint == "choose one by its parameters: symbol='k(float*, const float*, int)'"
    with pytest.raises(SymbolError, match=r"no `k` takes \(double\*\)") as error:
        cuda.read(name="k", source=OVERLOADS, symbol="k(double*)")
    assert "k(int*, int)" in error.value.log


LIBRARIES = """
#include <cublasLt.h>
#include <cublas_v2.h>
#include "state.cuh"
TORCH_LIBRARY(extension, m) { m.def("k", &launch); }
class Launcher {
 public:
  Launcher(int n) : n_(n), handle_{} { cublasCreate(&handle_); }
  __device__ float device() const { return 2; }
  void launch(float* o) { k<<<1, n_>>>(o); CHECK(cublasSetStream(handle_, 0)); }
 private:
  int n_;
  cublasHandle_t handle_;
};
#define INSTANTIATE(T) template void launch<T>(T*);
template <class T> void launch(T* o) {
#pragma unroll
  for (int i = 0; i < 2; i++) other<<<1, 1>>>(o);
}
INSTANTIATE(float)
template <> void launch<int>(int* o) { nowhere(o); }
__global__ void broken(float* o) { o[0] = nobody_knows_this; }
__global__ void k(float* o) { o[threadIdx.x] = state(); }
"""
STATE = """#pragma once
struct State { cublasLtMatmulDesc_t description; cublasHandle_t handle; };
static State* make() { return cublasMake<State>(); }
__device__ inline float state() { return 4; }
"""


@pytest.mark.one_triton
def test_libraries_of_the_host_may_be_missing(tmp_path, on_cpu):
    (tmp_path / "state.cuh").write_text(STATE)
    (tmp_path / "k.cu").write_text(LIBRARIES)
    o = np.zeros(32, np.float32)
    tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, 4)


@pytest.mark.one_triton
def test_a_missing_library_that_the_device_needs_is_named(cuda):
    text = "#include <nvrandom.h>\n__global__ void k(float* o, nvrandomState* s) { *o = nvrandom(s); }"
    with pytest.raises(ToolchainError, match=r"<nvrandom\.h> is not installed") as error:
        cuda.read(name="k", source=text)
    assert error.value.context.source.column == 10


@pytest.mark.one_triton
def test_an_error_names_the_headers_that_were_passed_over():
    text = "#include <nobody/has_this.h>\n__global__ void k(float* o) { o[threadIdx.x] = &o; }"
    with pytest.raises(CompilationFailed, match="incompatible type") as error:
        compile_whole(text)
    assert "not found, and passed over: <nobody/has_this.h>" in error.value.log


@pytest.mark.one_triton
def test_a_missing_library_is_named_with_its_package():
    text = "#include <cufft.h>\n__global__ void k(float* o) { o[0] = cufftSize(o); }"
    with pytest.raises(ToolchainError, match=r"<cufft\.h> is not installed") as error:
        compile_whole(text)
    assert error.value.hint.startswith("pip install nvidia-cufft ")
    absent = ["cublas_v2.h", "curand.h", "curand_kernel.h"]
    assert absent_library("use of undeclared identifier 'curand_init'", absent) == "curand_kernel.h"
    assert not absent_library("use of undeclared identifier 'mine'", ["curand_kernel.h"])


@pytest.mark.one_triton
def test_a_header_that_nobody_has_is_passed_over_with_a_note(on_cpu):
    text = "#include <nobody/has_this.h>\n__global__ void k(float* o) { o[threadIdx.x] = 3; }"
    o = np.zeros(32, np.float32)
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="k").as_kernel(block=32)
    kernel[(1,)](o)
    np.testing.assert_array_equal(o, 3)


@pytest.mark.one_triton
def test_a_template_behind_a_macro_without_semicolon_is_a_template():
    text = "LAUNCH(float)\ntemplate <class T> __global__ void k(T* o) {}"
    assert [function.template is not None for function in functions(text)] == [True]


NVCCS = """#include "cast.cuh"
typedef unsigned char uint8_t;
typedef unsigned long long uint64_t;
namespace scales {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 500
template <int N, int extra = 1> __global__ void k(float* o, const int* in, uint64_t n) {}
}  // namespace scales
torch::Tensor launch(torch::Tensor t) { return t; }
#else
template <int N, int extra = 1> __global__ void k(float* o, const int* in, uint64_t n) {
  const int before = extra;
  const int extra = N + 1;
  cast_all<N>(o, in);
  o[N] = before * 100 + extra * 10 + __CUDACC_VER_MAJOR__ / 100 + n;
}
}  // namespace scales
torch::Tensor launch(torch::Tensor t) { scales::k<4><<<1, 1>>>(t.data<float>(), nullptr, 0); return t; }
#endif
"""
CAST = """#pragma once
template <class To, class From> struct caster {
  template <int n> __device__ static void cast(To* to, const From* from) {
    for (int i = 0; i < n; i++) to[i] = (To)from[i];
  }
};
template <int n, class To, class From> __device__ void cast_all(To* to, const From* from) {
  caster<To, From>::cast<n>(to, from);
}
"""


SIGNS = """#include "twice.cuh"
__global__ void k(unsigned* o, const unsigned* x) {
  unsigned y = twice(x[threadIdx.x]), lane;
  asm volatile("{ .reg .b32 %_sum;" /* é */ "add.u32 %_sum, %1, 5; mov.u32 %0, %_sum; }" : "=r"(y) : "r"(y));
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  o[threadIdx.x] = y + lane;
}
"""
TWICE = """__device__ inline unsigned twice(unsigned x) {
  unsigned y = 0;
  asm volatile(
      "\\n\\
    {\\n\\
        .reg .b32 %rx;\\n\\
        .reg .pred %p;\\n\\
        setp.ne.u32 %p, %1, 0;\\n\\
        add.u32 %rx, %1, %r1;\\n\\
        @%p mov.b32 %0, %rx;\\n\\
    }\\n\\
  "
      : "+r"(y) : "r"(x));
  return y;
}
"""


@pytest.mark.one_triton
def test_registers_of_ptx_may_have_one_percent_sign(tmp_path, on_cpu):
    (tmp_path / "twice.cuh").write_text(TWICE)
    (tmp_path / "k.cu").write_text(SIGNS)
    o, x = np.zeros(32, np.uint32), np.arange(32, dtype=np.uint32) // 3
    tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](o, x)
    np.testing.assert_array_equal(o, 2 * x + 5 + np.arange(32))


@pytest.fixture
def nvccs_file(tmp_path, on_cpu):
    (tmp_path / "cast.cuh").write_text(CAST)
    (tmp_path / "k.cu").write_text(NVCCS)
    return tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="scales::k<4>")


@pytest.mark.one_triton
def test_what_nvcc_takes_and_clang_refuses_is_mended(nvccs_file):
    o = np.zeros(5, np.float32)
    nvccs_file.as_kernel(block=1)[(1,)](o, np.arange(4, dtype=np.int32), 1)
    np.testing.assert_array_equal(o, [0, 1, 2, 3, 100 + 50 + 1])


@pytest.mark.one_triton
def test_what_was_learnt_of_a_file_is_known_to_the_next_process(nvccs_file, monkeypatch):
    nvccs_file.as_kernel(block=32).compile("cpu")
    monkeypatch.setattr(host_code, "_PLANS", {})
    monkeypatch.setattr(host_code, "next_plan", lambda *_: pytest.fail("it is learnt again"))
    nvccs_file.as_kernel(block=64).compile("cpu")


@pytest.mark.one_triton
def test_a_source_string_is_mended_at_its_own_lines(on_cpu):
    fragment = tle_raw.fragment(CAST + NVCCS.split("\n", 1)[1], dialect="cuda", symbol="scales::k<2>")
    o = np.zeros(3, np.float32)
    fragment.as_kernel(block=1)[(1,)](o, np.arange(2, dtype=np.int32), 0)
    np.testing.assert_array_equal(o, [0, 1, 100 + 30])


@pytest.mark.one_triton
def test_a_function_in_a_branch_that_is_not_compiled_is_shown(cuda):
    text = "#include <nobody/has_this.h>\n__global__ void other(float* o) {}\n"
    text += "#ifdef WITH_K\n__global__ void k(float* o) { *o = 1; }\n#endif"
    with pytest.raises(SymbolError, match="no branch of the source that is compiled") as error:
        tle_raw.fragment(text, dialect="cuda", symbol="k")
    assert "defines=" in error.value.hint and error.value.context.source.text.startswith("__global__ void k")


def test_a_namespace_that_two_branches_end_goes_on_in_both():
    text = "namespace a { namespace b {\n#if X\nvoid f(); } }\nvoid g();\n#else\nvoid f(); } }\n#endif\nvoid i();"
    assert [f.qualified for f in functions(text)] == ["a::b::f", "g", "a::b::f", "i"]
    text = "void f() {\n#if X\n if (a) {\n#else\n if (b) {\n#endif\n }\n}\nvoid g();"
    assert [f.name for f in functions(text)] == ["f", "g"]
