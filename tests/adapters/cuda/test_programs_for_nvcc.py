"""What programs hold that were only ever given to nvcc: tables of other kernels, its macro, its lenient grammar."""

import numpy as np
import pytest

import tle_raw
from tle_raw.errors import UnresolvedSymbolError

pytestmark = pytest.mark.one_triton


SHAPES = """
struct Shape { float size; __device__ virtual float area() const = 0; };
struct Square : Shape { __device__ float area() const override { return size * size; } };
__global__ void fill(float* o, Shape** shapes) { shapes[0] = new Square(); o[0] = shapes[0]->area(); }
__global__ void sizes(float* o, const float* x) { o[threadIdx.x] = 2 * ((const Square*)(x - 2))->size; }
"""
EMPTY = """
template <int N> struct Strides { int own[N]; };
template <> struct Strides<0> { int own[0]; };
template <class T, int N> struct View { T* data; Strides<N> strides; int inner[0]; };
__global__ void twice(View<float, 0> o, View<const float, 1> x) {
  o.data[threadIdx.x] = 2 * x.data[threadIdx.x * x.strides.own[0]];
}
"""
NO_COMMA = """
__global__ void carries(unsigned* o, unsigned* c, const unsigned* x) {
  unsigned sum = x[threadIdx.x], carry;
  asm("{ .reg .u64 %%wide; cvt.u64.u32 %%wide, %0; add.u64 %%wide, %%wide, %2; mov.b64 {%0, %1}, %%wide; }"
      : "+r"(sum) "=r"(carry)
      : "l"(0xfffffff0ull));
  o[threadIdx.x] = sum;
  c[threadIdx.x] = carry;
}
"""
NO_OPERAND = """
template <bool wrong> __device__ unsigned lane() {
  unsigned lane;
  if constexpr (wrong)
    asm volatile("add.u32 %0, %1, %2;" : "=r"(lane) : "r"(threadIdx.x));
  else
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
template <bool wrong> __global__ void lanes(unsigned* o) { o[threadIdx.x] = lane<wrong>(); }
"""
ASKING = """#if defined(__NVCC__)
__device__ inline float half_of(float x) { return 0.5f * x; }
#endif
"""
ASKED = """
#ifndef __NVCC__
#define half_of other_of
#endif
#include "half_of.cuh"
__global__ void halves(float* o, const float* x) { o[threadIdx.x] = half_of(x[threadIdx.x]); }
"""

WARNED_OF = """
#define REGISTER "%0"
struct Pair { int a, b; __device__ Pair(int a) : a(a), b(2 * a) {} };
struct Scales { static const float half = 0.5f; };
template <class T> struct Twice { template <class U> __device__ U of(U x) { return 2 * x; } };
template <class T> __device__ T twice(Twice<T> by, T x) { return by.template of(x); }
__device__ int second(const Pair* pair) { if (!pair) return; return pair->b; }
__device__ int counted(int* n) { return ++*n; }
constexpr __device__ int never(int n) { return counted(&n); }
__constant__ char bytes[] = { 0xff, 0x80 };
__global__ void k(float* o, const double d, const int n, bool is_more) {
  register float pair[2] = { d, n };
  unsigned most[1] = { -1 };
  int one;
  asm("mov.u32 "REGISTER", 1;" : "=r"(one));
  if (n < 0) is_more++;
  o[threadIdx.x] = pair[0] * Scales::half + twice(Twice<float>(), pair[1]) + second(&Pair(n)) + never(n) + bytes[0]
                 + one + is_more + (most[0] == 0xffffffff);
}
"""

LENIENT = """
#include <cuda_fp16.h>
enum { shifted = -1 << 3 };
__device__ float twice(float x);
static __device__ float twice(float x) { return 2 * x; }
__device__ float of_kind(int kind, const float* x) {
  switch (kind) {
    case 0:
      const float first = x[0] + 1;
      const float* more = x + 1;
      return first + *more;
    case 1:
      int n = int(x[1]) << 4;
      return n;
    default:
      return twice(x[2]);
  }
}
__global__ void k(float* o, const float* x) {
  half2 pair;
  pair = {__float2half(1.f), __float2half(2.f)};
  o[threadIdx.x] = of_kind(threadIdx.x, x) + __low2float(pair) + __high2float(pair) + shifted;
}
main() { return 0; }
"""
HINTS = """
#include <cstdlib>
#include <cstdio>
#pragma unroll
enum class Kind { one, two };
const double step = 0.5;
const int steps = (int)(4 / step);
__device__ int number(enum class Kind kind) { return kind == Kind::two ? 2 : 1; }
__host__ __device__ int checked(int n) {
  if (n < 0) { printf("less than nothing"); exit(1); }
  if (n > 1000) abort();
  return n;
}
__global__ void k(float* o, const float* x) {
  const float half = 2.5f;
  float sums[(int)(half * 2)];
  __shared__ float all[steps];
#pragma unroll
  int i;
#pragma unroll 1
#pragma unroll
  for (i = 0; i < 5; i++) sums[i] = i;
#pragma unroll
  // nothing to unroll here
  if (x[0] > 0) sums[0] = 10;
#pragma unroll -1
  for (i = 0; i < 5; i++) {
    sums[0] += sums[i];
#pragma unroll
  }
  all[threadIdx.x] = sums[0] * x[threadIdx.x];
  o[threadIdx.x] = all[threadIdx.x] + checked(number(Kind::two));
}
"""
NAMES = "T N M E I R D S P F A U V B C K Result First Rest Types Parameters Function Facts type value of n i integer"
SHORT = """
struct TAKEN { float a; short b; };
namespace own {
__global__ void k(float* o, TAKEN s, int m) { o[threadIdx.x] = s.a + s.b + m; }
__global__ void k(double* o, TAKEN s, int m) { o[threadIdx.x] = s.a; }
template <class TAKEN_T> __device__ float sum(TAKEN s, TAKEN_T m) { return s.a + s.b + m; }
}
"""


def test_tables_of_virtual_functions_go_with_the_kernels_that_use_them():
    compiled = tle_raw.fragment(SHAPES, dialect="cuda", symbol="sizes").as_kernel(block=32).compile("cuda:90")
    assert compiled.asm["cubin"]


def test_macros_of_any_name_are_the_programs_alone(on_cpu):
    text = "".join(f"#define {name} 32\n" for name in NAMES.split()).replace("S 32", "S TAKEN") + SHORT
    o = np.zeros(8, np.float32)
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="own::k(float*, TAKEN, int)").as_kernel(block=8)
    kernel[(1,)](o, (1.5, 2), 3)
    np.testing.assert_array_equal(o, 6.5)
    function = tle_raw.fragment(text, dialect="cuda", symbol="own::sum<int>")
    assert "f32" in str(function.signature)


@pytest.mark.parametrize("before", ["", "/* 因子 é */ "])  # clang counts bytes
def test_jumps_past_values_late_words_and_a_main_without_a_type_are_taken(on_cpu, before):
    o, x = np.zeros(3, np.float32), np.array([1, 2, 3], np.float32)
    text = LENIENT
    for mended in ("static __device__", "const float first", "int n =", "main()"):
        text = text.replace(mended, before + mended)
    tle_raw.fragment(text, dialect="cuda", symbol="k").as_kernel(block=3)[(1,)](o, x)
    np.testing.assert_array_equal(o, np.array([4, 32, 6]) + 3 - 8)


def test_hints_before_no_loop_and_sizes_of_constant_floats_are_taken(on_cpu):
    o, x = np.zeros(8, np.float32), np.arange(1, 9, dtype=np.float32)
    kernel = tle_raw.fragment(HINTS, dialect="cuda", symbol="k").as_kernel(block=8)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 30 * x + 2)
    assert kernel.compile("cuda:90").asm["cubin"]


def test_what_nvcc_warns_of_is_no_error(on_cpu):
    o = np.zeros(8, np.float32)
    tle_raw.fragment(WARNED_OF, dialect="cuda", symbol="k").as_kernel(block=8)[(1,)](o, 5.0, 3, False)
    np.testing.assert_array_equal(o, 2.5 + 6 + 6 + 4 - 1 + 1 + 0 + 1)


def test_an_array_of_no_items_is_no_member(on_cpu):
    kernel = tle_raw.fragment(EMPTY, dialect="cuda", symbol="twice").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(16, dtype=np.float32)
    kernel[(1,)]((o,), (x, 2))
    np.testing.assert_array_equal(o, 4 * np.arange(8))


def test_operands_of_assembly_may_lack_a_comma(on_cpu):
    o, c, x = np.zeros(32, np.uint32), np.zeros(32, np.uint32), np.arange(32, dtype=np.uint32)
    tle_raw.fragment(NO_COMMA, dialect="cuda", symbol="carries").as_kernel(block=32)[(1,)](o, c, x)
    np.testing.assert_array_equal(o, (x.astype(np.uint64) + 0xFFFFFFF0).astype(np.uint32))
    np.testing.assert_array_equal(c, np.arange(32) >= 16)


def test_an_operand_that_is_not_there_is_an_error_where_it_is_used(on_cpu):
    o = np.zeros(32, np.uint32)
    tle_raw.fragment(NO_OPERAND, dialect="cuda", symbol="lanes<false>").as_kernel(block=32)[(1,)](o)
    np.testing.assert_array_equal(o, np.arange(32))
    with pytest.raises(Exception, match="%2"):
        tle_raw.fragment(NO_OPERAND, dialect="cuda", symbol="lanes<true>").as_kernel(block=32).compile("cuda:90")


def test_what_is_there_for_nvcc_is_there(tmp_path, on_cpu):
    (tmp_path / "half_of.cuh").write_text(ASKING)
    (tmp_path / "k.cu").write_text(ASKED)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="halves").as_kernel(block=8)[(1,)](o, x)
    np.testing.assert_array_equal(o, x / 2)


SCOPES = """
#define BEGIN_LATTICE namespace lattice {
#define END_LATTICE }
#define BOUND
BEGIN_LATTICE
void of_host(const std::string& name) { std::cout << name; }
struct Sum { float x; };
END_LATTICE

void print(const std::string& name) { std::cout << name; }

BEGIN_LATTICE
int launch(float* o, float* x) { twice << <1, 8>> >(o, (Sum*)x); return 0; }
__global__ void BOUND
twice(float* o, const Sum* x,
#if DOUBLES
      double by
#else
      float by
#endif
) {
  o[threadIdx.x] = by * x[threadIdx.x].x;
}
END_LATTICE
int after(const std::vector<float>& x) { return x.size(); }
"""
PROPERTIES = """#pragma once
#include <cuda_runtime.h>
struct Clocks {
  cudaDeviceProp properties;
  Clocks() { cudaGetDeviceProperties(&properties, 0); }
  float gigahertz() const { return properties.clockRate * 1e-6f + properties.memoryClockRate; }
};
"""


def test_macros_that_open_and_end_namespaces_stay(on_cpu):
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel = tle_raw.fragment(SCOPES, dialect="cuda", symbol="lattice::twice").as_kernel(block=8)
    kernel[(1,)](o, x, 2.0)
    np.testing.assert_array_equal(o, 2 * x)


def test_a_word_for_the_device_stands_behind_a_string_without_a_space(on_cpu):
    text = 'extern "C"__global__\nvoid twice(float* x) { x[threadIdx.x] *= 2; }\nextern "C"__device__ int count;\n'
    x = np.arange(8, dtype=np.float32)
    tle_raw.fragment(text, dialect="cuda", symbol="twice").as_kernel(block=8)[(1,)](x)
    np.testing.assert_array_equal(x, 2 * np.arange(8))


def test_what_cuda_13_took_from_the_description_of_a_device_is_there(tmp_path, on_cpu):
    (tmp_path / "clocks.h").write_text(PROPERTIES)
    text = '#include "clocks.h"\n__global__ void k(float* o) { o[threadIdx.x] = sizeof(Clocks) > 100; }'
    (tmp_path / "k.cu").write_text(text)
    o = np.zeros(8, np.float32)
    tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="k").as_kernel(block=8)[(1,)](o)
    assert o.all()


SEVERAL = {
    "tables.h": """#pragma once
extern __constant__ float factors[4];
namespace help { __device__ float more(float x); }
""",
    "tables.cu": '#include "tables.h"\n__constant__ float factors[4] = {1, 2, 3, 4};\n',
    "help.cu": '#include "tables.h"\n__device__ float help::more(float x) { return x + 1; }\n',
    "k.cu": """#include "tables.h"
__global__ void scaled(float* o) { o[threadIdx.x] = help::more(factors[threadIdx.x]); }
""",
}


def test_an_error_names_the_other_files_of_a_program(tmp_path, on_cpu):
    for name, text in SEVERAL.items():
        (tmp_path / name).write_text(text)
    alone = tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="scaled")
    with pytest.raises(UnresolvedSymbolError) as told:
        alone.as_kernel(block=4).compile("cuda:90")
    flags = ["-include", str(tmp_path / "tables.cu"), "-include", str(tmp_path / "help.cu")]
    assert f"`factors` is defined in {tmp_path / 'tables.cu'}" in told.value.hint
    assert all(flag in told.value.hint for flag in flags)
    o = np.zeros(4, np.float32)
    tle_raw.fragment(tmp_path / "k.cu", dialect="cuda", symbol="scaled", flags=flags).as_kernel(block=4)[(1,)](o)
    np.testing.assert_array_equal(o, [2, 3, 4, 5])


OMP = """
#include <vector>
__global__ void twice(float* o, const float* x) { o[threadIdx.x] = 2 * x[threadIdx.x]; }
struct Filter {
  std::vector<float> weights;
  float width;
  Filter::Filter() : width(1) {}
  float Filter::wide(int n) const { return n * width; }
  Filter::~Filter() {}
};
float sum(const Filter& filter, int n) {
  float all = 0;
#pragma omp parallel for schedule(static) \\
    shared(filter, n) \\
    reduction(+ : all)
  for (int i = 0; i < n; i++) all += filter.wide(i);
  return of_a_library_that_nobody_has(all);
}
"""


def test_pragmas_of_several_lines_go_with_the_host_function(on_cpu):
    text = OMP.replace("Filter::", "")
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="twice").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 2 * x)


def test_a_class_may_name_itself_before_its_members(on_cpu):
    kernel = tle_raw.fragment(OMP, dialect="cuda", symbol="twice").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 2 * x)


MPL = """
#pragma once
#define BOOST_MPL_AUX_STATIC_CAST(T, expr) static_cast<T>(expr)
"""
STEPS = """
#include <boost/mpl/aux_/static_cast.hpp>
enum mode { unlocked, exclusive, shared };
template <class T, T N> struct number {
  static const T value = N;
  typedef number<T, BOOST_MPL_AUX_STATIC_CAST(T, (value - 1))> prior;
};
template <class T> T* null() { return BOOST_MPL_AUX_STATIC_CAST(T*, 0); }
struct lock : number<mode, unlocked> { number<int, 3>::prior two; void* none() { return null<lock>(); } };
__global__ void twice(float* o, const float* x) { o[threadIdx.x] = sizeof(lock) * x[threadIdx.x]; }
"""


def test_steps_beyond_an_enumeration_are_as_to_older_compilers(tmp_path, on_cpu):
    header = tmp_path / "boost" / "mpl" / "aux_" / "static_cast.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(MPL)
    kernel = tle_raw.fragment(STEPS, dialect="cuda", symbol="twice", include_dirs=[str(tmp_path)]).as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, x * (o[1] / x[1]))


def test_cs_word_for_bool_is_known(on_cpu):
    text = """
    #include <stdbool.h>
    __global__ void either(_Bool* o, const _Bool* x) { o[threadIdx.x] = !x[threadIdx.x]; }
    """
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="either").as_kernel(block=4)
    o, x = np.zeros(4, np.bool_), np.array([1, 0, 0, 1], np.bool_)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, ~x)


def test_an_error_names_the_file_beside_the_headers_folder(tmp_path, on_cpu):
    for folder, name, text in (
        ("include", "far.cuh", "struct Far { float x; __device__ Far(float x); };\n"),
        ("src", "far.cu", '#include "far.cuh"\n__device__ Far::Far(float x) : x(x) {}\n'),
        ("kernels", "near.cu", '#include "far.cuh"\n__global__ void near(float* o) { o[0] = Far(o[1]).x; }\n'),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    file = tmp_path / "kernels" / "near.cu"
    fragment = tle_raw.fragment(file, dialect="cuda", symbol="near", include_dirs=[str(tmp_path / "include")])
    with pytest.raises(UnresolvedSymbolError) as error:
        fragment.as_kernel(block=1).compile()
    assert str(tmp_path / "src" / "far.cu") in str(error.value)


def test_empty_braces_are_of_the_class_that_is_assigned_to(on_cpu):
    text = """
    #include <cuda_fp16.h>
    __global__ void sums(float* o, const float* x) {
      half2 sum;
      sum = {};
      sum = __hadd2(sum, __float2half2_rn(x[threadIdx.x]));
      o[threadIdx.x] = __low2float(sum) + __high2float(sum);
    }
    """
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="sums").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 2 * x)


def test_the_signs_of_a_launch_may_be_apart(on_cpu):
    text = """
    template <class T> __global__ void twice(T* o, const T* x) { o[threadIdx.x] = 2 * x[threadIdx.x]; }
    template <class T> struct Twice { int blocks; void operator()(T* o, const T* x); };
    template <class T> void Twice<T>::operator()(T* o, const T* x) { twice << < blocks, 8 >> > (o, x); }
    """
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="twice<float>").as_kernel(block=8)
    o, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 2 * x)


def test_classes_hold_locks_of_openmp_that_is_not_there(on_cpu):
    text = """
    #include <omp.h>
    class Mutex {
      omp_lock_t lock;
     public:
      Mutex() { omp_init_lock(&lock); }
      __host__ __device__ int size() const { return sizeof(lock); }
    };
    __global__ void sizes(int* o, const Mutex* x) { o[threadIdx.x] = x[threadIdx.x].size(); }
    """
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="sizes").as_kernel(block=8)
    o, x = np.zeros(8, np.int32), np.zeros(8, np.int32)
    kernel[(1,)](o, x)
    np.testing.assert_array_equal(o, 4)


def test_limits_of_a_class_may_follow_its_use():
    text = """
    namespace math {
    class half;
    namespace detail { class other {}; }
    class half {
      float x;
     public:
      __host__ __device__ half(float x) : x(x) {}
      __host__ __device__ float value() const { return x; }
    };
    __host__ __device__ inline half floor(half x) { return half(::floorf(x.value())); }
    __host__ __device__ inline half lower(half x) { return floor(x); }
    }
    using std::floor;
    __host__ __device__ inline math::half lowest(math::half x) { return floor(x); }
    namespace std {
    template <> class numeric_limits<math::half> : public numeric_limits<float> {
     public:
      __host__ __device__ static constexpr float lowest() { return -2; }
    };
    }
    __global__ void floors(float* o, const float* x) {
      o[threadIdx.x] = lowest(x[threadIdx.x]).value() * std::numeric_limits<math::half>::lowest();
    }
    """
    kernel = tle_raw.fragment(text, dialect="cuda", symbol="floors").as_kernel(block=8)
    assert kernel.compile("cuda:90").asm["cubin"]
