"""Functions of one file that a kernel calls are compiled at once, and what is wrong with one harms no other."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import cause_of, compile_kernel, ptx_calls
from tle_raw import Element, InOut, Scalar, Tile
from tle_raw.adapters.cuda import adapter
from tle_raw.errors import TLEError

pytestmark = pytest.mark.every_triton(2)

SOURCE = """
__device__ int helper(int x) { return x * 7; }
__device__ float add_one(float x) { return x + 1; }
__device__ float times(float x, float y) { return x * y + (float)helper(2); }
__device__ int count(int x) { return helper(x) + 3; }
__device__ void fill(tle::tile<float, 64> t, int n) { for (int i : t.indices()) t[i] += n; __syncthreads(); }
"""


def add_one(x: Element["f32"]) -> Element["f32"]: ...
def times(x: Element["f32"], y: Element["f32"]) -> Element["f32"]: ...
def count(x: Element["i32"]) -> Element["i32"]: ...
def fill(t: InOut[Tile["f32", 64]], n: Scalar["i32"]): ...


@pytest.fixture
def runs(monkeypatch):
    """How often the compiler was started."""
    started = []
    compiler = adapter.compile_unit
    monkeypatch.setattr(adapter, "compile_unit", lambda *given, **rest: started.append(1) or compiler(*given, **rest))
    return started


def declared(path, text, *stubs):
    path.write_text(text)
    return [tle_raw.fragment(path, signature=stub) for stub in stubs]


def test_one_compilation_for_a_kernel(tmp_path, runs):
    one, two, three, four = declared(tmp_path / "several.cu", SOURCE, add_one, times, count, fill)

    @triton.jit
    def kernel(x, N: tl.constexpr):
        offsets = tl.arange(0, N)
        v = tl.load(x + offsets)
        v = two(one(v), v) + three(tl.arange(0, N))
        tl.store(x + offsets, four(v, N))

    compiled = compile_kernel(kernel, {"x": "*fp32"}, {"N": 64})
    assert len(runs) == 1 and not ptx_calls(compiled)
    x = np.random.default_rng(2).standard_normal(64).astype("f4")
    wanted = (x.astype("f8") + 1) * x + 14 + np.arange(64) * 7 + 3 + 64
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        kernel[(1,)](x, 64)
    np.testing.assert_allclose(x, wanted, rtol=1e-6)
    assert len(runs) == 2


@pytest.mark.one_triton
def test_a_function_that_is_wrong_is_named_and_the_others_compile(tmp_path, runs):
    text = SOURCE + "template <class T> __device__ T wrong(T x) { return x.nothing; }\n"

    def wrong(x: Element["f32"]) -> Element["f32"]: ...

    one, bad = declared(tmp_path / "several.cu", text, add_one, wrong)

    @triton.jit
    def kernel(x, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(x + offsets, one(bad(tl.load(x + offsets))))

    with pytest.raises(Exception) as caught:
        compile_kernel(kernel, {"x": "*fp32"}, {"N": 64})
    error = cause_of(caught.value)
    assert isinstance(error, TLEError) and error.context.fragment == "wrong"
    assert one.compile("cuda:90").entry
