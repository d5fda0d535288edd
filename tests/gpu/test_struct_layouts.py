"""Tensors in layouts that the kernel says: a layout moves elements between threads and changes none."""

from __future__ import annotations

import pytest
import torch

import tle_raw.language as tle
from tests.frontends.gpu import layout_kernels as kernels
from tests.frontends.gpu.test_set_layout import LAYOUTS, ROWS
from tests.gpu.device import COMPILE_ONLY, DEVICE

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("size", [4, 16, 64, 128])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout(name, size):
    x = torch.randn(size, size, device=DEVICE)
    y = torch.empty_like(x)
    kernels.laid_out[(1,)](x, y, LAYOUTS[name], size)
    if not COMPILE_ONLY:
        torch.testing.assert_close(y.double(), x.double() ** 2 + 1, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [16, 64])
def test_a_slice(size):
    x = torch.randn(size, size, device=DEVICE)
    y = torch.empty(size, device=DEVICE)
    kernels.summed[(1,)](x, y, ROWS, tle.gpu.SlicedEncoding(1, ROWS), size)
    if not COMPILE_ONLY:
        expected = (x.double() ** 2).sum(1) * torch.arange(size, device=DEVICE)
        torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", LAYOUTS)
def test_sums_at_once(name, axis):
    x = torch.randn(64, 64, device=DEVICE)
    y = torch.empty(64, device=DEVICE)
    kernels.summed_at_once[(1,)](x, y, LAYOUTS[name], axis, 64)
    if not COMPILE_ONLY:
        torch.testing.assert_close(y.double(), x.double().sum(axis), rtol=1e-5, atol=1e-4)
