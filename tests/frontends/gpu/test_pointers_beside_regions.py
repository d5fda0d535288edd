"""A region works in a buffer that pointers point into: barriers on both sides, and its memory stays its own."""

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.support import compile_kernel, ptx_calls
from tle_raw import Buffer, InOut, Scalar
from tle_raw.knobs import knobs


@tle_raw.dialect(
    "cuda",
    source="""
extern "C" __device__ void twice(float* b, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] *= 2;
}
""",
)
def twice(b: InOut[Buffer["f32", "N"]], n: Scalar["i32"]): ...


@triton.jit
def doubled(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.float32)
    tl.store(tle.gpu.local_ptr(a, (N - 1 - i,)), tl.load(x + i))
    twice(a, N)
    for j in range(n):
        tl.store(tle.gpu.local_ptr(a, (i ^ 1,)), tl.load(tle.gpu.local_ptr(a, (i,))) + j)
        twice(a, N)
    tl.store(o + i, tl.load(tle.gpu.local_ptr(a, (i ^ 3,))))


def test_a_region_and_pointers_share_a_buffer():
    kernel = compile_kernel(doubled, {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"N": 256})
    assert not ptx_calls(kernel) and kernel.metadata.shared == 256 * 4
    # on both sides of both calls, and between the loop's load and its store
    assert len(re.findall(r"bar\.sync", kernel.asm["ptx"])) == 5


@pytest.mark.parametrize("debug", [False, True])
def test_the_numbers(debug):
    pytest.importorskip("torch_mlir.ir")
    x, o, i = np.random.default_rng(0).random(256, np.float32), np.zeros(256, np.float32), np.arange(256)
    with knobs.scope():
        knobs.target, knobs.debug = "cpu", debug
        doubled[(1,)](x, o, 3, N=256)
    want = x[::-1].astype(np.float64) * 2
    for j in range(3):
        want = (want[i ^ 1] + j) * 2
    np.testing.assert_allclose(o, want[i ^ 3], rtol=1e-6)
