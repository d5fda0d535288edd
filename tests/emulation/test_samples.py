"""The fragments of samples 01 to 06 run on the CPU from the same sources, against NumPy."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.emulation.tables import run

pytestmark = pytest.mark.every_triton(2)

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
RNG = np.random.default_rng(0)
erf = np.vectorize(math.erf)


def sample(path: str):
    spec = importlib.util.spec_from_file_location(Path(path).stem, SAMPLES / path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(SAMPLES))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SAMPLES))
    return module


def test_01_vector_add():
    module = sample("01_vector_add/vector_add.py")
    a, b = (RNG.standard_normal(1001).astype("f2") for _ in range(2))
    for first in (0, 1):  # a slice that half2 does not fit
        c = np.zeros_like(a)
        run(module.add_pairs, a=a[first:], b=b[first:], c=c[first:], start=0, stop=999)
        np.testing.assert_array_equal(c[first : first + 999], (a + b)[first : first + 999])
        assert not c[first + 999 :].any()
    np.testing.assert_array_equal(run(module.add_one, a=a, b=b), a + b)


@pytest.mark.one_triton
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_02_softmax(warps):
    x = 4 * RNG.standard_normal((4, 128)).astype("f4")
    x[1, 50:] = -np.inf
    y = run(sample("02_softmax/softmax.py").softmax_rows, num_warps=warps, names={"M": 4, "N": 128}, t=x)
    power = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, power / power.sum(1, keepdims=True), rtol=1e-5, atol=1e-9)


@pytest.mark.one_triton
def test_03_matmul_epilogue():
    module = sample("03_matmul_epilogue/matmul.py")
    x, bias = RNG.standard_normal((64, 64)).astype("f4"), RNG.standard_normal(100).astype("f2")
    y = run(module.bias_gelu_tile, names={"M": 64, "N": 64}, t=x, bias=bias, first=36, columns=90)
    z = x[:, :54] + bias[36:90].astype("f8")
    np.testing.assert_allclose(y[:, :54], 0.5 * z * (1 + erf(z * 2**-0.5)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(y[:, 54:], x[:, 54:])
    z = x.astype("f8") + 1
    got = run(module.bias_gelu, x=x, bias=np.float32(1))
    np.testing.assert_allclose(got, 0.5 * z * (1 + erf(z * 2**-0.5)), rtol=1e-5, atol=1e-6)


@pytest.mark.one_triton
@pytest.mark.parametrize(("warps", "n"), [(4, 1024), (2, 256)])
def test_04_topk(warps, n):
    fragment = sample("04_topk/topk.py").block_topk
    x = RNG.integers(-50, 50, n).astype("f4")
    names = {"THREADS": 32 * warps, "N": n, "K": 32}
    values, indices = run(fragment, num_warps=warps, names=names, keys=x)
    order = np.argsort(-x, kind="stable")[:32]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, x[order])


@pytest.mark.one_triton
@pytest.mark.parametrize("kind", ["f8e4m3", "u8"])
def test_05_fp8_quantise(kind):
    torch = pytest.importorskip("torch")
    module = sample("05_fp8_quantise/quantise.py")
    x = (RNG.standard_normal((8, 512)) * np.logspace(-6, 3, 8)[:, None]).astype("f4")
    x[4, :256], x[-1, -1] = 0, -0.0
    q, scales = run(module.quantise, names={"M": 8, "N": 512, "G": 4, "Q": kind}, x=x)
    wanted, wanted_scales = module.reference(torch.from_numpy(x))
    np.testing.assert_array_equal(scales, wanted_scales.numpy())
    np.testing.assert_array_equal(q, wanted.view(torch.uint8).numpy())


@pytest.mark.parametrize("columns", [512, 256, 333, 1000])
def test_06_raw_producer(columns):
    fragment = sample("06_raw_producer/gather.py").gather_rows
    table, index = RNG.standard_normal((100, columns)).astype("f2"), RNG.integers(0, 100, 50).astype("i4")
    values = {"table": table, "index": index, "count": 11, "first_column": 0, "columns": columns}
    got = run(fragment, names={"M": 16, "N": 512}, **values)
    expected, n = np.zeros((16, 512), "f2"), min(columns, 512)
    expected[:11, :n] = table[index[:11]][:, :n]
    np.testing.assert_array_equal(got, expected)
