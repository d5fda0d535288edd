"""Device functions that nvcc's headers have and clang's lack."""

import numpy as np
import pytest

import tle_raw
from tests.support import ptx_calls

# Each statement, what its PTX must hold, and the first GPU that has it.
FUNCTIONS = [
    ("f[0] = __tanhf(f[1]);", "tanh.approx.f32", 80),
    ("__prof_trigger(3);", "pmevent", 80),
    ('f[2] = nanf("");', "2143289344", 80),
    ('u[7] = __double_as_longlong(nan(""));', "9221120237041090560", 80),
    ("u[4] = __ldcg(u + 1);", "ld.global.cg.u64", 80),
    ("u[5] = __ldcs(u + 1);", "ld.global.cs.u64", 80),
    ("u[6] = __ldcv(u + 1);", "ld.global.cv.u64", 80),
    ("u[0] = __ldca(u + 1);", "ld.global.ca.u64", 80),
    ("u[0] = __ldlu(u + 1);", "ld.global.lu.u64", 80),
    ("__stwt(u, u[1]);", "st.global.wt.u64", 80),
    ("__stwt((long*)u, (long)u[1]);", "st.global.wt.u64", 80),
    ("__stwb(u, u[1]);", "st.global.wb.u64", 80),
    ("__stcg(u, u[1]);", "st.global.cg.u64", 80),
    ("__stcs(f, f[1]);", "st.global.cs.u32", 80),
    ("w[0] = atomicExch(w + 1, w[2]);", "atom.relaxed.gpu.exch.b128", 90),
    ("w[0] = atomicCAS_system(w + 1, w[2], w[3]);", "atom.relaxed.sys.cas.b128", 90),
    ("p[0] = __ffma2_rn(p[1], p[2], p[3]);", "fma.rn.f32x2", 100),
]
HEAD = """struct alignas(16) Wide { long long a, b; };
__global__ void k(float* f, unsigned long* u, float2* p, Wide* w) {
"""


@pytest.mark.one_triton
@pytest.mark.parametrize("capability", [80, 90, 100])
def test_each_is_its_instruction(capability):
    chosen = [(text, words) for text, words, first in FUNCTIONS if first <= capability]
    source = HEAD + "".join(f"  {text}\n" for text, _ in chosen) + "}\n"
    compiled = tle_raw.fragment(source, dialect="cuda", symbol="k").as_kernel(block=32).compile(f"cuda:{capability}")
    assert not ptx_calls(compiled) and compiled.asm["cubin"]
    lines = compiled.asm["ptx"].replace(".b64", ".u64").replace(".b32", ".u32")
    missing = [words for _, words in chosen if words not in lines]
    assert not missing


CLASSES = """__global__ void k(int* o, const float* f, const double* d) {
  int i = threadIdx.x;
  o[4 * i] = __isfinitef(f[i]) != 0; o[4 * i + 1] = __isinfd(d[i]) != 0;
  o[4 * i + 2] = __isnand(d[i]) != 0; o[4 * i + 3] = __signbit(d[i]) != 0;
}"""


@pytest.mark.one_triton
def test_classes_of_numbers_are_numpys():
    x = np.array([0, -0.0, 1.5, -2, np.inf, -np.inf, np.nan, 1e30] * 4)
    o = np.zeros((32, 4), np.int32)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        kernel = tle_raw.fragment(CLASSES, dialect="cuda", symbol="k").as_kernel(block=32)
        kernel[(1,)](o.reshape(-1), x.astype("f4"), x)
    np.testing.assert_array_equal(o.T, [np.isfinite(x), np.isinf(x), np.isnan(x), np.signbit(x)])
