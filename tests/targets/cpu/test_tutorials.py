"""The kernels of samples/triton_on_cpu run on the CPU, on torch tensors and NumPy arrays, and match float64."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.started import run_python
from tle_raw import knobs

pytestmark = pytest.mark.every_triton(2)

torch = pytest.importorskip("torch")
SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "triton_on_cpu"
FILES = sorted(file.stem for file in SAMPLES.glob("[0-9][0-9]_*.py"))
ROUNDING = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-24, "float64": 2**-53}


def _load_arrays() -> ModuleType:
    spec = importlib.util.spec_from_file_location("arrays", SAMPLES / "arrays.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["arrays"] = module  # the samples import it by this name
    spec.loader.exec_module(module)
    return module


arrays = _load_arrays()


@pytest.fixture(autouse=True)
def on_the_cpu() -> Iterator[None]:
    with knobs.scope():
        knobs.target = "cpu"
        yield


def sample(name: str) -> ModuleType:
    path = list(sys.path)
    try:
        return arrays.load(name)
    finally:
        sys.path[:] = path


vector_add, softmax, matmul, dropout, layer_norm, attention, grouped = map(sample, FILES)


def random(*shape: int, dtype: str = "float32", kind: str = "torch", seed: int = 0) -> Any:
    """Normal numbers, rounded to ``dtype``."""
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))
    return tensor.numpy() if kind == "numpy" else tensor


KINDS = pytest.mark.parametrize("kind", ["torch", "numpy"])


def is_right(got: Any, want: np.ndarray, relative: float, absolute: float) -> None:
    assert arrays.largest_share(got, want, relative, absolute) <= 1


def test_the_samples_are_the_tutorials():
    assert [file[:2] for file in FILES] == ["01", "02", "03", "04", "05", "06", "08"]


@pytest.mark.one_triton
def test_a_sample_checks_itself():
    done = run_python(SAMPLES / "01_vector_add.py")
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr


# 01: vector add


@KINDS
@pytest.mark.parametrize("n", [1, 31, 1024, 100_003])
def test_vector_add(n: int, kind: str):
    x, y = random(n, kind=kind), random(n, kind=kind, seed=1)
    is_right(vector_add.add(x, y), arrays.double(x) + arrays.double(y), 2**-24, 2**-149)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("block", [16, 4096])
def test_vector_add_of_every_float(dtype: str, block: int):
    x, y = random(1000, dtype=dtype), random(1000, dtype=dtype, seed=1)
    is_right(vector_add.add(x, y, block), arrays.double(x) + arrays.double(y), ROUNDING[dtype], 2**-24)


@KINDS
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_vector_add_of_integers_wraps_around(dtype: str, kind: str):
    limits = np.iinfo(dtype)
    x, y = (np.random.default_rng(s).integers(limits.min, limits.max, 777, dtype, endpoint=True) for s in (0, 1))
    got = vector_add.add(*(torch.from_numpy(a) if kind == "torch" else a for a in (x, y)), block=128)
    assert np.array_equal(np.asarray(got), x + y)


def test_vector_add_of_tensors_that_begin_anywhere():
    x, y = random(1001)[1:], random(1003, seed=1)[3:]
    out = vector_add.add(x, y, out=torch.empty(1007)[7:])
    is_right(out, arrays.double(x) + arrays.double(y), 2**-24, 2**-149)


# 02: softmax


@KINDS
@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 7), (130, 781), (5, 4096)])
def test_softmax(rows: int, columns: int, kind: str):
    x = random(rows, columns, kind=kind) * 4
    is_right(softmax.softmax(x), softmax.reference(x), 1e-5, 1e-9)


@pytest.mark.parametrize("programs", [1, 2, 1000])
def test_softmax_with_any_number_of_programs(programs: int):
    x = random(33, 65)
    is_right(softmax.softmax(x, programs), softmax.reference(x), 1e-5, 1e-9)


def test_softmax_of_rows_that_lie_apart():
    x = random(40, 200)[:, 3:100]
    is_right(softmax.softmax(x), softmax.reference(x), 1e-5, 1e-9)


def test_softmax_of_very_large_numbers_and_of_minus_infinity():
    x = random(4, 50) * 1e4
    x[1, ::2] = -float("inf")
    is_right(softmax.softmax(x), softmax.reference(x), 1e-3, 1e-9)


# 03: matrix product


@KINDS
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("M, N, K", [(1, 1, 1), (64, 64, 64), (129, 67, 45), (33, 200, 300)])
def test_matmul(M: int, N: int, K: int, dtype: str, kind: str):
    a, b = random(M, K, dtype=dtype, kind=kind), random(K, N, dtype=dtype, kind=kind, seed=1)
    is_right(matmul.matmul(a, b), matmul.reference(a, b), 2 * ROUNDING[dtype], 1e-6 * K)


@pytest.mark.one_triton
@pytest.mark.parametrize("blocks", [(16, 16, 16, 1), (32, 128, 64, 4), (128, 32, 16, 8)])
def test_matmul_in_blocks_of_any_size(blocks: tuple[int, int, int, int]):
    a, b = random(150, 70), random(70, 110, seed=1)
    is_right(matmul.matmul(a, b, blocks=blocks), matmul.reference(a, b), 1e-6, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_matmul_with_an_activation(dtype: str):
    a, b = random(65, 40, dtype=dtype), random(40, 65, dtype=dtype, seed=1)
    want = matmul.reference(a, b, "leaky_relu")
    is_right(matmul.matmul(a, b, "leaky_relu"), want, 2 * ROUNDING[dtype], 1e-5)


@KINDS
def test_matmul_of_transposed_matrices(kind: str):
    a, b = random(40, 70, kind=kind).T, random(50, 40, kind=kind, seed=1).T
    is_right(matmul.matmul(a, b), matmul.reference(a, b), 1e-6, 1e-5)


# 04: dropout


@KINDS
@pytest.mark.parametrize("n, p, seed", [(1, 0.5, 3), (4099, 0.1, 2**31 - 1), (70_001, 0.9, 5 << 32 | 7)])
def test_dropout_drops_what_philox_says(n: int, p: float, seed: int, kind: str):
    x = random(n, kind=kind)
    is_right(dropout.dropout(x, p, seed), dropout.reference(x, p, seed), 1e-6, 1e-12)


def test_dropout_with_one_seed_is_the_same_in_any_blocks():
    x = random(5000)
    assert torch.equal(dropout.dropout(x, 0.3, 11, block=64), dropout.dropout(x, 0.3, 11, block=2048))


# 05: layer norm


@KINDS
@pytest.mark.parametrize("rows, columns, block", [(1, 7, 0), (37, 512, 128), (20, 1151, 256), (5, 1, 0)])
def test_layer_norm(rows: int, columns: int, block: int, kind: str):
    x = random(rows, columns, kind=kind) * 2.3 - 0.5
    weight, bias = random(columns, kind=kind, seed=1), random(columns, kind=kind, seed=2)
    out, mean, rstd = layer_norm.layer_norm(x, weight, bias, block=block)
    is_right(out, layer_norm.reference(x, weight, bias), 1e-5, 1e-5)
    is_right(mean, arrays.double(x).mean(axis=1), 1e-5, 1e-6)
    is_right(rstd, 1 / np.sqrt(arrays.double(x).var(axis=1) + 1e-5), 1e-5, 0)


@pytest.mark.one_triton
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layer_norm_of_small_floats(dtype: str):
    x, weight, bias = random(30, 300, dtype=dtype), random(300, dtype=dtype, seed=1), random(300, dtype=dtype, seed=2)
    out, _, _ = layer_norm.layer_norm(x, weight, bias)
    is_right(out, layer_norm.reference(x, weight, bias), 1.01 * ROUNDING[dtype], 1e-5)


@KINDS
@pytest.mark.parametrize("rows, columns, groups", [(1, 7, 1), (64, 100, 8), (151, 300, 4), (500, 64, 2)])
def test_layer_norm_backward_with_partial_sums_behind_locks(rows: int, columns: int, groups: int, kind: str):
    x, dout = random(rows, columns, kind=kind), random(rows, columns, kind=kind, seed=1)
    weight, bias = random(columns, kind=kind, seed=2), random(columns, kind=kind, seed=3)
    _, mean, rstd = layer_norm.layer_norm(x, weight, bias)
    got = layer_norm.layer_norm_backward(dout, x, weight, mean, rstd, groups)
    for g, w in zip(got, layer_norm.backward_reference(dout, x, weight), strict=True):
        is_right(g, w, 1e-4, 1e-5 * rows**0.5)


# 06: attention


@KINDS
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1, 16), (1, 2, 64, 32), (2, 3, 77, 64), (1, 1, 257, 16)])
def test_attention(shape: tuple[int, ...], causal: bool, kind: str):
    q, k, v = (random(*shape, kind=kind, seed=s) for s in range(3))
    out, lse = attention.attention(q, k, v, causal)
    want, want_lse = attention.reference(q, k, v, causal)
    is_right(out, want, 1e-5, 1e-5)
    is_right(lse, want_lse, 1e-5, 1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("blocks", [(16, 16), (128, 64), (32, 128)])
def test_attention_in_blocks_of_any_size(blocks: tuple[int, int], causal: bool):
    q, k, v = (random(1, 2, 150, 32, dtype="float16", seed=s) for s in range(3))
    out, _ = attention.attention(q, k, v, causal, blocks=blocks)
    is_right(out, attention.reference(q, k, v, causal)[0], 2e-3, 2e-3)


@pytest.mark.one_triton
def test_attention_of_heads_that_lie_between_each_other():
    """Batch x length x heads x width, seen as batch x heads x length x width."""
    q, k, v = (random(2, 50, 3, 32, seed=s).transpose(1, 2) for s in range(3))
    out, _ = attention.attention(q, k, v, causal=True, scale=0.3)
    is_right(out, attention.reference(q, k, v, True, 0.3)[0], 1e-5, 1e-5)


# 08: grouped matrix products

ODD = [(33, 65, 17), (1, 1, 1), (128, 96, 64), (70, 3, 200)]
EVEN = [(33, 64, 16), (8, 8, 8), (128, 96, 64), (70, 24, 200)]


@KINDS
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("descriptors", [False, True], ids=["pointers", "descriptors"])
def test_grouped_products(descriptors: bool, dtype: str, kind: str):
    sizes = EVEN if descriptors else ODD
    pairs = [
        (random(m, k, dtype=dtype, kind=kind, seed=i), random(k, n, dtype=dtype, kind=kind, seed=i + 9))
        for i, (m, n, k) in enumerate(sizes)
    ]
    for (a, b), c in zip(pairs, grouped.grouped_matmul(pairs, descriptors=descriptors), strict=True):
        is_right(c, arrays.double(a) @ arrays.double(b), 2 * ROUNDING[dtype], 2e-4)


@pytest.mark.parametrize("programs", [1, 3, 100])
def test_grouped_products_with_any_number_of_programs(programs: int):
    pairs = [(random(m, k, seed=i), random(k, n, seed=i + 9)) for i, (m, n, k) in enumerate(ODD)]
    for (a, b), c in zip(pairs, grouped.grouped_matmul(pairs, programs), strict=True):
        is_right(c, arrays.double(a) @ arrays.double(b), 1e-6, 2e-4)
