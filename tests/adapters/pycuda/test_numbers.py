"""PyCUDA's kernels as fragments: their numbers on the CPU, and one inlined kernel for GPUs."""

import numpy as np
import pytest

from tests.adapters.pycuda import programs as p
from tests.support import compile_kernel, ptx_calls, report_of
from tle_raw.errors import DialectError, RegionError

pytestmark = pytest.mark.every_triton(1)

RANDOM = np.random.default_rng(7)


def floats(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def test_an_elementwise_kernel_gives_the_vector_that_it_writes():
    x, y, z = floats(1000), floats(1000), np.zeros(1000, np.float32)
    p.axpby_kernel[(4,)](x, y, z, 1000, N=256)
    np.testing.assert_allclose(z, 2.0 * x.astype(np.float64) - 0.5 * y, rtol=1e-5, atol=1e-6)


def test_a_vector_that_is_written_in_part_keeps_its_other_elements():
    x = floats(128)
    expected = np.clip(x, -0.5, 0.5)
    p.clamp_kernel[(1,)](x, N=128)
    np.testing.assert_array_equal(x, expected)


def test_an_index_that_is_a_number_is_an_argument():
    z = np.zeros(64, np.int32)
    p.ramp_kernel[(1,)](z, N=64)
    np.testing.assert_array_equal(z, np.arange(64) * 3 + 1)


def test_elements_of_two_dtypes():
    x, y = floats(64, dtype=np.float16), np.zeros(64)
    p.halves_kernel[(1,)](x, y, N=64)
    np.testing.assert_array_equal(y, x.astype(np.float64) / 2)


@pytest.mark.parametrize("grid", [(1,), (2, 3)])
def test_an_operation_on_neighbours_works_on_memory(grid):
    x, y = RANDOM.standard_normal(777), np.zeros(777)
    p.neighbours_kernel[grid](x, y, 777)
    np.testing.assert_allclose(y, np.convolve(x, [1, 1, 1], "same"), rtol=1e-12, atol=1e-12)


@pytest.mark.one_triton
def test_an_operation_may_write_several_vectors():
    z = floats(100, 2)
    radius, angle = np.zeros(100, np.float32), np.zeros(100, np.float32)
    p.polar_kernel[(1,)](z, radius, angle, 100)
    expected = z.astype(np.float64) @ [1, 1j]
    np.testing.assert_allclose(radius, np.abs(expected), rtol=1e-6)
    np.testing.assert_allclose(angle, np.angle(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.one_triton
def test_kernels_of_registers_and_tiles_are_whole_kernels_over_memory():
    x, y, z = floats(999), floats(999), np.zeros(999, np.float32)
    p.axpby.as_kernel(block=(16, 8))[(2, 2)](2.0, x, -0.5, y, z, 999)
    np.testing.assert_allclose(z, 2.0 * x.astype(np.float64) - 0.5 * y, rtol=1e-5, atol=1e-6)
    out = np.zeros(7, np.float32)
    for n in (999, 5):
        p.dot.as_kernel(block=64)[(7,)](out, x, y, n)
        np.testing.assert_allclose(out.sum(), x[:n].astype(np.float64) @ y[:n], rtol=1e-4, atol=1e-4)
    for fragment in (p.row_sums, p.running):
        with pytest.raises(DialectError, match="whole kernel"):
            fragment.as_kernel(block=64)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("n", [16, 1024])
def test_a_reduction_is_a_number_of_the_block(n, num_warps):
    x, y, out = floats(n), floats(n), np.zeros(1, np.float32)
    p.dot_kernel[(1,)](x, y, out, N=n, num_warps=num_warps)
    np.testing.assert_allclose(out[0], x.astype(np.float64) @ y, rtol=1e-4, atol=1e-4)


def test_a_reduction_without_a_map_takes_its_vector():
    x, out = RANDOM.integers(-3000, 3000, 256).astype(np.int16), np.zeros(1, np.int32)
    p.largest_kernel[(1,)](x, out, N=256)
    assert out[0] == x.max()


@pytest.mark.one_triton
def test_reductions_of_bytes():
    x, out, rows = RANDOM.integers(0, 16, (8, 32)).astype(np.uint8), np.zeros(1, np.uint8), np.zeros(8, np.uint8)
    p.bits_kernel[(1,)](x, out, rows, M=8, N=32)
    assert out[0] == np.bitwise_or.reduce(x, axis=None)
    np.testing.assert_array_equal(rows, np.bitwise_or.reduce(x, axis=1))


@pytest.mark.one_triton
@pytest.mark.parametrize("shape", [(4, 64), (64, 4), (256, 8)])
def test_partials_along_an_axis(shape):
    x, rows, columns = floats(*shape), np.zeros(shape[0]), np.zeros(shape[1], np.float32)
    p.sums_kernel[(1,)](x, rows, columns, M=shape[0], N=shape[1])
    np.testing.assert_allclose(rows, (x.astype(np.float64) + 0.25).sum(1), rtol=1e-12)
    np.testing.assert_allclose(columns, x.astype(np.float64).sum(0), rtol=1e-4, atol=1e-4)


# Fewer numbers than threads, as many, and more; within a warp and across warps.
@pytest.mark.parametrize("n, num_warps", [(2, 1), (2, 4), (32, 1), (64, 4), (128, 1), (1024, 4)])
def test_scans(n, num_warps):
    x = RANDOM.standard_normal(n)
    expected = np.cumsum(x)
    p.running_kernel[(1,)](x, N=n, num_warps=num_warps)
    np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-9)
    k = RANDOM.integers(-100, 100, n).astype(np.int32)
    expected = np.cumsum(k) - k
    p.before_kernel[(1,)](k, N=n, num_warps=num_warps)
    np.testing.assert_array_equal(k, expected)


@pytest.mark.one_triton
def test_a_scan_keeps_the_order():
    x = RANDOM.integers(-50, 10, 512).astype(np.int32)
    expected = x.copy()
    for i in range(1, len(x)):
        expected[i] = x[i] if x[i] >= 0 else expected[i - 1]
    p.last_kernel[(1,)](x, N=512)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.one_triton
@pytest.mark.parametrize("kernel", [p.multiply_kernel, p.shaped_kernel])
def test_a_module_gives_its_functions(kernel):
    a, b, dest = floats(128), floats(128), np.zeros(128, np.float32)
    kernel[(1,)](dest, a, b, num_warps=4)
    np.testing.assert_allclose(dest, 2 * a * b, rtol=1e-6)


def test_a_block_of_another_size_is_refused_on_the_cpu_too():
    with pytest.raises(RegionError) as error:
        p.shaped_kernel[(1,)](*[np.zeros(256, np.float32)] * 3, num_warps=8)
    assert "num_warps=4" in error.value.hint and error.value.context.call_site


@pytest.mark.one_triton
def test_a_function_of_a_module_is_a_whole_kernel():
    count = p.MODULE.get_function("count").as_kernel(block=(32, 2))
    n = np.zeros(1, np.int32)
    count(n, grid=(3, 2))
    assert n[0] == 64 * 6


@pytest.mark.one_triton
@pytest.mark.parametrize("block", [64, 512])
def test_a_warp_goes_on_together_from_one_volatile_access_to_the_next(block):
    x, out = floats(5001), np.zeros(3, np.float32)
    p.OLD_REDUCTION.as_kernel(block=block, shared=4 * block)[(3,)](out, x, 5001)
    np.testing.assert_allclose(out.sum(), x.astype(np.float64).sum(), rtol=1e-4, atol=1e-4)


# What vectors, scalars, modules and scans become stands in tests/contracts.
@pytest.mark.parametrize(
    "kernel, types, constants",
    [
        (p.neighbours_kernel, {"x": "*fp64", "y": "*fp64", "n": "i32"}, {}),
        (p.dot_kernel, {"x": "*fp32", "y": "*fp32", "out": "*fp32"}, {"N": 1024}),
        (p.bits_kernel, {"x": "*u8", "out": "*u8", "rows": "*u8"}, {"M": 8, "N": 32}),
        (p.sums_kernel, {"x": "*fp32", "rows": "*fp64", "columns": "*fp32"}, {"M": 4, "N": 64}),
        (p.shaped_kernel, {"dest": "*fp32", "a": "*fp32", "b": "*fp32"}, {}),
    ],
)
def test_one_kernel_without_calls(kernel, types, constants):
    compiled = compile_kernel(kernel, types, constants)
    report = report_of(compiled, machine_code=kernel in (p.dot_kernel, p.shaped_kernel))
    assert not ptx_calls(compiled) and report.one_kernel
    assert all(region.inlined for region in report.regions)
