"""CUDA fragments where there is no clang: NVRTC compiles them, and they are inlined all the same; LTO-IR, too."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ptx_calls
from tle_raw import Element, InOut, Pointer, Scalar, Tile
from tle_raw.adapters.cuda import adapter
from tle_raw.errors import CompilationFailed, LinkError, ToolchainError, UnsupportedFeatureError
from tle_raw.flir.cpu.run_fragment import run_fragment
from tle_raw.linker.tools.nvidia_libraries import NVJITLINK, NVRTC, find_library, run_nvrtc

pytestmark = [
    pytest.mark.every_triton(2),
    pytest.mark.skipif(find_library(NVRTC) is None, reason="NVRTC is not installed"),
]

SUMS = """
template <class T, int N>
__device__ float sums(tle::tile<T, N> t, const float* g, int n, bool twice, __half h) {
  __shared__ float part[4];
  float s = 0;
  for (int i : t.indices()) s += t[i] *= g[i] + n;
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = part[0] + part[1] + part[2] + part[3];
  return twice ? s * 2 : s + float(h);
}
"""


FIND = adapter.find_toolchain


@pytest.fixture(autouse=True)
def no_clang(monkeypatch):
    def nothing():
        raise ToolchainError("no clang was found", hint="pip install ziglang")

    monkeypatch.setattr(adapter, "find_toolchain", nothing)


def sums(
    t: InOut[Tile["T", "N"]], g: Pointer["f32"], n: Scalar["i32"], twice: Scalar["i1"], h: Scalar["f16"]
) -> Scalar["f32"]: ...


@pytest.mark.parametrize("twice", [False, True])
def test_a_block_function(twice):
    fragment = tle_raw.fragment(SUMS, dialect="cuda", signature=sums)
    compiled = fragment.compile("cpu", T="f32", N=256)
    assert compiled.route == "nvrtc" and "nvrtc" in compiled.compiler
    t, g = np.random.default_rng(4).standard_normal((2, 256)).astype("f4")
    tile, result = run_fragment(compiled, {"t": t, "g": g, "n": 3, "twice": twice, "h": 2.5})
    wanted = t.astype("f8") * (g + 3.0)
    np.testing.assert_allclose(tile, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(result, wanted.sum() * 2 if twice else wanted.sum() + 2.5, rtol=1e-4)


@pytest.mark.parametrize("capability", [80, 90])
def test_a_kernel_for_gpus(capability):
    fragment = tle_raw.fragment(SUMS, dialect="cuda", signature=sums)

    @triton.jit
    def kernel(x, g, n, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tile, total = fragment(tl.load(x + offsets), g, n, True, 1.0)
        tl.store(x + offsets, tile + total)

    compiled = compile_kernel(kernel, {"x": "*fp32", "g": "*fp32", "n": "i32"}, {"N": 256}, capability)
    assert compiled.asm["ptx"].count(".entry") == 1 and not ptx_calls(compiled)
    assert "ld.global" in compiled.asm["ptx"] and "ld.b32" not in compiled.asm["ptx"]  # pointers keep their space


def test_elements_that_are_updated():
    def update(x: InOut[Element["f32"]], y: Element["i64"]): ...

    fragment = tle_raw.fragment(
        "__device__ void update(float& x, long y) { x = x / 3 + y; }", dialect="cuda", signature=update
    )
    x, y = np.random.default_rng(4).standard_normal(77).astype("f4"), np.arange(77)
    got = run_fragment(fragment.compile("cpu"), {"x": x, "y": y})[0]
    np.testing.assert_allclose(got, x / 3 + y, rtol=1e-6)


@pytest.mark.one_triton
def test_what_nvrtc_refuses_is_at_the_users_line():
    def f(x: Element["f32"]) -> Element["f32"]: ...

    def refused(text, stub=f, **options):
        with pytest.raises(tle_raw.TLEError) as caught:
            tle_raw.fragment(text, dialect="cuda", signature=stub, **options).compile("cuda:90")
        return caught.value

    error = refused("__device__ float f(float x) {\n  return y;\n}")
    assert isinstance(error, CompilationFailed) and "return y" in error.context.source.text
    error = refused("__device__ float f(double x) { return x; }")
    assert isinstance(error, CompilationFailed) and "signature" in error.message
    assert isinstance(refused("__device__ float f(float x) { return x; }", flags=["-O1"]), UnsupportedFeatureError)
    assert "clang" in str(refused("__global__ void f(float* x) { *x = 1; }"))


@pytest.mark.one_triton
def test_what_clang_made_before_does_where_nvrtc_does_not(monkeypatch):
    """In a cache that comes from a machine with clang."""

    def tripled(x: Element["f32"]) -> Element["f32"]: ...

    def compiled():
        text = "__device__ float tripled(float x) { return 3 * x; }"
        return tle_raw.fragment(text, dialect="cuda", signature=tripled, flags=["-O1"]).compile("cuda:90")

    with pytest.raises(UnsupportedFeatureError):
        compiled()
    with monkeypatch.context() as here:
        here.setattr(adapter, "find_toolchain", FIND)
        assert not compiled().cache_hit
    found = compiled()
    assert found.cache_hit and "clang" in found.compiler


@pytest.mark.one_triton
def test_llvm_ir_as_a_library():
    def f(x: Element["f32"]) -> Element["f32"]: ...

    text = "define float @thrice(float %x) {\n  %y = fmul float %x, 3.0\n  ret float %y\n}\n"
    calling = 'extern "C" __device__ float thrice(float);\n__device__ float f(float x) { return thrice(x) + 1; }'
    fragment = tle_raw.fragment(calling, dialect="cuda", signature=f, libraries=[text.encode()])
    x = np.random.default_rng(4).standard_normal(77).astype("f4")
    np.testing.assert_allclose(run_fragment(fragment.compile("cpu"), {"x": x})[0], 3 * x + 1, rtol=1e-6, atol=1e-6)
    assert not fragment.compile("cuda:90").kept_calls


@pytest.mark.one_triton
@pytest.mark.skipif(find_library(NVJITLINK) is None, reason="nvJitLink is not installed")
def test_lto_ir_as_a_library():
    def f(x: Element["f32"]) -> Element["f32"]: ...

    text = """
    __device__ float helper(float x, int i) { return x * i + 1; }
    extern "C" __device__ float sum_of(float x, int n) {
      float s = 0;
      for (int i = 0; i < n; ++i) s += helper(x, i);
      return s;
    }
    """
    data = run_nvrtc(text, ["-arch=sm_80", "-dlto", "-rdc=true"], lto=True).data
    calling = 'extern "C" __device__ float sum_of(float, int);\n__device__ float f(float x) { return sum_of(x, 5); }'
    fragment = tle_raw.fragment(calling, dialect="cuda", signature=f, libraries=[data])
    x = np.random.default_rng(4).standard_normal(77).astype("f4")
    np.testing.assert_allclose(run_fragment(fragment.compile("cpu"), {"x": x})[0], 10 * x + 5, rtol=1e-5, atol=1e-5)
    compiled = fragment.compile("cuda:90")
    assert dict(compiled.linked) == {"sum_of": "a library in memory"} and not compiled.kept_calls
    for damaged in (data[:300], data[:16] + bytes(len(data) - 16)):
        with pytest.raises(LinkError, match=r"nvJitLink|defined nowhere"):
            tle_raw.fragment(calling, dialect="cuda", signature=f, libraries=[damaged]).compile("cuda:90")


@pytest.mark.one_triton
@pytest.mark.skipif(find_library(NVJITLINK) is None, reason="nvJitLink is not installed")
def test_lto_ir_that_cannot_be_read_is_told_as_such():
    def f(x: Element["f32"]) -> Element["f32"]: ...

    text = (
        'extern "C" { __device__ float (*volatile held)(float); __device__ float of_held(float x) { return held(x); } }'
    )
    data = run_nvrtc(text, ["-arch=sm_80", "-dlto", "-rdc=true"], lto=True).data
    calling = 'extern "C" __device__ float of_held(float);\n__device__ float f(float x) { return of_held(x); }'
    with pytest.raises(LinkError, match=r"is LTO-IR, and of the PTX .* a call through a register") as caught:
        tle_raw.fragment(calling, dialect="cuda", signature=f, libraries=[data]).compile("cuda:90")
    assert "<PTX>" not in str(caught.value)
