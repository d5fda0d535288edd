"""Reductions and scans, with cuTile's functions and with those of the user."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np
import pytest
import torch

from tests.adapters.cutile.tiles import compile_for_gpu, run

pytestmark = pytest.mark.every_triton(1)


def tile(*shape, dtype=torch.float32, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).uniform(-5, 5, shape)).to(dtype)


def reduced(x):
    return (
        ct.sum(x, axis=1),
        ct.max(x, axis=0),
        ct.min(x, axis=1, keepdims=True),
        ct.prod(x, axis=1),
        ct.argmax(x, axis=1),
        ct.argmin(x, axis=0),
        ct.sum(x),
        ct.max(x, axis=(0, 1)),
    )


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64]
)
def test_reductions(dtype):
    x = tile(8, 16, dtype=dtype) if dtype in (torch.int32, torch.int64) else (tile(8, 16) / 3).to(dtype)
    i32 = torch.int32
    wanted = [x.double().sum(1), x.amax(0), x.amin(1, keepdim=True), x.double().prod(1)]
    wanted += [x.double().argmax(1), x.double().argmin(0), x.double().sum(), x.max()]
    likes = [torch.empty(w.shape, dtype=dtype if k not in (4, 5) else i32) for k, w in enumerate(wanted)]
    tolerance = {torch.float16: 2e-2, torch.bfloat16: 1.5e-1, torch.float32: 1e-5}.get(dtype, 1e-12)
    for found, expected in zip(run(reduced, x, results=likes), wanted):
        torch.testing.assert_close(found.double(), expected.double(), rtol=tolerance, atol=tolerance * 10)


def scanned(x):
    return ct.cumsum(x, axis=1), ct.cumsum(x, axis=0, reverse=True), ct.cumprod(x, axis=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_scans(dtype):
    x = tile(8, 16, dtype=dtype)
    d = x.double()
    wanted = [d.cumsum(1), d.flip(0).cumsum(0).flip(0), d.cumprod(1)]
    if dtype == torch.int32:
        wanted = [
            w.round().to(torch.int64).to(torch.int32) for w in (x.cumsum(1), x.flip(0).cumsum(0).flip(0), x.cumprod(1))
        ]
    for found, expected in zip(run(scanned, x, results=[x] * 3), wanted):
        torch.testing.assert_close(found.double(), expected.double(), rtol=1e-5, atol=1e-4)


def own_functions(x, y):
    largest = ct.reduce(x, 1, lambda a, b: ct.maximum(ct.abs(a), ct.abs(b)), 0.0)
    total, weight = ct.reduce((x, y), 0, lambda a, c, b, d: (a + b * 1.0, c + d * 2.0 - d), (0.0, 0.0))
    slope, offset = ct.scan((x, y), 1, lambda a, b, c, d: (a * c, b * c + d), (1.0, 0.0))
    return largest, total, weight, slope, offset


def test_functions_of_the_user():
    x, y = tile(4, 16) / 4, tile(4, 16, seed=1)
    likes = [x[:, 0], x[0], x[0], x, x]
    largest, total, weight, slope, offset = run(own_functions, x, y, results=likes)
    a, b = x.double(), y.double()
    torch.testing.assert_close(largest.double(), a.abs().amax(1))
    torch.testing.assert_close(total.double(), a.sum(0), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(weight.double(), b.sum(0), rtol=1e-5, atol=1e-5)
    rows, state = [], torch.zeros(4, dtype=torch.float64)
    for column in range(16):
        state = b[:, column] if column == 0 else state * a[:, column] + b[:, column]
        rows.append(state)
    torch.testing.assert_close(slope.double(), a.cumprod(1), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(offset.double(), torch.stack(rows, 1), rtol=1e-5, atol=1e-4)


FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
COMPILED = [(f, d) for f in (reduced, scanned, own_functions) for d in FLOATS]
COMPILED += [(f, d) for f in (reduced, scanned) for d in (torch.int32, torch.int64)]


@pytest.mark.parametrize(("function", "dtype"), COMPILED)
def test_machine_code_for_a_gpu(function, dtype):
    x = tile(8, 16, dtype=dtype)
    i32 = torch.int32
    results = {
        reduced: [x[:, 0], x[0], x[:, :1], x[:, 0], x[:, 0].to(i32), x[0].to(i32), x[0, 0], x[0, 0]],
        scanned: [x] * 3,
        own_functions: [x[:, 0], x[0], x[0], x, x],
    }[function]
    results = [torch.empty(r.shape, dtype=r.dtype) for r in results]
    assert compile_for_gpu(function, *[x] * (2 if function is own_functions else 1), results=results).asm["cubin"]
