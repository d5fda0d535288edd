"""as_kernel(): __global__ functions launched through Triton on the device; the fastest of several blocks."""

import pytest
import torch

import tle_raw
from tests.adapters.cuda.test_global_functions import KERNELS
from tests.adapters.cuda.test_whole_kernels import MORE
from tests.gpu.device import COMPILE_ONLY, DEVICE

pytestmark = pytest.mark.gpu


def of(symbol):
    return tle_raw.fragment(KERNELS, dialect="cuda", symbol=symbol)


def more(symbol):
    return tle_raw.fragment(MORE, dialect="cuda", symbol=symbol)


@pytest.mark.parametrize("block", [32, 96, 256, 992, 1024])
def test_a_kernel_is_launched_as_triton_kernels_are(block):
    kernel = of("saxpy").as_kernel(block=block)
    x, y = torch.rand(10_001, device=DEVICE), torch.rand(10_001, device=DEVICE)
    expected = 1.5 * x.double() + y.double()
    kernel[lambda meta: -(-10_001 // meta["block"][0])](1.5, x, y, 10_001)
    if not COMPILE_ONLY:
        torch.testing.assert_close(y.double(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("block", [96, (24, 4), 320, 992])
def test_a_block_may_be_any_number_of_warps(block):
    x, out = torch.rand(300, 1001, device=DEVICE), torch.zeros(300, device=DEVICE)
    more("sum").as_kernel(block=block)[(300,)](x, out, 1001)
    if not COMPILE_ONLY:
        torch.testing.assert_close(out.double(), x.double().sum(1), rtol=1e-5, atol=0)


@pytest.mark.parametrize("n", [16, 333])
def test_a_tiled_matrix_multiplication(n):
    a, b = torch.rand(n, n, device=DEVICE), torch.rand(n, n, device=DEVICE)
    out = torch.zeros(n, n, device=DEVICE)
    more("matmul").as_kernel(block=(16, 16))[(-(-n // 16), -(-n // 16))](a, b, out, n)
    if not COMPILE_ONLY:
        torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-5)


def test_arrays_of_signed_integers_are_memory_of_unsigned_ones():
    x = torch.randint(0, 256, (100_000,), dtype=torch.uint8, device=DEVICE)
    counts = torch.zeros(16, dtype=torch.int32, device=DEVICE)
    more("histogram").as_kernel(block=256)[(32,)](counts, x, 100_000, 3.7)
    if not COMPILE_ONLY:
        assert counts.tolist() == (3 * torch.bincount(x.long() % 16, minlength=16)).tolist()


def test_arrays_of_complex_numbers_are_memory_of_pairs():
    z = torch.randn(1000, dtype=torch.complex64, device=DEVICE)
    expected = torch.complex(2 * z.real, -z.imag)
    more("twice").as_kernel(block=64)[(16,)](z, 1000)
    if not COMPILE_ONLY:
        torch.testing.assert_close(z, expected)


def test_dynamic_shared_memory_may_follow_the_block():
    kernel = of("reverse").as_kernel(block=64, shared=lambda block: 8 * block[0])
    x = torch.rand(256, device=DEVICE)
    expected = x.reshape(4, 64).flip(1) + 3
    kernel[(4,)](x)
    if not COMPILE_ONLY:
        torch.testing.assert_close(x.reshape(4, 64), expected)


@pytest.mark.skipif(COMPILE_ONLY, reason="nothing can be measured")
def test_the_fastest_block_is_chosen_and_what_is_measured_leaves_no_trace():
    kernel = more("add_one").as_kernel(block=[(64,), (128,), (256,), (1024,)], key="n")
    for n in (5000, 50_000):
        x = torch.rand(n, device=DEVICE)
        expected = x + 1
        kernel[lambda meta, n=n: (-(-n // meta["block"][0]),)](x, n)
        torch.testing.assert_close(x, expected)
    assert kernel.kernel.best_config.kwargs["BLOCK"] in range(4)
