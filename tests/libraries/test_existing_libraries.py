"""Libraries that exist, described by the samples' manifests: packed, and right without a compiler."""

from pathlib import Path

import pytest

from tests.libraries.conftest import NO_CLANG
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import read_manifest

pytestmark = pytest.mark.one_triton
SAMPLES = Path(__file__).parents[2] / "samples" / "libraries"
LIBDEVICE = """
import math
from statistics import NormalDist
import numpy as np, triton, triton.language as tl, tle_raw
from device_math import erfcx, normcdfinv
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def kernel(x, y, z, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, erfcx(tl.load(x + at)))
    tl.store(z + at, normcdfinv(tl.load(x + at)))

for dtype, tolerance in ((np.float32, 3e-7), (np.float64, 1e-15)):
    x = np.linspace(0.01, 0.99, 64).astype(dtype)
    y, z = np.zeros_like(x), np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernel[(1,)](x, y, z, 64)
    exact = [float(v) for v in x]
    np.testing.assert_allclose(y, [math.exp(v * v) * math.erfc(v) for v in exact], rtol=8 * tolerance)
    np.testing.assert_allclose(z, [NormalDist().inv_cdf(v) for v in exact], rtol=8 * tolerance, atol=tolerance)
types = {"x": "*fp64", "y": "*fp64", "z": "*fp64", "N": "constexpr"}
print(tle_raw.report(triton.compile(ASTSource(kernel, types, {"N": 64}), target=GPUTarget("cuda", 90, 32))))
"""
CURAND = """
import numpy as np, triton, triton.language as tl, tle_raw
from device_random import normal, uniform

@triton.jit
def kernel(u, n, seed, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    zero = at.to(tl.uint64) * 0
    tl.store(u + at, uniform(seed.to(tl.uint64) + zero, at.to(tl.uint64), zero))
    tl.store(n + at, normal(seed.to(tl.uint64) + zero, at.to(tl.uint64), zero))

u, n = np.zeros(4096, np.float32), np.zeros(4096, np.float32)
with tle_raw.knobs.scope() as knobs:
    knobs.target = "cpu"
    kernel[(4,)](u, n, 2**40 + 7, 1024)
assert 0 < u.min() and u.max() <= 1 and abs(u.mean() - 0.5) < 0.02 and np.unique(u).size > 4000
assert abs(n.mean()) < 0.06 and abs(n.std() - 1) < 0.05
print("random")
"""


def test_libdevice(program, tmp_path):
    out = pack(read_manifest(SAMPLES / "libdevice.toml"), tmp_path / "out").folder
    told = program(LIBDEVICE, out, **NO_CLANG)
    assert "device_math 1.0.0, cuda:80" in told and "0 PTX and 0 " in told


def test_curand(program, tmp_path):
    pytest.importorskip("nvidia.curand", reason="needs pip install nvidia-curand-cu12")
    out = pack(read_manifest(SAMPLES / "curand.toml"), tmp_path / "out").folder
    assert "random" in program(CURAND, out, **NO_CLANG)
