"""Fragments called in kernels: everywhere a Triton function can be called, down to cubin."""

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, ptx_calls, report_of, ttgir_lines
from tle_raw import Const, Element, InOut, Out, Pointer, Scalar, Tile

pytestmark = pytest.mark.every_triton(3)

SOURCE = r"""
#include <tle_raw/tile.h>

template <typename T, int M, int N>
__device__ void reverse2(tle::tile<T, M, N> t) {
  for (int i = threadIdx.x; i < t.size() / 2; i += blockDim.x) {
    T other = t[t.size() - 1 - i];
    t[t.size() - 1 - i] = t[i];
    t[i] = other;
  }
}

template <typename T, int M>
__device__ void reverse(tle::tile<T, M> t) {
  for (int i = threadIdx.x; i < M / 2; i += blockDim.x) {
    T other = t[M - 1 - i];
    t[M - 1 - i] = t[i];
    t[i] = other;
  }
}

template <typename T, int M>
__device__ T first(tle::tile<T, M> t) { return t[0]; }

template <int M>
__device__ void iota(tle::tile<float, M> o, int n) {
  for (int i = threadIdx.x; i < M; i += blockDim.x) o[i] = i + n;
}

template <typename T, int M, int K>
__device__ float split(tle::tile<T, M> a, tle::tile<T, M> b) {
  for (int i = threadIdx.x; i < M; i += blockDim.x) b[i] = a[i] * K;
  return K;
}

extern "C" __device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
extern "C" __device__ int block_size() { return blockDim.x; }
extern "C" __device__ void bump(float* p, long long n) { if (threadIdx.x == 0) p[n] += 1; }
"""


def cuda(stub):
    return tle_raw.dialect("cuda", source=SOURCE)(stub)


@cuda
def reverse2(t: InOut[Tile["T", "M", "N"]]): ...


@cuda
def reverse(t: InOut[Tile["T", "M"]]): ...


@cuda
def first(t: Tile["T", "M"]) -> Scalar["T"]: ...


@cuda
def iota(o: Out[Tile["f32", "M"]], n: Scalar["i32"]): ...


@cuda
def split(a: InOut[Tile["T", "M"]], b: Out[Tile["T", "M"]], k: Const["K"]) -> Scalar["f32"]: ...


@cuda
def gelu(x: Element["f32"]) -> Element["f32"]: ...


@cuda
def block_size() -> Scalar["i32"]: ...


@cuda
def bump(p: InOut[Pointer["f32"]], n: Scalar["i64"]): ...


VECTOR = {"x": "*fp32", "o": "*fp32", "n": "i32"}


@triton.jit
def helper(v):
    return reverse(v)


@triton.jit
def in_control_flow(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    if n > 3:
        v = helper(v)
    else:
        v = reverse(v)
        v = reverse(v)
    while n > 0:
        v = helper(v)
        n -= 1
    for _ in tl.static_range(2):
        v = reverse(v)
    for _ in tl.range(0, n, loop_unroll_factor=2):
        v = helper(v)
    tl.store(o + i, v)


@triton.jit
def with_outputs(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v, w, s = split(tl.load(x + i), 5)
    z = iota(n, shape=(B,)) + iota(n, M=B)
    tl.store(o + i, v + w + s + z + gelu(v) + first(v) + block_size())
    bump(o, n.to(tl.int64))


@triton.jit
def beside_triton(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    v = reverse(v) + tl.sort(v) + tl.cumsum(reverse(v), 0) + tl.histogram(i, B)
    tl.atomic_add(o + i, v, mask=i < n)


@triton.jit
def pipelined(x, o, n, B: tl.constexpr, WHAT: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(n):
        a = tl.load(x + k * B + i[:, None] * n * B + i[None, :])
        b = tl.load(x + k * B * B + i[:, None] * B + i[None, :])
        if WHAT == "operand":
            a = reverse2(a)
        if WHAT == "accumulator":
            acc = reverse2(acc)
        acc = tl.dot(a, b, acc)
    tl.store(o + i[:, None] * B + i[None, :], reverse2(acc))


@triton.jit
def with_descriptors(x, o, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, B])
    target = tl.make_tensor_descriptor(o, [n, n], [n, 1], [B, B])
    for i in range(0, n, B):
        target.store([i, 0], reverse2(source.load([i, 0])))


@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("kernel", [in_control_flow, with_outputs, beside_triton], ids=lambda k: k.__name__)
def test_a_region_is_inlined_wherever_it_is_called(kernel, capability):
    compiled = compile_kernel(kernel, VECTOR, {"B": 256}, capability)
    report = report_of(compiled, machine_code=capability == 90)
    assert report.one_kernel, report
    assert report.ptx_calls == () and not report.sass_calls
    assert all(region.inlined for region in report.regions)


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16, 32])
def test_any_number_of_warps_works(num_warps):
    compiled = compile_kernel(in_control_flow, VECTOR, {"B": 64}, num_warps=num_warps)
    assert ptx_calls(compiled) == []
    assert f".reqntid {num_warps * 32}" in compiled.asm["ptx"]


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_tma_descriptors_stand_beside_regions(capability):
    compiled = compile_kernel(with_descriptors, VECTOR, {"B": 32}, capability)
    assert ptx_calls(compiled) == []


@pytest.mark.parametrize("what", ["operand", "accumulator"])
def test_a_region_leaves_the_loop_pipelined(what):
    half = {"x": "*fp16", "o": "*fp32", "n": "i32"}
    compiled = compile_kernel(pipelined, half, {"B": 64, "WHAT": what}, num_stages=3)
    assert ptx_calls(compiled) == []
    assert ttgir_lines(compiled, "async_copy_global_to_local")


@pytest.mark.parametrize("dtype", ["i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f8e4m3", "f8e5m2"])
def test_integer_and_fp8_tiles_of_every_dtype_compile(dtype):
    name = {"f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5"}.get(dtype, dtype)  # as Triton's kernel signatures spell it
    compiled = compile_kernel(reversed_copy, {"x": f"*{name}", "o": f"*{name}"}, {"B": 256})
    assert ptx_calls(compiled) == []


@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32", "fp64"])
def test_float_tiles_of_every_dtype_compile(name):
    assert ptx_calls(compile_kernel(reversed_copy, {"x": f"*{name}", "o": f"*{name}"}, {"B": 64})) == []


@triton.jit
def reversed_copy(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, reverse(tl.load(x + i)))


# --- FlagTree's names --------------------------------------------------------------------------------------------


@triton.jit
def flagtree_calls(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    both = tle_raw.call(split, [v, 5], output_indices=None)
    a = tle_raw.call(reverse, [v], output_indices=[0])
    tle_raw.call(reverse, [v], [])
    tle_raw.call_smem(reverse, [v], [])
    c = tle_raw.call(reverse, outputs=[v], inputs=[])
    tl.store(o + i, both[0] + a + c)


@triton.jit
def flagtree_old_form(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tle_raw.call_smem(edsl, [tl.load(x + i)], [o, n]))


@tle_raw.dialect(
    name="cuda",
    source=r"""
#define SHARED __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))
extern "C" __device__ void scale(SHARED float* allocated, SHARED float* aligned, long long offset, long long size,
                                 long long stride, GLOBAL float* p, int n) {
  for (int i = threadIdx.x; i < size; i += blockDim.x) aligned[offset + i * stride] *= p[0] + n;
  __syncthreads();
}
""",
    extern_func_name="scale",
)
def edsl(*args, **kwargs): ...


@pytest.mark.parametrize("kernel", [flagtree_calls, flagtree_old_form], ids=lambda k: k.__name__)
def test_flagtrees_forms_of_the_call_work(kernel):
    assert ptx_calls(compile_kernel(kernel, VECTOR, {"B": 128})) == []


# --- bad calls ---------------------------------------------------------------------------------------------------


@triton.jit
def pointer_for_tile(x, o, n):
    reverse(x)


@triton.jit
def tile_for_pointer(x, o, n):
    bump(tl.load(x + tl.arange(0, 64)), 3)


@triton.jit
def too_many(x, o, n):
    iota(n, n, n, M=64)


@triton.jit
def unknown_keyword(x, o, n):
    iota(m=n, M=64)


@triton.jit
def no_shape(x, o, n):
    iota(n)


@triton.jit
def odd_shape(x, o, n):
    iota(n, shape=(48,))


@triton.jit
def two_shapes(x, o, n):
    iota(n, shape=((64,), (64,)))


@triton.jit
def runtime_constant(x, o, n):
    split(tl.load(x + tl.arange(0, 64)), n)


@triton.jit
def wrong_rank(x, o, n):
    reverse2(tl.load(x + tl.arange(0, 64)))


@triton.jit
def wrong_dtype(x, o, n):
    iota(tl.load(x), M=64)


@triton.jit
def untyped_called_directly(x, o, n):
    edsl(x)


@triton.jit
def output_that_is_none(x, o, n):
    tle_raw.call(first, [tl.load(x + tl.arange(0, 64))], output_indices=[0])


@triton.jit
def call_of_no_fragment(x, o, n):
    tle_raw.call(helper, [x])


@triton.jit
def descriptor_for_tile(x, o, n):
    reverse(tl.make_tensor_descriptor(x, [n, n], [n, 1], [16, 16]))


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        (pointer_for_tile, "ArgumentTypeError", "a pointer where a tile belongs"),
        (tile_for_pointer, "ArgumentTypeError", "a tile where a pointer belongs"),
        (too_many, "ArgumentCountError", "takes 1 argument, got 3"),
        (unknown_keyword, "ArgumentCountError", "takes no argument `m`"),
        (no_shape, "ShapeError", "how large the Out tile `o` is"),
        (odd_shape, "ShapeError", "powers of two"),
        (two_shapes, "ArgumentCountError", "one shape for each Out tile"),
        (runtime_constant, "ArgumentTypeError", "a scalar where a constant belongs"),
        (wrong_rank, "ShapeError", "rank 1, the signature says rank 2"),
        (wrong_dtype, "ArgumentTypeError", "another dtype"),
        (untyped_called_directly, "CallError", "no typed signature"),
        (output_that_is_none, "ArgumentCountError", "names no parameter"),
        (call_of_no_fragment, "ArgumentTypeError", "takes a fragment first"),
        (descriptor_for_tile, "ArgumentTypeError", "where a tile belongs"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_wrong_call_is_a_named_error_inside_tritons(kernel, error, words):
    with pytest.raises(triton.compiler.errors.CompilationError) as caught:
        compile_kernel(kernel, VECTOR)
    cause = cause_of(caught.value)
    assert type(cause).__name__ == error
    assert words in str(cause) and words in str(caught.value)
    assert isinstance(cause, tle_raw.TLEError)


def test_a_fragment_called_on_the_host_says_what_it_is():
    with pytest.raises(tle_raw.errors.RegionError, match="only inside a @triton\\.jit kernel"):
        gelu(1.0)
