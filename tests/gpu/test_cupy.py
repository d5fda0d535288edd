"""CuPy's kernels on the device: as regions and whole kernels, against CuPy's own launches and against NumPy."""

import numpy as np
import pytest
import torch

pytest.importorskip("cupy", exc_type=ImportError)

import cupy

import tle_raw
from tests.adapters.cupy import programs as p
from tests.gpu.device import COMPILE_ONLY, DEVICE

pytestmark = pytest.mark.gpu
ON_DEVICE = DEVICE == "cuda" and not COMPILE_ONLY


def random(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=torch.float64).to(dtype).to(DEVICE)


def close(found, expected, tolerance=1e-5):
    if not COMPILE_ONLY:
        torch.testing.assert_close(
            found.double().cpu(), torch.as_tensor(expected).double(), rtol=tolerance, atol=tolerance
        )


def theirs(tensor):
    """A copy of a tensor as an array of CuPy's."""
    torch.cuda.synchronize()
    return cupy.asarray(tensor).copy()


@pytest.mark.parametrize("n", [1, 1001, 100_003])
def test_a_raw_kernel(n):
    x, y = random(n), random(n)
    blocks = (n + 127) // 128
    expected = 2.5 * x.double().cpu() + y.double().cpu() + 2
    if ON_DEVICE:
        cx, cy, own = theirs(x), theirs(y), theirs(y)
        p.RAW((blocks,), (128,), (np.float32(2.5), cx, cy, np.int32(n)))
        p.saxpy.as_kernel(block=128)[(blocks,)](2.5, cx, own, n)  # CuPy's arrays
        cupy.cuda.Device().synchronize()
        np.testing.assert_allclose(cupy.asnumpy(own), cupy.asnumpy(cy), rtol=1e-6, atol=1e-6)
    whole = y.clone()
    p.saxpy.as_kernel(block=128)[(blocks,)](2.5, x, whole, n)
    p.saxpy_kernel[(blocks,)](2.5, x, y, n, num_warps=4)
    close(y, expected)
    close(whole, expected)
    if ON_DEVICE:
        np.testing.assert_allclose(y.cpu().numpy(), cupy.asnumpy(cy), rtol=1e-6, atol=1e-6)


def test_functions_of_a_raw_module():
    x, k = random(777), torch.randint(-99, 99, (777,), dtype=torch.int32, device=DEVICE)
    expected_x, expected_k = 3 * x.double().cpu(), 3 * k.double().cpu()
    if ON_DEVICE:
        cx = theirs(x)
        own = p.MODULE.get_function("scales::scale<float>")
        own((1,), (128,), (cx, np.int32(777)))
        fragment = tle_raw.fragment(own)  # a kernel that CuPy has compiled, under its mangled name
        again = x.clone()
        fragment.as_kernel(block=128)[(1,)](again, 777)
        np.testing.assert_array_equal(again.cpu().numpy(), cupy.asnumpy(cx))
    p.scale_kernel[(1,)](x, k, 777)
    close(x, expected_x)
    close(k, expected_k)


def test_complex_numbers():
    z = torch.randn(40, dtype=torch.complex64).to(DEVICE)
    expected = z.cpu() * 1j
    p.turn.as_kernel(block=64)[(1,)](z, 40)
    if not COMPILE_ONLY:
        torch.testing.assert_close(z.cpu(), expected)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.float64, 1e-12)])
def test_elementwise_kernels(dtype, tolerance):
    x, y, w = random(256, dtype=dtype), random(256, dtype=dtype), random(4)
    z = torch.zeros_like(x)
    p.gathered_kernel[(1,)](x, y, w, z, N=256)
    close(z, x.double().cpu() * y.double().cpu() + w.double().cpu().repeat(64), tolerance)
    if ON_DEVICE:
        own = cupy.ElementwiseKernel("T x, T y, raw float32 w", "T z", "z = x * y + w[i % 4]", "gathered")
        launched = cupy.asnumpy(own(theirs(x), theirs(y), theirs(w)))
        np.testing.assert_allclose(z.cpu().numpy(), launched, rtol=tolerance, atol=tolerance)


def test_index_and_size():
    x, z = random(128), torch.zeros(128, dtype=torch.float64, device=DEVICE)
    p.place_kernel[(1,)](x, z, N=128)
    close(z, x.double().cpu() / 64 + torch.arange(128))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float16, 2e-2), (torch.float64, 1e-12)])
@pytest.mark.parametrize("shape", [(8, 64), (64, 16)])
def test_reductions(shape, dtype, tolerance):
    x = random(*shape, dtype=dtype)
    whole, rows, columns = (torch.zeros(n, dtype=dtype, device=DEVICE) for n in (1, *shape))
    p.norms_kernel[(1,)](x, whole, rows, columns, M=shape[0], N=shape[1])
    squares = x.double().cpu() ** 2
    close(whole, squares.sum().sqrt().reshape(1), tolerance)
    close(rows, squares.sum(1).sqrt(), tolerance)
    close(columns, squares.sum(0).sqrt(), tolerance)
    if ON_DEVICE:
        for found, axis in [(whole, None), (rows, 1), (columns, 0)]:
            own = cupy.asnumpy(p.NORM(theirs(x), axis=axis)).reshape(-1)
            np.testing.assert_allclose(found.cpu().numpy(), own, rtol=tolerance)


@pytest.mark.parametrize("num_warps", [1, 4, 32])
def test_a_reduction_over_a_class(num_warps):
    x, w = random(16, 64), random(64).abs()
    at, first = (torch.zeros(n, dtype=torch.int32, device=DEVICE) for n in (16, 1))
    most = torch.zeros(16, device=DEVICE)
    p.largest_kernel[(1,)](x, w, at, most, first, M=16, N=64, num_warps=num_warps)
    if not COMPILE_ONLY:
        assert torch.equal(at.cpu().long(), (x * w).argmax(1).cpu()) and first.item() == x.argmax().item()
        assert torch.equal(most, (x * w).max(1).values)
