"""Products of buffers, in place and in the background, barriers and copies by descriptors, against float64."""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.gpu import argument_kernels
from tests.frontends.gpu import product_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU

pytestmark = pytest.mark.gpu

TMA = ON_CPU or HOPPER
DTYPES = [torch.float16, torch.bfloat16]


def operands(m, n, k, dtype):
    a = torch.randn(m, k, device=DEVICE).to(dtype)
    b = torch.randn(n, k, device=DEVICE).to(dtype)
    return a, b, torch.zeros(m, n, device=DEVICE), a.double() @ b.double().T


def close(c, expected, products=1):
    """A sum of so many products of 64 elements; of each 16, tensor cores cut the sum off at 24 bits."""
    difference = (c.double() - expected).abs().max().item()
    assert COMPILE_ONLY or difference <= (1e-4 + products * 4 * 2**-24) * expected.abs().max().item(), difference


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("k", [1, 2, 17])
def test_a_dot_of_two_buffers(k, warps, dtype):
    """The buffers are written again at once: a product that is not waited for reads the wrong tile."""
    a, b, c, expected = operands(128, 128, k * 64, dtype)
    kernels.from_buffers[(1, 1)](a, b, c, k, 128, 128, 64, num_warps=warps)
    close(c, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("stages", [3, 4])
@pytest.mark.parametrize("k", [1, 2, 5, 32])
def test_an_asynchronous_gemm(k, stages, warps, dtype):
    a, b, c, expected = operands(256, 384, k * 64, dtype)
    kernels.async_gemm[(2, 3)](a, b, c, k, 128, 128, 64, stages, num_warps=warps)
    close(c, expected)


@pytest.mark.skipif(not TMA, reason="TMA needs sm_90")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("k", [1, 3, 4, 33])
def test_a_gemm_by_tma(k, stages, warps, dtype):
    a, b, c, expected = operands(256, 256, k * 64, dtype)
    tiles = TensorDescriptor.from_tensor(a, [128, 64]), TensorDescriptor.from_tensor(b, [128, 64])
    kernels.tma_gemm[(2, 2)](*tiles, c, k, 128, 128, 64, stages, num_warps=warps)
    close(c, expected)


@pytest.mark.skipif(not TMA, reason="TMA needs sm_90")
def test_fifty_gemms_agree_bit_for_bit():
    a, b, c, _ = operands(256, 256, 32 * 64, torch.bfloat16)
    tiles = TensorDescriptor.from_tensor(a, [128, 64]), TensorDescriptor.from_tensor(b, [128, 64])
    kernels.tma_gemm[(2, 2)](*tiles, c, 32, 128, 128, 64, 4)
    for _ in range(49):
        again = torch.zeros_like(c)
        kernels.tma_gemm[(2, 2)](*tiles, again, 32, 128, 128, 64, 4)
        assert COMPILE_ONLY or torch.equal(again, c)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8])
def test_tiles_by_descriptors(dtype):
    x = torch.randn(5 * 64, 64, device=DEVICE).mul(8).to(dtype)
    o = torch.zeros_like(x)
    given, taken = TensorDescriptor.from_tensor(x, [64, 64]), TensorDescriptor.from_tensor(o, [64, 64])
    kernels.tma_copied[(1,)](given, taken, 5, 64, 64)
    assert COMPILE_ONLY or torch.equal(o, x)


@pytest.mark.parametrize("warps", [1, 4])
def test_a_barrier_that_the_block_arrives_at(warps):
    x = torch.randn(100, 256, device=DEVICE)
    o = torch.zeros_like(x)
    kernels.handed_over[(1,)](x, o, 100, 256, num_warps=warps)
    assert COMPILE_ONLY or torch.equal(o, x + 1)


@pytest.mark.parametrize("warps", [4, 8])
def test_a_tile_that_is_stored_beside_a_product_under_way(warps):
    for _ in range(20):
        x = torch.randn(3, 128, 128, device=DEVICE).to(torch.float16)
        o = torch.zeros(128, 128, device=DEVICE)
        kernels.stored_beside[(1,)](x, o, 128, False, num_warps=warps)
        close(o, x[0].double() @ x[1].double() + x[2].double())


@pytest.mark.skipif(not TMA, reason="the kernels use wgmma: sm_90")
@pytest.mark.parametrize("name", argument_kernels.KERNELS)
def test_products_of_buffers_that_a_block_is_given(name):
    """Partitions hand them over, or a loop hands them on: each is written again at once."""
    kernel, how = argument_kernels.KERNELS[name]
    for n in (0, 1, 4, 33) if not ON_CPU else (0, 1, 4):
        x = torch.randn(n + 1, 64, 64, device=DEVICE).half()
        c = torch.full((64, 64), float("nan"), device=DEVICE)
        kernel[(1,)](x, c, n, 64, how)
        right = x[1:].double().transpose(1, 2) if how == "turned" else x[1:].double()
        expected = (x[:-1].double() @ right).sum(0) * (n if how == "inner" else 1)
        close(c, expected, n * (n if how == "inner" else 1))
