"""Linked TileLang regions on the caller's own block tensors: right numbers, and zeros where nothing is written."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.gpu.device import DEVICE, check_close, check_norm, numbers, poisoned

pytest.importorskip("tilelang")

from tests.adapters.tilelang.linked import tile_regions as regions

pytestmark = pytest.mark.gpu


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype).to(DEVICE)


def test_rows_in_and_out():
    x = normal(1024, 64, seed=1)
    y = poisoned(x)
    regions.with_softmax[(256,)](x, y, num_warps=4)
    weights = np.exp(2 * (numbers(x) - numbers(x).max(axis=1, keepdims=True)))
    check_close(y, weights / weights.sum(axis=1, keepdims=True) + 1, 1e-5)


def test_products_of_a_persistent_kernel():
    a, b = normal(512, 512, seed=2, dtype=torch.float16), normal(512, 512, seed=3, dtype=torch.float16)
    c = poisoned(a.float())
    regions.with_product[(7,)](a, b, c, num_warps=4)
    check_norm(c, 2 * (numbers(a) @ numbers(b)), 1e-3)


def test_a_pipeline_that_copies_a_tile():
    x, w = normal(1024, 64, seed=4, dtype=torch.float16), normal(64, 64, seed=5, dtype=torch.float16)
    y = poisoned(x)
    regions.with_shared[(16,)](x, w, y, num_warps=4)
    check_norm(y, 4 * (numbers(x) @ numbers(w)), 1e-3)


def test_rows_whose_length_is_no_power_of_two():
    x, w = normal(256, 48, seed=6, dtype=torch.float16), normal(48, seed=7)
    y = poisoned(x)
    regions.with_scaled[(32,)](x, w, y, num_warps=4)
    check_close(y, numbers(x) * numbers(w), 1e-3, 1e-6)


def test_a_tile_that_is_read_and_written():
    x, y = normal(64, 64, seed=8), normal(64, 64, seed=9)
    before = numbers(y)
    regions.with_accumulated[(2, 4)](x, y, num_warps=4)
    check_close(y, before + numbers(x), 1e-6, 1e-6)


@pytest.mark.parametrize("n", [1, 127, 128, 300])
def test_what_a_guard_leaves_out_is_zero(n):
    x = normal(512, seed=10)
    y = poisoned(x)
    regions.with_guarded[(4,)](x, y, n, num_warps=4)
    check_close(y, np.where(np.arange(512) < n, 3 * numbers(x), 0.0), 1e-6)


def test_a_slice_of_four_dims():
    q = normal(64, 64, seed=11, dtype=torch.float16)
    o = poisoned(q)
    regions.with_picked[(1,)](q, o, 64, num_warps=4)
    check_close(o, numbers(q), 0.0)


def test_a_foreign_call_on_a_tile():
    a = normal(1024, seed=12)
    b = poisoned(a)
    regions.with_call[(8,)](a, b, num_warps=4)
    check_close(b, 2 * torch.erf(a.double()).cpu().numpy(), 1e-5, 1e-7)
