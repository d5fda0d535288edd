"""Barriers of the kernel in regions, named barriers, and copies that add to global memory, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.gpu import barrier_kernels as kernels
from tests.frontends.gpu import reduce_kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU

pytestmark = pytest.mark.gpu

needs_hopper = pytest.mark.skipif(not (ON_CPU or HOPPER), reason="bulk copies need sm_90")


def same(got, expected):
    assert COMPILE_ONLY or torch.equal(got, expected)


@needs_hopper
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("count", [1, 3, 50])
def test_rings_that_regions_fill_by_bulk_copies(count, slots, warps):
    x = torch.randn(count, 32, 64, device=DEVICE)
    for _ in range(3):
        y = torch.empty_like(x)
        kernels.fetched[(1,)](x, y, count, kernels.fetch, 1, 32, 64, slots, num_warps=warps)
        same(y, 2 * x)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("slots", [1, 3])
def test_rings_that_each_thread_fills(slots, warps):
    x = torch.randn(41, 32, 64, device=DEVICE)
    y = torch.empty_like(x)
    kernels.fetched[(1,)](x, y, 41, kernels.fetch_async, 32 * warps, 32, 64, slots, num_warps=warps)
    same(y, 2 * x)


@needs_hopper
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("slots", [2, 5])
@pytest.mark.parametrize("count", [1, 4, 64])
def test_a_region_waits_for_copies_of_the_kernel(count, slots, warps):
    x = torch.randn(count * 64, 32, device=DEVICE)
    y = torch.empty(count, device=DEVICE)
    kernels.waited_for[(1,)](TensorDescriptor.from_tensor(x, [64, 32]), y, count, 64, 32, slots, num_warps=warps)
    if not COMPILE_ONLY:
        torch.testing.assert_close(y.double(), x.double().reshape(count, -1).sum(1), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("warps", [1, 4, 16])
def test_named_barriers(warps):
    x = torch.randn(60, 256, device=DEVICE)
    y = torch.empty_like(x)
    kernels.named[(1,)](x, y, 60, 32 * warps, 256, num_warps=warps)
    same(y, x + 1)


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_all_threads_of_a_region_arrive(warps):
    y = torch.empty(30, 32, 64, device=DEVICE)
    kernels.numbered[(1,)](y, 30, warps, 32, 64, num_warps=warps)
    same(y, torch.arange(30, device=DEVICE)[:, None, None] + torch.arange(2048.0, device=DEVICE).reshape(32, 64))


@needs_hopper
@pytest.mark.parametrize("kind", ["add", "min", "max", "and", "or", "xor"])
def test_tiles_combined_with_global_memory(kind):
    x = torch.randint(-1000, 1000, (300, 16, 32), device=DEVICE, dtype=torch.int32)
    o = torch.randint(-1000, 1000, (14, 32), device=DEVICE, dtype=torch.int32)
    before = o.cpu().numpy().copy()
    reduce_kernels.combined[(300,)](x, TensorDescriptor.from_tensor(o, [16, 32]), KIND=kind, M=16, N=32)
    if COMPILE_ONLY:
        return
    combine = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
    for tile in x.cpu().numpy():
        before[2:] = combine.get(kind, np.bitwise_xor)(before[2:], tile[:12])
    assert (o.cpu().numpy() == before).all()


@needs_hopper
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_sums_of_floats(dtype):
    x = torch.randint(-4, 4, (60, 16, 32), device=DEVICE).to(dtype)  # whose sums are exact
    o = torch.zeros(18, 32, device=DEVICE, dtype=dtype)
    reduce_kernels.combined[(60,)](x, TensorDescriptor.from_tensor(o, [16, 32]), KIND="add", M=16, N=32)
    same(o[2:].double(), x.double().sum(0))


@needs_hopper
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_tiles_through_one_buffer(dtype):
    """A buffer is written again when the copy engine has read it."""
    x = torch.randint(-4, 4, (40, 25, 32, 64), device=DEVICE).to(dtype)  # whose sums are exact
    o = torch.zeros(32, 64, device=DEVICE, dtype=dtype)
    descriptor = TensorDescriptor.from_tensor(o, [32, 64])
    reduce_kernels.accumulated[(40,)](x, descriptor, 25, M=32, N=64)
    same(o.double(), x.double().sum((0, 1)))
