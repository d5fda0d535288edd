"""Numba's functions and kernels on the device, against Numba's own launches and against NumPy."""

import pytest
import torch

pytest.importorskip("numba", exc_type=ImportError)

from tests.gpu.device import COMPILE_ONLY, DEVICE
from tle_raw.adapters.numba.installed import load
from tle_raw.errors import CompilationFailed, ToolchainError

try:
    load()
    from tests.adapters.numba import programs as p
except (ToolchainError, CompilationFailed) as missing:  # Numba may be older than the NumPy beside it
    pytest.skip(str(missing), allow_module_level=True)

pytestmark = pytest.mark.gpu
ON_DEVICE = DEVICE == "cuda" and not COMPILE_ONLY


def random(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype).to(DEVICE)


def close(found, expected, tolerance=1e-5):
    if not COMPILE_ONLY:
        torch.testing.assert_close(found.double().cpu(), expected.double().cpu(), rtol=tolerance, atol=tolerance)


def test_a_device_function():
    x, z = random(256), torch.zeros(256, device=DEVICE)
    p.wave_kernel[(1,)](x, z, N=256)
    wide = x.double()
    close(z, torch.where(wide > 0, wide, wide * 0.25).sin() + (-2 * wide).exp())


def test_bools_and_halves():
    x, z, h = random(64), torch.zeros(64, dtype=torch.int8, device=DEVICE), random(64).half()
    expected = h * 2
    p.between_kernel[(1,)](x, z, h, N=64)
    close(z, (x > -0.5) & (x < 0.5))
    close(h, expected)


@pytest.mark.parametrize("n", [1, 1001, 100_003])
def test_a_kernel_alone(n):
    x, blocks = random(n), (n + 127) // 128
    theirs, expected = x.clone(), 2 * x
    p.scaled.as_kernel(block=128)[(blocks,)](x, 2.0)
    close(x, expected)
    if ON_DEVICE:
        p.scale[blocks, 128](theirs, 2.0)
        torch.cuda.synchronize()
        close(x, theirs, 0)


def test_shared_memory_shuffles_votes_and_atomics():
    x, out = random(256), torch.zeros(2, device=DEVICE)
    total, votes = torch.zeros(1, device=DEVICE), torch.zeros(8, dtype=torch.int32, device=DEVICE)
    p.summed.as_kernel(block=128)[(2,)](x, 256, out, 2)
    p.warps.as_kernel(block=128)[(2,)](x, total, votes)
    close(out, x.double().reshape(2, 128).sum(1), 1e-4)
    close(total, x.double().sum().reshape(1), 1e-4)
    close(votes, (x > 0).reshape(8, 32).sum(1))


def test_two_dims():
    x, y = random(300, 177, dtype=torch.float64), torch.zeros(177, 300, dtype=torch.float64, device=DEVICE)
    p.turned.as_kernel(block=(8, 16))[(38, 12)](x, y)
    close(y, x.T, 0)
