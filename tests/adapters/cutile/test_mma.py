"""Matrix products of every dtype against float64, in the precision that cuTile promises."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np
import pytest
import torch

from tests.adapters.cutile.tiles import compile_for_gpu, run

pytestmark = pytest.mark.every_triton(2)


def tile(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        return torch.from_numpy(rng.integers(limits.min, limits.max, shape, endpoint=True)).to(dtype)
    return torch.from_numpy(rng.uniform(-2, 2, shape)).to(dtype)


def mma(a, b, c):
    return ct.mma(a, b, c)


CASES = [
    (torch.float16, torch.float32), (torch.float16, torch.float16), (torch.bfloat16, torch.float32),
    (torch.float32, torch.float32), (torch.float64, torch.float64), (torch.float8_e4m3fn, torch.float32),
    (torch.float8_e5m2, torch.float32), (torch.int8, torch.int32), (torch.uint8, torch.int32),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "out", "shape"),
    [
        *((*case, (16, 32, 64)) for case in CASES),
        *((*case, shape) for case in CASES[::3] for shape in ((64, 16, 16), (4, 2, 8))),
    ],
)
def test_products(dtype, out, shape):
    m, n, k = shape
    a, b, c = tile(dtype, m, k), tile(dtype, k, n, seed=1), tile(out, m, n, seed=2)
    if not out.is_floating_point:
        c = c // 4
    got = run(mma, a, b, c, results=[c])
    wanted = a.double() @ b.double() + c.double()
    if out.is_floating_point:
        tolerance = {torch.float16: 2e-2, torch.float64: 1e-12}.get(out, 1e-5)
        torch.testing.assert_close(got.double(), wanted, rtol=tolerance, atol=tolerance * 10)
    else:
        assert torch.equal(got.double(), wanted)


@pytest.mark.parametrize(("left", "right"), [(torch.int8, torch.uint8), (torch.uint8, torch.int8)])
def test_products_of_signed_with_unsigned_bytes(left, right):
    a, b, c = tile(left, 16, 64), tile(right, 64, 32, seed=1), torch.zeros(16, 32, dtype=torch.int32)
    assert torch.equal(run(mma, a, b, c, results=[c]).double(), a.double() @ b.double())


def batched(a, b):
    return ct.matmul(a, b)


@pytest.mark.parametrize("batch", [(4,), (2, 2)])
def test_batches(batch):
    a, b = tile(torch.float32, *batch, 16, 32), tile(torch.float32, *batch, 32, 16, seed=1)
    got = run(batched, a, b, results=[torch.zeros(*batch, 16, 16)])
    torch.testing.assert_close(got.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)


def in_tf32(a, b, c):
    return ct.mma(ct.astype(a, ct.tfloat32), ct.astype(b, ct.tfloat32), c)


def test_tf32_rounds_its_operands():
    a, b, c = tile(torch.float32, 16, 32), tile(torch.float32, 32, 16, seed=1), torch.zeros(16, 16)
    got = run(in_tf32, a, b, c, results=[c])

    def rounded(x):
        bits = x.view(torch.int32)
        return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32).double()

    torch.testing.assert_close(got.double(), rounded(a) @ rounded(b), rtol=1e-5, atol=1e-5)
    assert (got.double() - a.double() @ b.double()).abs().max() > 1e-5


def scaled(a, sa, b, sb, c):
    return ct.mma_scaled(a, sa, b, sb, c)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_scaled_products(dtype):
    rng = np.random.default_rng(0)
    a, b, c = tile(dtype, 128, 64), tile(dtype, 64, 128, seed=1), tile(torch.float32, 128, 128, seed=2)
    sa = torch.from_numpy(rng.integers(120, 134, (128, 2), dtype="u1"))
    sb = torch.from_numpy(rng.integers(120, 134, (2, 128), dtype="u1"))
    dtypes = {"sa": "float8_e8m0fnu", "sb": "float8_e8m0fnu"}
    got = run(scaled, a, sa, b, sb, c, results=[c], dtypes=dtypes)

    def powers(s, axis):
        return torch.exp2(s.double() - 127).repeat_interleave(32, axis)

    wanted = (a.double() * powers(sa, 1)) @ (b.double() * powers(sb, 0)) + c.double()
    torch.testing.assert_close(got.double(), wanted, rtol=1e-5, atol=1e-3)
    assert compile_for_gpu(scaled, a, sa, b, sb, c, results=[c], dtypes=dtypes).asm["cubin"]


@pytest.mark.parametrize(("dtype", "out"), CASES)
def test_machine_code_for_a_gpu(dtype, out):
    a, b, c = tile(dtype, 64, 64), tile(dtype, 64, 64, seed=1), torch.zeros(64, 64).to(out)
    ptx = compile_for_gpu(mma, a, b, c, results=[c]).asm["ptx"]
    assert "mma" in ptx if dtype != torch.float32 else ("tf32" not in ptx and "fma.rn.f32" in ptx)
    assert "tf32" in compile_for_gpu(in_tf32, *[torch.zeros(64, 64)] * 3, results=[torch.zeros(64, 64)]).asm["ptx"]
