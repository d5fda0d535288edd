"""Constructs that only TileLang's own lowering knows: right numbers by the linked route."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE, ROUNDING, check_close, check_integers, check_norm, numbers, poisoned

pytest.importorskip("tilelang")

from tests.adapters.tilelang.linked import constructs
from tests.adapters.tilelang.linked.test_curand import has_curand, random_numbers

pytestmark = pytest.mark.gpu


def run(prim_func, *arguments):
    compiled = tle_raw.fragment(prim_func, route="linked").as_kernel()(*arguments)
    assert tle_raw.report(compiled).one_kernel


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype).to(DEVICE)


@pytest.mark.parametrize("n", [1000, 1, 127])
def test_the_users_own_text(n):
    a = normal(n, 2, seed=1)
    b = poisoned(a)
    run(constructs.imported(n), a, b)
    values = numbers(a)
    check_close(b, np.stack([3 * values[:, 1], values[:, 0]], axis=1), 1e-6)


def test_barriers_of_some_threads():
    a = normal(8, 128, seed=2)
    b = poisoned(a)
    run(constructs.synchronised(), a, b)
    low = numbers(a)[:, :64]
    count = 2.0 * (low > 0).sum(axis=1, keepdims=True)
    check_close(b, np.concatenate([low[:, ::-1], np.broadcast_to(count, (8, 64))], axis=1), 0.0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("m", [1, 63, 64, 1001])
def test_a_number_of_rows_that_the_call_says(m, dtype):
    a, b = normal(m, 96, seed=3, dtype=getattr(torch, dtype)), normal(96, 128, seed=4, dtype=getattr(torch, dtype))
    room = torch.full((m + 64, 128), 7.0, device=DEVICE)
    run(constructs.dynamic_gemm(dtype=dtype), a, b, room[:m])
    check_norm(room[:m], numbers(a) @ numbers(b), 1e-5)
    check_close(room[m:], np.full((64, 128), 7.0), 0.0)


def test_products_read_registers_as_another_type():
    a, b = normal(32, 32, seed=3), normal(32, 32, seed=4)
    c = torch.zeros(32, 32, device=DEVICE)
    run(constructs.tiny_product(), a, b, c)
    check_norm(c, numbers(a) @ numbers(b), 1e-3)


def test_panels_of_a_grid_that_the_call_says():
    a, b = normal(333, 96, seed=3, dtype=torch.float16), normal(96, 128, seed=4, dtype=torch.float16)
    c = torch.zeros(333, 128, device=DEVICE)
    run(constructs.dynamic_gemm(dtype="float16", panels=2), a, b, c)
    check_norm(c, numbers(a) @ numbers(b), 1e-5)


@pytest.mark.parametrize(
    "name, dtype, ours", [("float8_e4m3", torch.float8_e4m3fn, "f8e4m3"), ("float8_e5m2", torch.float8_e5m2, "f8e5m2")]
)
def test_numbers_of_eight_bits(name, dtype, ours):
    a = normal(1024, seed=5, dtype=dtype)
    b, c = torch.zeros(1024, dtype=dtype, device=DEVICE), poisoned(a.float())
    run(constructs.quantised(dtype=name), a, b, c)
    check_close(c, 2 * numbers(a.float()), 0.0)
    check_close(b.float(), 2 * numbers(a.float()), ROUNDING[ours])


def test_products_of_eight_bits():
    a, b = normal(128, 128, seed=6, dtype=torch.float8_e4m3fn), normal(128, 128, seed=7, dtype=torch.float8_e4m3fn)
    c = poisoned(a.float())
    run(constructs.small_gemm(), a, b, c)
    check_norm(c, numbers(a.float()) @ numbers(b.float()).T, 1e-3)


def test_products_of_small_integers():
    generator = torch.Generator().manual_seed(8)
    a, b = (torch.randint(-128, 128, (128, 128), generator=generator).to(torch.int8).to(DEVICE) for _ in range(2))
    c = torch.zeros(128, 128, dtype=torch.int32, device=DEVICE)
    run(constructs.small_gemm("int8"), a, b, c)
    check_integers(c, a.cpu().numpy().astype(np.int32) @ b.cpu().numpy().astype(np.int32).T)


def test_random_numbers():
    if not has_curand():
        pytest.skip("needs cuRAND's headers: a CUDA toolkit, or the nvidia-curand wheel")
    bits = torch.zeros(1024, dtype=torch.uint32, device=DEVICE)
    floats = torch.full((1024,), -1.0, device=DEVICE)
    random_numbers().as_kernel()(bits, floats)
    if not COMPILE_ONLY:
        found = numbers(floats)
        assert ((found > 0) & (found <= 1)).all() and 0.45 < found.mean() < 0.55
        assert len(np.unique(bits.cpu().numpy())) > 1000
