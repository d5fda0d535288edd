"""Tiles that a loop counts, on a GPU: near ones, and those that lie billions of elements away."""

from __future__ import annotations

import pytest
import torch

from tests.gpu.device import DEVICE, needs_device

pytest.importorskip("cuda.tile")

from tests.adapters.cutile.arrays import launch
from tests.adapters.cutile.test_distances import from_below, summed, whole

pytestmark = [pytest.mark.gpu, needs_device]


@pytest.mark.parametrize("function", [summed, whole, from_below])
@pytest.mark.parametrize("rows, columns, first", [(16, 8, 0), (16, 8, 2), (1, 16, 1), (64, 4, 0), (64, 128, 1)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8])
def test_rows(function, rows, columns, first, dtype):
    x, y = (torch.rand(453, columns) * 100).to(DEVICE, dtype), torch.zeros(rows, columns, device=DEVICE)
    launch(function, (1,), x, y, first, rows, columns)
    first = 0 if function is from_below else first
    end = 453 // rows * rows if function is whole else -(-453 // rows) * rows
    padded = torch.cat([x.double(), torch.zeros(rows, columns, device=DEVICE)])[first * rows : end]
    expected = padded.reshape(-1, rows, columns).sum(0)
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5)


def test_rows_that_lie_far_apart():
    """The last ones begin beyond 2^32 elements, the stride is of 32 bits."""
    far = 2**26 + 16
    memory = torch.zeros(70 * far, dtype=torch.int8, device=DEVICE)
    x = memory.as_strided((70, 128), (far, 1))
    x.copy_(torch.randint(-100, 100, (70, 128)))
    y = torch.zeros(16, 128, device=DEVICE)
    launch(summed, (1,), x, y, 0, 16, 128)
    padded = torch.cat([x.double(), torch.zeros(10, 128, device=DEVICE)])
    assert torch.equal(y.double(), padded.reshape(-1, 16, 128).sum(0))
