"""Regions of CUDA fragments in partitions of specialised warps on the CPU. NumPy in float64 says what is right."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

import numpy as np
import torch

from tests.frontends.gpu.barrier_kernels import fetch, fetch_async
from tests.targets.cpu import partition_region_kernels as kernels
from tle_raw.errors import KernelFailed
from tle_raw.knobs import knobs

pytestmark = pytest.mark.every_triton(4)


def numbers(*shape):
    return torch.from_numpy(np.random.default_rng(1).standard_normal(shape).astype(np.float32))


@pytest.fixture(params=[False, True], ids=["plain", "checked"], autouse=True)
def checked(request):
    with knobs.scope():
        knobs.debug = request.param
        yield


@pytest.mark.parametrize("n, slots", [(0, 2), (1, 3), (7, 3), (12, 1)])
@pytest.mark.parametrize("fetch, arrivals", [(fetch, 1), (fetch_async, 32)])
@pytest.mark.every_triton(2)
def test_tiles_through_regions_of_two_workers(n, slots, fetch, arrivals):
    x, y = numbers(max(n, 1), 16, 8), torch.zeros(max(n, 1), 16, 8)
    kernels.three_regions[(1,)](x, y, n, fetch, arrivals, 16, 8, slots)
    assert torch.equal(y[:n], 2 * x[:n])


@pytest.mark.parametrize("is_default", [False, True])
@pytest.mark.parametrize("n, programs", [(1, 1), (9, 1), (3, 40)])
def test_regions_that_wait_for_each_other(n, programs, is_default):
    x, y = numbers(programs, n, 128), torch.zeros(programs, n * 129)
    kernels.long_regions[(programs,)](x, y, n, N=128, DEFAULT=is_default)
    rows, sums = y[:, : n * 128].view(programs, n, 128), y[:, n * 128 :]
    assert torch.equal(rows, x + (128 if is_default else 64)), "as many threads as the partition has"
    np.testing.assert_allclose(sums.numpy(), x.double().sum(2).numpy(), rtol=1e-4, atol=1e-4)


def test_tiles_and_elements_of_partitions():
    x, y = numbers(256), torch.zeros(3, 256)
    kernels.tiles_of_partitions[(1,)](x, y, N=256)
    assert torch.equal(y, x.flip(0) + torch.tensor([[1.0], [2.0], [3.0]]))


def test_regions_that_wait_for_ever_end_with_an_error():
    """The one takes more rows than the other gives."""
    x, y = numbers(1, 1, 128), torch.zeros(2, 129)
    knobs.cpu.patience = 0.3
    with pytest.raises(KernelFailed, match="waits") as caught:
        kernels.starved[(1,)](x, y, 128)
    assert caught.value.kind == "standstill"
