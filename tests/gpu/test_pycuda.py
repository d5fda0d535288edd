"""PyCUDA's kernels as fragments on the device."""

import functools
import operator

import numpy as np
import pytest
import torch

from tests.adapters.pycuda import programs as p
from tests.adapters.pycuda.shown import PROGRAMS
from tests.gpu.device import COMPILE_ONLY, DEVICE

pytestmark = pytest.mark.gpu


def close(found, expected, tolerance=1e-5):
    if not COMPILE_ONLY:
        torch.testing.assert_close(found.double(), expected.double(), rtol=tolerance, atol=tolerance)


def test_elementwise_kernels():
    x, y, z = torch.randn(1000, device=DEVICE), torch.randn(1000, device=DEVICE), torch.zeros(1000, device=DEVICE)
    p.axpby_kernel[(4,)](x, y, z, 1000, N=256)
    close(z, 2 * x.double() - 0.5 * y)
    expected = x[:128].clamp(-0.5, 0.5)
    p.clamp_kernel[(1,)](x, N=128)
    close(x[:128], expected)
    k = torch.zeros(64, dtype=torch.int32, device=DEVICE)
    p.ramp_kernel[(1,)](k, N=64)
    close(k, torch.arange(64, device=DEVICE) * 3 + 1)
    h, d = torch.randn(64, device=DEVICE).half(), torch.zeros(64, dtype=torch.float64, device=DEVICE)
    p.halves_kernel[(1,)](h, d, N=64)
    close(d, h.double() / 2)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("n", [16, 1024, 8192])
def test_reductions(n, num_warps):
    x, y, out = torch.randn(n, device=DEVICE), torch.randn(n, device=DEVICE), torch.zeros(1, device=DEVICE)
    p.dot_kernel[(1,)](x, y, out, N=n, num_warps=num_warps)
    close(out, (x.double() @ y.double()).reshape(1), 1e-3)
    k = torch.randint(-3000, 3000, (n,), device=DEVICE, dtype=torch.int16)
    most = torch.zeros(1, dtype=torch.int32, device=DEVICE)
    p.largest_kernel[(1,)](k, most, N=n, num_warps=num_warps)
    close(most, k.max().reshape(1))


@pytest.mark.parametrize("shape", [(4, 64), (64, 4), (128, 64)])
def test_partials_along_an_axis(shape):
    x, columns = torch.randn(shape, device=DEVICE), torch.zeros(shape[1], device=DEVICE)
    rows = torch.zeros(shape[0], dtype=torch.float64, device=DEVICE)
    p.sums_kernel[(1,)](x, rows, columns, M=shape[0], N=shape[1])
    close(rows, (x.double() + 0.25).sum(1), 1e-10)
    close(columns, x.double().sum(0), 1e-4)
    b = torch.randint(0, 16, (8, 32), dtype=torch.uint8, device=DEVICE)
    out, bits = torch.zeros(1, dtype=torch.uint8, device=DEVICE), torch.zeros(8, dtype=torch.uint8, device=DEVICE)
    p.bits_kernel[(1,)](b, out, bits, M=8, N=32)
    if not COMPILE_ONLY:
        expected = [functools.reduce(operator.or_, row) for row in b.tolist()]
        assert bits.tolist() == expected and out.item() == functools.reduce(operator.or_, expected)


@pytest.mark.parametrize("num_warps", [1, 4, 32])
@pytest.mark.parametrize("n", [2, 64, 1024, 4096])
def test_scans(n, num_warps):
    x = torch.randn(n, dtype=torch.float64, device=DEVICE)
    expected = x.cumsum(0)
    p.running_kernel[(1,)](x, N=n, num_warps=num_warps)
    close(x, expected, 1e-9)
    k = torch.randint(-100, 100, (n,), dtype=torch.int32, device=DEVICE)
    expected = k.cumsum(0) - k
    p.before_kernel[(1,)](k, N=n, num_warps=num_warps)
    close(k, expected)


@pytest.mark.parametrize("kernel", [p.multiply_kernel, p.shaped_kernel])
def test_functions_of_a_module(kernel):
    a, b, dest = torch.randn(128, device=DEVICE), torch.randn(128, device=DEVICE), torch.zeros(128, device=DEVICE)
    kernel[(1,)](dest, a, b, num_warps=4)
    close(dest, 2 * a * b)


def test_a_function_of_a_module_is_a_whole_kernel():
    count = torch.zeros(1, dtype=torch.int32, device=DEVICE)
    p.MODULE.get_function("count").as_kernel(block=(32, 2))(count, grid=(3, 2))
    if not COMPILE_ONLY:
        assert count.item() == 64 * 6


@pytest.mark.parametrize("way", ["region", "whole"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_kinds_of_examples(program, way):
    if COMPILE_ONLY and program.before:
        pytest.skip("nothing is loaded")
    case = program.case()
    passed = [torch.from_numpy(a).to(DEVICE) if isinstance(a, np.ndarray) else a for a in case.arguments]
    launch = program.launch_region if way == "region" else program.launch_whole
    launch(tuple(passed), case.grid)
    if not COMPILE_ONLY:
        case.check(*(a.cpu().numpy() if isinstance(a, torch.Tensor) else a for a in passed))


@pytest.mark.parametrize("grid", [(1,), (5, 3)])
def test_operations_on_memory(grid):
    n = 10_007
    x, y = torch.randn(n, dtype=torch.float64, device=DEVICE), torch.zeros(n, dtype=torch.float64, device=DEVICE)
    p.neighbours_kernel[grid](x, y, n)
    expected = x.clone()
    expected[1:] += x[:-1]
    expected[:-1] += x[1:]
    close(y, expected, 1e-12)
    z = torch.randn(n, 2, device=DEVICE)
    radius, angle = torch.zeros(n, device=DEVICE), torch.zeros(n, device=DEVICE)
    p.polar_kernel[grid](z, radius, angle, n)
    close(radius, z.double().norm(dim=1))
    close(angle, torch.atan2(z[:, 1].double(), z[:, 0].double()))


def test_kernels_of_registers_and_tiles_are_whole_kernels_over_memory():
    n = 100_003
    x, y, z = torch.randn(n, device=DEVICE), torch.randn(n, device=DEVICE), torch.zeros(n, device=DEVICE)
    p.axpby.as_kernel(block=256)[(64,)](2.0, x, -0.5, y, z, n)
    close(z, 2 * x.double() - 0.5 * y)
    out = torch.zeros(64, device=DEVICE)
    p.dot.as_kernel(block=256)[(64,)](out, x, y, n)
    close(out.double().sum().reshape(1), (x.double() @ y.double()).reshape(1), 1e-2)
