"""Parameters that are more than numbers and arrays: structs by value, pointers to anything, types of one's own."""

import ctypes
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, ptx_calls
from tle_raw.adapters.cpp.declarations import functions
from tle_raw.adapters.cpp.number_types import class_dtype
from tle_raw.adapters.cpp.record_layouts import Layouts
from tle_raw.adapters.cuda.symbol import choose_function
from tle_raw.errors import ArgumentCountError, ArgumentTypeError, SignatureError, SymbolError
from tle_raw.fragments.structs import from_data, leaves, to_data

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace c10 {
struct alignas(2) Half { unsigned short x; };
struct alignas(2) BFloat16 { unsigned short x; };
template <class T> struct complex { T re, im; };
}
struct Scale { float a; int n; };
__global__ void scale(float* o, Scale p) { o[threadIdx.x] = p.a * p.n + threadIdx.x; }

struct Base { int rank; };
struct Item { float a; short h; bool b; };
enum class Kind : signed char { A, B };
struct Padded : Base {
  float* x; const int* n; long s[3]; Item q[2]; float4 v; Kind t; float m[2][3]; int lo : 3, hi : 5; double d;
};
__global__ void padded(double* o, Padded p) {
  if (threadIdx.x) return;
  const double all[] = {(double)p.rank, p.x[1], p.n ? (double)p.n[2] : -1.0, (double)p.s[0], (double)p.s[2], p.q[0].a,
                        (double)p.q[1].h, (double)p.q[1].b, p.v.z, (double)(int)p.t, p.m[1][2], (double)p.lo,
                        (double)p.hi, p.d};
  for (int i = 0; i < 14; ++i) o[i] = all[i];
  p.s[0] = 5;  // a copy is the kernel's own
}
template <class F> __global__ void apply(float* o, F f) { o[threadIdx.x] = f(o[threadIdx.x]); }
struct Twice { __device__ float operator()(float x) const { return 2 * x; } };
struct Times { float s; __device__ float operator()(float x) const { return s * x; } };

union Word { float f; int i; };
enum Mode { M0, M1 };
template <class T> __device__ float wide(T h) { __half r; memcpy(&r, &h.x, 2); return __half2float(r); }
__global__ void numbers(float* o, const c10::Half* h, c10::Half one, __nv_bfloat16 b, c10::BFloat16*, Mode m, bool t,
                        Word w, c10::complex<float> z, float4 v) {
  o[threadIdx.x] = wide(h[threadIdx.x]) + wide(one) + __bfloat162float(b) + m + t + w.f + z.im + v.w;
}
struct Node { float v; Node* next; };
__global__ void pointers(float* o, float** rows, void* any, Node* nodes, float (*matrix)[32], const float& factor) {
  o[threadIdx.x] = rows[1][threadIdx.x] + static_cast<float*>(any)[0] + nodes[1].v + matrix[1][threadIdx.x] * factor;
}
__global__ void optional(float* o, const float* x) { o[threadIdx.x] = x ? x[threadIdx.x] : 1; }
__global__ void callback(float* o, float (*f)(float)) { o[0] = f(1); }
struct Shape { __device__ virtual float area() { return 1; } };
__global__ void virtual_functions(float* o, Shape s) { o[0] = s.area(); }
__global__ __launch_bounds__(64) void reversed(float* o, Scale p) {
  extern __shared__ float s[];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  o[threadIdx.x] = s[31 - threadIdx.x] * p.a;
}
__global__ void wrapper(float* o, float a) { reversed(o, Scale{a, 1}); }
void host(float* o) { wrapper<<<1, 32>>>(o, 1); }
"""


@pytest.fixture(autouse=True)
def on_cpu():
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


def of(symbol):
    return tle_raw.fragment(SOURCE, dialect="cuda", symbol=symbol)


def launched(symbol, *arguments, **options):
    o = np.zeros(32, np.float32)
    of(symbol).as_kernel(block=32, **options)[(1,)](o, *arguments)
    return o


class CScale(ctypes.Structure):
    _fields_ = (("a", ctypes.c_float), ("n", ctypes.c_int))


@dataclass
class DataScale:
    a: float
    n: int


SCALE = [("a", "f4"), ("n", "i4")]


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("value", [
    (2.5, 3), {"n": 3, "a": 2.5}, namedtuple("Any", "n a")(3, 2.5), DataScale(2.5, 3), CScale(2.5, 3),
    np.array((2.5, 3), SCALE), np.array([(2.5, 3)], SCALE)[0], bytes(CScale(2.5, 3)), (np.float32(2.5), np.int32(3)),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_a_struct_is_passed_as_what_python_has_for_it(value):
    np.testing.assert_array_equal(launched("scale", value), 7.5 + np.arange(32))


class Long(ctypes.Structure):
    _fields_ = (("a", ctypes.c_float), ("n", ctypes.c_longlong))


@pytest.mark.one_triton
@pytest.mark.parametrize(("value", "got"), [
    (Long(1, 2), "Long of 16 bytes: 4 at 0, 8 at 8"), ((1,), "1 value"), ({"a": 1, "m": 2}, "fields a, m"), (3, "int"),
    ((1, 2, 3), "3 values"), (b"abc", "3 bytes"), (np.array((1, 2), [("n", "i4"), ("a", "f8")]), "4 at 0, 8 at 4"),
])  # fmt: skip
def test_another_value_is_compared_with_the_struct_in_the_error(value, got):
    with pytest.raises(ArgumentTypeError, match="`p`") as error:
        launched("scale", value)
    (row,) = error.value.table
    assert row.what == "p" and got in row.got and ("a: f32" in row.expected or "8 bytes" in row.expected)


@pytest.mark.one_triton
def test_a_struct_is_one_argument():
    with pytest.raises(ArgumentCountError) as error:
        launched("scale", 2.5, 3)
    assert "p: Scale{a: f32, n: i32}" in error.value.hint


@pytest.mark.every_triton(1)
def test_every_field_is_where_the_compiler_has_it():
    x, n, o = np.arange(4, dtype="f4"), np.arange(5, dtype="i4"), np.zeros(14)
    kernel = of("padded").as_kernel(block=32)
    bits = (3 & 7) | (9 << 3)
    kernel[(1,)](o, (7, x, n, (10, 11, 12), ((1.5, 2, True), (2.5, -3, True)), (1, 2, 3, 4), 1, ((1, 2, 3), (4, 5, 6)),
                     bits, 0.1))  # fmt: skip
    np.testing.assert_array_equal(o, [7, 1, 2, 10, 12, 1.5, -3, 1, 3, 1, 6, 3, 9, 0.1])
    kernel[(1,)](o, (7, x, None, (0, 1, 2), ((1.5, 2, True), (2.5, -3, False)),
                     np.arange(4), 0, np.arange(6).reshape(2, 3), bits, 2))  # fmt: skip
    np.testing.assert_array_equal(o, [7, 1, -1, 0, 2, 1.5, -3, 0, 2, 0, 5, 3, 9, 2])


@pytest.mark.every_triton(1)
def test_a_struct_is_registers_on_a_gpu():
    compiled = of("padded").as_kernel(block=32).compile("cuda:90")
    ptx = compiled.asm["ptx"]
    assert ptx.count(".entry") == 1 and not ptx_calls(compiled) and ".local" not in ptx


@pytest.mark.one_triton
def test_a_functor_is_a_struct_which_may_be_empty():
    o = np.ones(32, np.float32)
    of("apply<Twice>").as_kernel(block=32)[(1,)](o, ())
    of("apply<Times>").as_kernel(block=32)[(1,)](o, 1.5)
    np.testing.assert_array_equal(o, 3)


@pytest.mark.one_triton
def test_types_of_ones_own_are_numbers_by_size_kind_and_name():
    h = torch.rand(32).half()
    word = np.float32(0.5).tobytes()
    fragment = of("numbers")
    assert "h: Pointer[f16], one: Scalar[f16], b: Scalar[bf16]" in str(fragment.signature)
    assert "m: Scalar[u32], t: Scalar[i1], w: 4 bytes, z: c10::complex<float>{re: f32" in str(fragment.signature)
    o = launched("numbers", h, 1.5, 2.0, None, 1, True, word, 3 + 4j, (0, 0, 0, 0.25))
    np.testing.assert_allclose(o, h.double().numpy() + 1.5 + 2 + 1 + 1 + 0.5 + 4 + 0.25, rtol=1e-6)


@pytest.mark.one_triton
@pytest.mark.parametrize(("name", "size", "dtype"), [
    ("c10::Half", 2, "f16"), ("cutlass::half_t", 2, "f16"), ("at::BFloat16", 2, "bf16"), ("bfloat16_t", 2, "bf16"),
    ("c10::Float8_e4m3fn", 1, "f8e4m3"), ("cutlass::float_e5m2_t", 1, "f8e5m2"), ("half_t", 4, None),
    ("Half2", 2, None), ("c10::Float8_e4m3fnuz", 1, None),
])  # fmt: skip
def test_a_class_is_a_number_where_name_and_size_say_so(name, size, dtype):
    found = class_dtype(name, size)
    assert (found and found.name) == dtype


@pytest.mark.one_triton
def test_pointers_may_point_to_anything():
    a, b, factor = np.random.rand(32).astype("f4"), np.random.rand(32).astype("f4"), np.array([3.0], "f4")
    rows = np.array([a.ctypes.data, b.ctypes.data], np.uint64)
    nodes = np.zeros(2, np.dtype([("v", "f4"), ("next", "u8")], align=True))
    nodes["v"] = 1, 2
    matrix = np.random.rand(2, 32).astype("f4")
    o = launched("pointers", rows, a[5:], nodes, matrix, factor)
    np.testing.assert_allclose(o, b.astype("f8") + a[5] + 2 + matrix[1].astype("f8") * 3, rtol=1e-6)
    assert "any: InOut[Pointer[void]]" in str(of("pointers").signature)


@pytest.mark.one_triton
@pytest.mark.parametrize(("symbol", "words"), [
    ("callback", ("float (*)(float)", "template parameter")), ("virtual_functions", ("virtual functions", "Shape")),
])  # fmt: skip
def test_what_cannot_be_passed_is_named_with_its_type(symbol, words):
    with pytest.raises(SignatureError) as error:
        of(symbol)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.every_triton(1)
def test_a_wrapper_may_call_a_kernel_as_a_function():
    np.testing.assert_array_equal(launched("wrapper", 2.0, shared=128), 2 * (31 - np.arange(32)))
    compiled = of("wrapper").as_kernel(block=32, shared=128).compile("cuda:90")
    assert compiled.asm["ptx"].count(".entry") == 1 and not ptx_calls(compiled)


scale_region, optional_region, pointers_region = of("scale"), of("optional"), of("pointers")


@triton.jit
def with_structs(o, p, q, n):
    scale_region(o, p)
    scale_region(o + 32, (q, n * 2))
    optional_region(o + 64, None)
    optional_region(o + 96, 0)


@triton.jit
def with_other_parts(o, n):
    scale_region(o, (n,))


@triton.jit
def with_pointers(o, rows, any, nodes, matrix, factor):
    pointers_region(o, rows, any, nodes, matrix, factor)


@pytest.mark.every_triton(1)
def test_a_kernel_passes_a_struct_as_a_tuple_and_a_null_pointer_as_none():
    o = np.zeros(128, np.float32)
    with_structs[(1,)](o, namedtuple("S", "n a")(4, 1.25), 1.5, 3, num_warps=1)
    np.testing.assert_array_equal(o.reshape(4, 32), [5 + np.arange(32), 9 + np.arange(32), np.ones(32), np.ones(32)])


@pytest.mark.one_triton
def test_a_kernel_passes_a_pointer_of_any_dtype_to_a_pointer_to_anything():
    a, nodes = np.random.rand(64).astype("f4"), np.zeros(8, "f4")
    rows = np.array([a.ctypes.data, a.ctypes.data + 128], np.int64)
    o = np.zeros(32, np.float32)
    with_pointers[(1,)](o, rows, a, nodes, a, np.ones(1, "f4"), num_warps=1)
    np.testing.assert_allclose(o, a[32:].astype("f8") * 2 + a[0], rtol=1e-6)


@pytest.mark.one_triton
def test_a_tuple_with_other_parts_is_an_error_at_the_call():
    with pytest.raises(Exception) as caught:
        with_other_parts[(1,)](np.zeros(32, "f4"), 3, num_warps=1)
    error = cause_of(caught.value)
    assert isinstance(error, ArgumentTypeError) and error.table[0].got == "1 value"
    assert "scale_region" in str(error)


TEMPLATES = """
template <class T, T V> struct integral { static constexpr T value = V; };
typedef integral<bool, true> yes;
namespace n {
enum Mode : char { First, Second };
struct None {};
template <class T> struct Iterator { T* p; int n; };
template <class I> struct Accessor { Mode mode; [[no_unique_address]] None none; const I it; const float* more; };
template <int i, class T, bool = __is_empty(T)> struct leaf { T value; };
template <int i, class T> struct leaf<i, T, true> : T {};
template <class A, class B, class C> struct tuple : leaf<0, A>, leaf<1, B>, leaf<2, C> {};
}
template <class R> __global__ void constant(float* o, R r) { o[threadIdx.x] = r.value; }
template <class R> __global__ void accessor(float* o, R r) {
  o[threadIdx.x] = r.it.p[threadIdx.x] * r.it.n + r.mode + (r.more ? r.more[1] : 0);
}
template <class A, class B, class C> __global__ void tuples(float* o, n::tuple<A, B, C> r) {
  o[threadIdx.x] = r.n::template leaf<0, A>::value * r.n::template leaf<2, C>::value.p[threadIdx.x];
}
"""


def of_template(symbol):
    return tle_raw.fragment(TEMPLATES, dialect="cuda", symbol=symbol)


@pytest.mark.every_triton(1)
def test_structs_of_templates_are_found_however_the_compiler_spells_them():
    o, x, more = np.zeros(32, "f4"), np.random.rand(32).astype("f4"), np.array([1, 0.25], "f4")
    of_template("constant<yes>").as_kernel(block=32)[(1,)](o, ())
    np.testing.assert_array_equal(o, 1)
    accessor = of_template("accessor<n::Accessor<n::Iterator<const float>>>").as_kernel(block=32)
    accessor[(1,)](o, {"mode": 1, "it": {"n": 3, "p": x}, "more": more})
    np.testing.assert_allclose(o, x.astype("f8") * 3 + 1.25, rtol=1e-6)


@pytest.mark.every_triton(1)
def test_bases_of_one_template_have_names_of_their_own():
    o, x = np.zeros(32, "f4"), np.random.rand(32).astype("f4")
    tuples = of_template("tuples<int, n::None, n::Iterator<float>>").as_kernel(block=32)
    tuples[(1,)](o, {"leaf1": {"value": (x, 0)}, "leaf": {"value": 3}})
    np.testing.assert_allclose(o, x.astype("f8") * 3, rtol=1e-6)


OVERLOADS = """
namespace a { namespace b {
struct color { float x, y; };
template <class T> struct of {};
__global__ static void clear(color* o, const int3 dim, const color value = {0, 0}) { o[dim.z * threadIdx.x] = value; }
__global__ static void clear(float* o, const int3 dim, const float value) { o[dim.z * threadIdx.x] = value; }
__global__ void clear(const float* const* o, float* const, of<color>) {}
}}
"""


@pytest.mark.one_triton
@pytest.mark.parametrize("written", [
    "a::b::color*, const int3, const a::b::color", "::a::b::color *, int3, struct a::b::color const",
])  # fmt: skip
def test_an_overload_is_chosen_whatever_the_spelling_of_its_types(written):
    o = np.zeros((32, 2), "f4")
    clear = tle_raw.fragment(OVERLOADS, dialect="cuda", symbol=f"a::b::clear({written})")
    clear.as_kernel(block=32)[(1,)](o, (0, 0, 1), (2.5, 3))
    np.testing.assert_array_equal(o, [(2.5, 3)] * 32)


@pytest.mark.one_triton
def test_overloads_are_compared_without_what_does_not_choose_them():
    known = functions(OVERLOADS)
    chosen = choose_function("a::b::clear(float*, int3, float)", known)
    assert chosen.function is known[1]
    assert choose_function("a::b::clear(const float* const*, float*, a::b::of<b::color>)", known).function is known[2]
    for other in (
        "float**, float*, a::b::of<a::b::color>",
        "c::color*, int3, a::b::color",
        "const float*, int3, float",
    ):
        with pytest.raises(SymbolError, match="takes"):
            choose_function(f"a::b::clear({other})", known)


DEVICE = """
namespace c10 { struct alignas(2) Half { unsigned short x; }; }
struct Part { double b[2]; const float* more; };
struct Shape { float a; int n; Part part; bool is_on; };
struct Plus { __device__ float operator()(float x) const { return x + 1; } };
__device__ float place(float x, Shape s, float2 v, Plus plus, c10::Half h, const Shape* all, const float& last) {
  const float more = s.part.more ? s.part.more[1] : 0;
  return s.is_on ? plus(x * s.a + s.n + s.part.b[1] + v.y) + more + h.x + all[1].n + last : 0;
}
"""
place_region = tle_raw.fragment(DEVICE, dialect="cuda", symbol="place")


@triton.jit
def with_device_structs(o, x, a, n, more, half, every, last):
    value = place_region(tl.load(x), (a, n, ((1.0, 2.0), more), True), (3.0, 4.0), (), half.to(tl.float16), every, last)
    tl.store(o, value)


@pytest.mark.every_triton(1)
def test_a_device_function_takes_structs_by_value_too():
    o, x, last = np.zeros(1, "f4"), np.full(1, 2, "f4"), np.full(1, 0.25, "f4")
    half = float(np.array(3, np.uint16).view(np.float16))
    every = np.zeros((2, 10), np.int32)  # 40 bytes each
    every[1, 1] = 11
    with_device_structs[(1,)](o, x, 1.5, 7, np.arange(4, dtype="f4"), half, every, last, num_warps=1)
    np.testing.assert_array_equal(o, 2 * 1.5 + 7 + 2 + 4 + 1 + 1 + 3 + 11 + 0.25)


@pytest.mark.one_triton
def test_structs_of_a_device_function_are_registers_on_a_gpu():
    types = {"o": "*fp32", "x": "*fp32", "a": "fp32", "n": "i32", "more": "*fp32", "half": "fp16", "every": "*i32"}
    compiled = compile_kernel(with_device_structs, {**types, "last": "*fp32"}, num_warps=1)
    assert ".local" not in compiled.asm["ptx"] and not ptx_calls(compiled)


DUMP = """
*** Dumping AST Record Layout
         0 | struct P
         0 |   struct Base (base)
         0 |     int rank
         8 |   const float *const x
        16 |   union P::(anonymous at k.cu:3:5)
        16 |     float f
        16 |     long i
        24 |   struct Q[2] q
           | [sizeof=40, dsize=40, align=8,
           |  nvsize=40, nvalign=8]

*** Dumping AST Record Layout
         0 | struct Base
         0 |   int rank
           | [sizeof=4, dsize=4, align=4,
           |  nvsize=4, nvalign=4]

*** Dumping AST Record Layout
         0 | struct Q
         0 |   unsigned char c
         4 |   enum Kind k
           | [sizeof=8, dsize=8, align=4,
           |  nvsize=8, nvalign=4]
"""


@pytest.mark.one_triton
def test_layouts_are_read_from_the_compilers_dump():
    node = Layouts(DUMP).struct("P")
    found = [(".".join(leaf.path), leaf.offset, str(leaf.type)) for leaf in leaves(node)]
    assert found == [
        ("Base.rank", 0, "i32"), ("x", 8, "const f32*"), ("union16.0", 16, "u64"), ("q.0.c", 24, "u8"),
        ("q.0.k", 28, "i32"), ("q.1.c", 32, "u8"), ("q.1.k", 36, "i32"),
    ]  # fmt: skip
    assert from_data(to_data(node)) == node
