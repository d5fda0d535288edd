"""PTX functions compute what the CUDA C++ computes that they come from: on the CPU, on random numbers."""

import numpy as np
import pytest

import tle_raw
from tle_raw import Element, InOut, Pointer, Scalar, Tile
from tle_raw.flir.cpu.run_fragment import run_fragment

pytestmark = pytest.mark.every_triton(2)

# A name, its dtype, and the body of a function of x.
ELEMENTS = [
    ("loops", "f32", "float s = 0; for (int i = 0; i < 7; ++i) s = s * x + 1.f / (x * x + i + 1); return s;"),
    ("branches", "f32", "if (x > 1.f) return x * 2; if (x < -1.f) return -x; return x == 0.f ? 3.f : x / 3.f;"),
    ("functions", "f32", "return sinf(x) + expf(-x * x) + sqrtf(fabsf(x)) + fmaxf(x, 0.25f) + floorf(x);"),
    ("bits", "i32", "unsigned u = x; return (u >> (x & 31)) ^ (u << 3) ^ __popc(u) ^ __clz(x) ^ __brev(u) ^ (x >> 5);"),
    ("wide", "i32", "long long y = (long long)x * 1234567891; return (int)(y >> 20) + (int)(y % 1000) + x / 7;"),
    ("high", "i64", "return (long long)__umul64hi(x, 0x123456789abcdefull) + (x << 5) - (x / 12345);"),
    ("doubles", "f64", "return fma(x, x, 1.0) / (1.0 + fabs(x)) + sqrt(x * x + 2.0) + (double)(float)x;"),
    ("bytes", "i8", "signed char y = x + 3; return (signed char)(y * 5 - (y >> 2));"),
    ("flags", "i32", "bool a = x > 5, b = x < 1000, c = (x & 1); return (a && b) + 2 * (a ^ c) + 4 * (!b || c);"),
    ("arrays", "i32", "int a[8] = {}; for (int i = 0; i < 8; ++i) a[(i * x) & 7] = i + x; int s = 0;"
                      "for (int i = 0; i < 8; ++i) s = s * 3 + a[(i + x) & 7]; return x ? s : 1;"),
]  # fmt: skip
CXX = {"f32": "float", "f64": "double", "i32": "int", "i64": "long long", "i8": "signed char"}


@pytest.mark.parametrize(("name", "dtype", "body"), ELEMENTS, ids=[e[0] for e in ELEMENTS])
def test_an_element_function(ptx_of, name, dtype, body):
    cxx = CXX[dtype]
    source = f'extern "C" __device__ {cxx} f({cxx} x) {{ {body} }}'

    def f(x: Element[dtype]) -> Element[dtype]: ...

    x = _numbers(dtype)
    wanted = run_fragment(tle_raw.fragment(source, dialect="cuda", signature=f).compile("cpu"), {"x": x})[0]
    got = run_fragment(tle_raw.fragment(ptx_of(source), dialect="ptx", signature=f).compile("cpu"), {"x": x})[0]
    if dtype.startswith("f"):
        np.testing.assert_allclose(got, wanted, rtol=1e-6 if dtype == "f32" else 1e-14, atol=1e-6)
    else:
        np.testing.assert_array_equal(got, wanted)


def _numbers(dtype):
    random = np.random.default_rng(11)
    if dtype.startswith("f"):
        return (random.standard_normal(333) * 3).astype({"f32": "f4", "f64": "f8"}[dtype])
    info = np.iinfo({"i8": "i1", "i32": "i4", "i64": "i8"}[dtype])
    return random.integers(info.min, info.max, 333, dtype=info.dtype, endpoint=True)


SUM = """
__device__ float scale_of(float x, int n) { return x / n; }
__device__ unsigned calls = 5;
__constant__ float offset[2] = {0.5f, 2.f};
extern "C" __device__ float sums(float* t, const float* g, int n, bool twice) {
  __shared__ float part[4];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += t[i] * g[i];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = (part[0] + part[1] + part[2] + part[3]) * offset[1];
  for (int i = threadIdx.x; i < n; i += blockDim.x) t[i] = scale_of(s, n) + offset[0];
  float4 v = reinterpret_cast<const float4*>(g)[1];
  return twice ? s * 2 + v.z : s + calls;
}
"""


@pytest.mark.parametrize("twice", [False, True])
def test_a_block_function_with_shared_memory_and_variables(ptx_of, twice):
    def sums(t: InOut[Tile["f32", "N"]], g: Pointer["f32"], n: Scalar["i32"], twice: Scalar["i1"]) -> Scalar["f32"]: ...

    compiled = tle_raw.fragment(ptx_of(SUM), dialect="ptx", signature=sums).compile("cpu", N=256)
    assert compiled.uses_barrier and [size for _, size, _ in compiled.static_shared] == [16]
    t, g = np.random.default_rng(3).standard_normal((2, 256)).astype("f4")
    tile, result = run_fragment(compiled, {"t": t, "g": g, "n": 201, "twice": twice})
    total = 2 * (t[:201].astype("f8") * g[:201]).sum()
    np.testing.assert_allclose(result, total * 2 + g[6] if twice else total + 5, rtol=1e-5)
    np.testing.assert_allclose(tile[:201], total / 201 + 0.5, rtol=1e-5)
    np.testing.assert_array_equal(tile[201:], t[201:])


CARRY = """
.version 7.8
.target sm_80
.address_size 64
.visible .func (.param .b64 result) add128(.param .b64 low, .param .b64 high) {
  .reg .b64 %a<6>;
  .reg .pred %p<3>;
  ld.param.u64 %a1, [low];
  ld.param.u64 %a2, [high];
  add.cc.u64 %a3, %a1, %a1;
  addc.u64 %a4, %a2, %a2;
  setp.lt.s64 %p1, %a4, 0;
  { .reg .b64 %a3; mov.b64 %a3, 7; @!%p1 add.s64 %a4, %a4, %a3; bra done; done: }
  st.param.b64 [result], %a4;
  ret;
}
"""


def test_the_carry_predicates_and_inner_braces():
    def add128(low: Element["i64"], high: Element["i64"]) -> Element["i64"]: ...

    fragment = tle_raw.fragment(CARRY, dialect="ptx", signature=add128)
    assert fragment.compile("cuda:80").entry
    low, high = np.random.default_rng(2).integers(-(2**62), 2**62, (2, 99), dtype="i8", endpoint=True)
    sums = 2 * high + (low < 0)
    got = run_fragment(fragment.compile("cpu"), {"low": low, "high": high})[0]
    np.testing.assert_array_equal(got, np.where(sums < 0, sums, sums + 7))
