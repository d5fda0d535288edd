"""Kernels whose block barriers are counted: what they compute, many times over, and for racecheck."""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.gpu import order_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU

pytestmark = pytest.mark.gpu

TMA = ON_CPU or HOPPER
SIZE = 32


def tiles(n):
    x = torch.randn(n * SIZE, SIZE, device=DEVICE)
    return x, TensorDescriptor.from_tensor(x, [SIZE, SIZE])


@pytest.mark.skipif(not TMA, reason="TMA needs sm_90")
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 64])
def test_a_ring_of_copies(n, warps):
    x, x_desc = tiles(n)
    y = torch.zeros_like(x)
    kernels.ring_of_copies[(1,)](x_desc, y, n, SIZE, SIZE, num_warps=warps)
    assert COMPILE_ONLY or torch.equal(y, 2 * x)


@pytest.mark.skipif(not TMA, reason="TMA needs sm_90")
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("n", [1, 2, 3, 64])
def test_sums_beside_copies(n, warps):
    x, x_desc = tiles(n)
    y = torch.zeros(n, device=DEVICE)
    kernels.summed[(1,)](x_desc, y, n, SIZE, SIZE, num_warps=warps)
    expected = x.double().view(n, -1).sum(1)
    assert COMPILE_ONLY or (y.double() - expected).abs().max().item() <= 1e-4 * SIZE


def test_a_histogram():
    x = torch.randint(0, 1 << 20, (1 << 14,), dtype=torch.int32, device=DEVICE)
    counts = torch.zeros(256, dtype=torch.int32, device=DEVICE)
    kernels.counted[(1,)](x, counts, x.numel(), 1024, num_warps=8)
    assert COMPILE_ONLY or torch.equal(counts, torch.bincount(x & 255, minlength=256).int())
