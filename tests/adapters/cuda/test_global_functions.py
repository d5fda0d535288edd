"""__global__ functions as regions: what their prototypes tell, and their numbers on the CPU."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, ptx_calls, report_of
from tle_raw import InOut, Pointer, Scalar, Tile
from tle_raw.errors import (
    CompilationFailed,
    DialectError,
    RegionError,
    SignatureError,
    SignatureMismatchError,
    SymbolError,
    UnsupportedFeatureError,
)

pytestmark = pytest.mark.every_triton(3)

KERNELS = r"""
#include <cuda_fp16.h>

typedef unsigned int uint_t;
using real = double;

__device__ int global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void __launch_bounds__(128) saxpy(float a, const float* __restrict__ x, float* y, int n) {
  const int i = global_index();
  if (i >= n) return;  // ends the region, not the kernel
  y[i] = a * x[i] + y[i];
}

namespace ops {
template <class T, int N> __global__ void scale(T* __restrict__ x, const T* __restrict__ y, uint_t n, bool twice) {
  const uint_t i = global_index();
  if (i < n) x[i] = y[i] * T(N) * T(twice ? 2 : 1);
}
}  // namespace ops

__global__ void types(__half h, const __half* hs, real* d, long long l, unsigned char c, const float4* v, short s) {
  if (threadIdx.x == 0 && blockIdx.x == 0) d[0] = (double)__half2float(h) + __half2float(hs[1]) + l + c + v[1].y + s;
}

#define TILE 16
__global__ void transpose(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

__device__ float* scratch() {
  extern __shared__ float memory[];
  return memory;
}

__global__ void reverse(float* x) {
  extern __shared__ double wide[];
  float* s = scratch();
  if (threadIdx.x == 0) wide[blockDim.x / 2] = 3;
  s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + (float)wide[blockDim.x / 2];
}

__global__ void block_of(int* out, int* extent) {
  if (threadIdx.x == 0) out[blockIdx.x * 100 + blockIdx.y] += 1;
  if (extent && threadIdx.x == 0) extent[0] = gridDim.x;
}

#define KERNEL extern "C" __global__
KERNEL void hidden(float* x) { x[threadIdx.x] += 1; }

__device__ float half_of(float x) { return x / 2; }

// The host's part of the same file.
void launch() { saxpy<<<1, 128>>>(1.0f, nullptr, nullptr, 1); }
"""


@pytest.fixture(autouse=True)
def on_cpu():
    """Numbers are those of the CPU, on a machine with a GPU too."""
    tle_raw.knobs.target = "cpu"
    yield
    del tle_raw.knobs.target


def of(symbol: str, **options):
    return tle_raw.fragment(KERNELS, dialect="cuda", symbol=symbol, **options)


saxpy = of("saxpy")


@tle_raw.dialect("cuda", source=KERNELS, symbol="ops::scale<double, 3>")
def scale(*args, **kwargs): ...


types = of("types")
transpose = of("transpose", block=(16, 16))
reverse = of("reverse", shared=1024)
half_of = of("half_of")
row_of = of("block_of", grid={"x": "row", "gridDim.x": "rows"})
swapped = of("block_of", grid={"blockIdx.x": 1, "blockIdx.y": 0})
no_extent = of("block_of", grid={"x": "row"})


@tle_raw.dialect("cuda", source=KERNELS)
def hidden(x: InOut[Pointer["f32"]]): ...


@tle_raw.dialect("cuda", source=KERNELS, symbol="hidden")
def hidden_tile(x: InOut[Tile["f32", "N"]]): ...


@triton.jit
def saxpy_kernel(a, x, y, n):
    saxpy(a, x, y, n)
    tl.store(y + n, 7.0)  # after the threads that returned early


@triton.jit
def scale_kernel(x, y, n: "u32", twice: "i1"):
    scale(x, y, n, twice)


@triton.jit
def types_kernel(h: "fp16", hs, d, n: "i64", c: "u8", v, s: "i16"):
    types(h, hs, d, n, c, v, s)


@triton.jit
def transpose_kernel(out, x, rows, columns):
    transpose(out, x, rows, columns)


@triton.jit
def reverse_kernel(x):
    reverse(x)


@triton.jit
def half_kernel(x, out):
    tl.store(out, half_of(tl.load(x)))


@triton.jit
def rows_kernel(out, extent):
    for row in range(3):
        row_of(out, extent, row, 55)


@triton.jit
def swapped_kernel(out, extent):
    swapped(out, extent)


@triton.jit
def no_extent_kernel(out, extent):
    no_extent(out, extent, 1)


@triton.jit
def hidden_kernel(x):
    hidden(x)


@triton.jit
def hidden_tile_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, hidden_tile(tl.load(x + i) * 2))


def test_signatures_are_read_from_the_prototypes():
    assert str(saxpy.signature) == "saxpy(a: Scalar[f32], x: Pointer[f32], y: InOut[Pointer[f32]], n: Scalar[i32])"
    assert str(scale.signature) == ("scale(x: InOut[Pointer[f64]], y: Pointer[f64], n: Scalar[u32], twice: Scalar[i1])")
    assert str(types.signature) == (
        "types(h: Scalar[f16], hs: Pointer[f16], d: InOut[Pointer[f64]], l: Scalar[i64], c: Scalar[u8], "
        "v: Pointer[f32], s: Scalar[i16])"
    )
    assert str(half_of.signature) == "half_of(x: Scalar[f32]) -> Scalar[f32]"
    assert str(row_of.signature).endswith("extent: InOut[Pointer[i32]], row: Scalar[i32], rows: Scalar[i32])")


@pytest.mark.one_triton
def test_an_early_return_ends_the_region_and_not_the_kernel():
    x, y = np.random.rand(1001).astype(np.float32), np.random.rand(1001).astype(np.float32)
    expected = 2.5 * x.astype(np.float64) + y
    saxpy_kernel[(8,)](2.5, x, y, 1000)
    np.testing.assert_allclose(y[:1000], expected[:1000], rtol=1e-6)
    assert y[1000] == 7


@pytest.mark.one_triton
def test_a_template_is_instantiated_by_its_symbol():
    x, y = np.zeros(300), np.random.rand(300)
    scale_kernel[(3,)](x, y, 257, True)
    np.testing.assert_array_equal(x[:257], y[:257] * 6)
    assert not x[257:].any()


@pytest.mark.one_triton
def test_numbers_of_every_kind_cross():
    hs, d, v = np.array([0, 1.5], np.float16), np.zeros(1), np.arange(8, dtype=np.float32)
    types_kernel[(1,)](0.25, hs, d, 2**40, 200, v, -3)
    assert d[0] == 0.25 + 1.5 + 2**40 + 200 + 5 - 3


@pytest.mark.one_triton
@pytest.mark.parametrize("shape", [(16, 16), (33, 47)])
def test_a_block_of_two_dims_with_static_shared_memory(shape):
    x = np.random.rand(*shape).astype(np.float32)
    out = np.zeros((shape[1], shape[0]), np.float32)
    grid = (triton.cdiv(shape[1], 16), triton.cdiv(shape[0], 16))
    transpose_kernel[grid](out, x, *shape, num_warps=8)
    np.testing.assert_array_equal(out, x.T)


def test_dynamic_shared_memory_has_the_stated_size():
    x = np.random.rand(512).astype(np.float32)
    expected = x.reshape(4, 128)[:, ::-1] + 3  # wide[64] lies over s[128] and s[129], behind what is reversed
    reverse_kernel[(4,)](x)
    np.testing.assert_allclose(x.reshape(4, 128), expected, rtol=1e-6)


@pytest.mark.one_triton
def test_a_device_function_gives_its_result():
    x, out = np.array([3], np.float32), np.zeros(1, np.float32)
    half_kernel[(1,)](x, out)
    assert out[0] == 1.5


@pytest.mark.one_triton
def test_block_indices_come_from_the_call():
    out, extent = np.zeros(400, np.int32), np.zeros(1, np.int32)
    rows_kernel[(1, 2)](out, extent)
    expected = np.zeros(400, np.int32)
    expected[[0, 100, 200, 1, 101, 201]] = 1
    np.testing.assert_array_equal(out, expected)
    assert extent[0] == 55


@pytest.mark.one_triton
def test_block_indices_come_from_other_axes():
    out, extent = np.zeros(400, np.int32), np.zeros(1, np.int32)
    swapped_kernel[(2, 3)](out, extent)
    np.testing.assert_array_equal(np.flatnonzero(out), [0, 1, 100, 101, 200, 201])
    assert extent[0] == 3


def test_an_extent_that_nobody_gives_is_refused():
    with pytest.raises(Exception) as error:
        no_extent_kernel[(1,)](np.zeros(400, np.int32), np.zeros(1, np.int32))
    found = cause_of(error.value)
    assert isinstance(found, UnsupportedFeatureError) and "gridDim.x" in found.message


@pytest.mark.one_triton
def test_a_kernel_behind_a_macro_is_a_kernel():
    x = np.random.rand(128).astype(np.float32)
    expected = x + 1
    hidden_kernel[(1,)](x)
    np.testing.assert_array_equal(x, expected)


def test_a_tile_is_memory_of_a_kernel():
    x, out = np.random.rand(128).astype(np.float32), np.zeros(128, np.float32)
    hidden_tile_kernel[(1,)](x, out, N=128)
    np.testing.assert_array_equal(out, x * 2 + 1)


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(
    "kernel, types_, options",
    [
        (saxpy_kernel, {"a": "fp32", "x": "*fp32", "y": "*fp32", "n": "i32"}, {}),
        (scale_kernel, {"x": "*fp64", "y": "*fp64", "n": "u32", "twice": "i1"}, {}),
        (types_kernel, {"h": "fp16", "hs": "*fp16", "d": "*fp64", "n": "i64", "c": "u8", "v": "*fp32", "s": "i16"}, {}),
        (transpose_kernel, {"out": "*fp32", "x": "*fp32", "rows": "i32", "columns": "i32"}, {"num_warps": 8}),
        (reverse_kernel, {"x": "*fp32"}, {}),
        (rows_kernel, {"out": "*i32", "extent": "*i32"}, {}),
        (hidden_kernel, {"x": "*fp32"}, {}),
    ],
)
def test_kernels_are_inlined_into_one(kernel, types_, options, capability):
    compiled = compile_kernel(kernel, types_, capability=capability, **options)
    report = report_of(
        compiled, machine_code=kernel in (saxpy_kernel, types_kernel, hidden_kernel) and capability == 90
    )
    assert not ptx_calls(compiled) and report.one_kernel
    assert all(region.inlined for region in report.regions)


def test_dynamic_shared_memory_is_tritons():
    compiled = compile_kernel(reverse_kernel, {"x": "*fp32"})
    report = tle_raw.report(compiled)
    assert report.regions[0].dynamic_shared == 1024 and report.static_shared == 0
    assert "st.shared" in compiled.asm["ptx"] and "st.global" in compiled.asm["ptx"]


def refused(source: str, symbol: str = "k", **options):
    fragment = tle_raw.fragment(source, dialect="cuda", symbol=symbol, **options)
    return fragment.compile("cuda:90")


BAD = [
    ("\n__global__ void other(float* x) {}", SymbolError, "no function `k`", 0),
    ("\n__global__ void k(float* x) { x[0] = y; }", CompilationFailed, "undeclared identifier 'y'", 2),
    ("\nstruct P { virtual void f(); };\n__global__ void k(P p) {}", SignatureError, "parameter `p`", 3),
    ("\n__global__ void k(int (*x)(int)) {}", SignatureError, "parameter `arg0`", 2),
    ("\ntexture<float, 2> t;\n__global__ void k(float* x) {}", UnsupportedFeatureError, "texture", 2),
    ("\n__global__ void k(int* x) {}\n__global__ void k(float* x) {}", SymbolError, "ambiguous", 2),
    ("\ntemplate <class T> __global__ void k(T* x) {}", SymbolError, "template", 2),
    ("\n__global__ void c(int*);\n__global__ void k(int* x) {\n  c<<<1, 2>>>(x);\n}", UnsupportedFeatureError,
     "launch of `c`", 4),
    ("\ntemplate <class T> __global__ void c(T*) {}\ntemplate <class T> __device__ void g(T* x) {\n  c<T><<<1, 2>>>(x);"
     "\n}\n__global__ void k(int* x) { g(x); }", UnsupportedFeatureError, "launch of `c`", 4),
    ("\n__global__ void k(int* x) {\n  cudaLaunchKernel((void*)0, 1, 1, 0, 0, 0);\n}", UnsupportedFeatureError,
     "cudaLaunchKernel", 3),
    ("\n__global__ void k(float* x) {\n  extern __shared__ float s[];\n  x[0] = s[threadIdx.x];\n}",
     UnsupportedFeatureError, "extern __shared__", 2),
    ("#include <nowhere.h>\n__global__ void k(float* x) { *x = nowhere(); }", CompilationFailed, "nowhere.h", 1),
    ("\n__global__ void k(float* x);", SymbolError, "declared and not defined", 2),
    ("\n__device__ __noinline__ float f() { extern __shared__ float s[]; return s[threadIdx.x]; }\n"
     "__global__ void k(float* x) { x[0] = f(); }", UnsupportedFeatureError, "f()", 3),
]  # fmt: skip


@pytest.mark.one_triton
@pytest.mark.parametrize("source, kind, message, line", BAD)
def test_bad_input_is_named_at_its_line(tmp_path, source, kind, message, line):
    file = tmp_path / "k.cu"
    file.write_text(source)
    options = {"shared": 64} if "__noinline__" in source else {}
    with pytest.raises(kind) as error:
        tle_raw.fragment(file, symbol="k", **options).compile("cuda:90")
    assert message in str(error.value)
    if line:
        assert error.value.context.source.line == line, error.value


def test_a_signature_that_does_not_fit_is_shown_beside_the_function():
    @tle_raw.dialect("cuda", source=KERNELS, symbol="saxpy")
    def wrong(a: Scalar["f64"], x: Pointer["f32"], y: Scalar["i32"]): ...

    with pytest.raises(SignatureMismatchError) as error:
        wrong.compile("cuda:90")
    assert [row.what for row in error.value.table if row.differs] == ["a", "y", "n"]


def test_a_block_that_is_no_launch_is_refused():
    with pytest.raises(RegionError, match="another size") as error:
        compile_kernel(transpose_kernel, {"out": "*fp32", "x": "*fp32", "rows": "i32", "columns": "i32"}, num_warps=4)
    assert "num_warps=8" in error.value.hint


@pytest.mark.parametrize(
    "options", [{"grid": 3}, {"grid": {"w": 0}}, {"grid": {"x": 3}}, {"grid": {"x": "a b"}}, {"shared": -1},
                {"shared": 1.5}, {"shared": True}]
)  # fmt: skip
def test_options_of_kernels_are_checked(options):
    with pytest.raises(DialectError):
        of("saxpy", **options)


def test_options_of_kernels_are_refused_for_device_functions():
    with pytest.raises(DialectError, match="__global__"):
        of("half_of", shared=16).compile("cuda:90")


def test_an_edited_prototype_is_read_again(tmp_path):
    file = tmp_path / "k.cu"
    file.write_text("__global__ void k(float* x) { x[0] = 1; }")
    fragment = tle_raw.fragment(file, symbol="k")
    assert fragment.compile("cuda:90").instructions > 0
    file.write_text("__global__ void k(float* x, double y) { x[0] = y; }")
    assert fragment.refresh()
    assert str(fragment.signature) == "k(x: InOut[Pointer[f32]], y: Scalar[f64])"
    assert fragment.compile("cuda:90").instructions > 0
