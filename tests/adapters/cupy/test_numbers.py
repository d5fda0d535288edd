"""CuPy's kernels as fragments: their numbers on the CPU, and one inlined kernel for GPUs."""

import numpy as np
import pytest

pytest.importorskip("cupy", exc_type=ImportError)

import tle_raw
from tests.adapters.cupy import programs as p
from tests.support import compile_kernel, ptx_calls

pytestmark = pytest.mark.every_triton(1)

RANDOM = np.random.default_rng(7)


def floats(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def test_a_raw_kernel_is_a_region_and_a_whole_kernel():
    x, y = floats(1001), floats(1001)
    expected, other = 2.5 * x.astype(np.float64) + y + 2, y.copy()
    p.saxpy_kernel[(8,)](2.5, x, y, 1001)
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)
    p.saxpy.as_kernel(block=256)[(4,)](2.5, x, other, 1001)
    np.testing.assert_allclose(other, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.one_triton
def test_functions_of_a_raw_module():
    x, k = floats(77), RANDOM.integers(-99, 99, 77).astype(np.int32)
    expected_x, expected_k = x * np.float32(3), k * 3
    p.scale_kernel[(1,)](x, k, 77)
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(k, expected_k)


@pytest.mark.one_triton
def test_cupys_complex_numbers_are_pairs_of_floats():
    z = (floats(40) + 1j * floats(40)).astype(np.complex64)
    expected = z * 1j
    p.turn.as_kernel(block=64)[(1,)](z, 40)
    np.testing.assert_allclose(z, expected, rtol=1e-6)


@pytest.mark.one_triton
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (np.float16, 4e-3), (np.float64, 1e-12)])
def test_an_elementwise_kernel_takes_the_types_of_each_call(dtype, tolerance):
    x, y, w, z = floats(64, dtype=dtype), floats(64, dtype=dtype), floats(4), np.zeros(64, dtype)
    p.gathered_kernel[(1,)](x, y, w, z, N=64)
    expected = x.astype(np.float64) * y + np.tile(w, 16)
    np.testing.assert_allclose(z, expected, rtol=tolerance, atol=tolerance)


def test_an_output_that_may_stay_is_an_argument():
    x = floats(128)
    expected = np.minimum(x, np.float32(0.5))
    p.clamp_kernel[(1,)](x, 0.5, N=128)
    np.testing.assert_array_equal(x, expected)


def test_index_and_size_are_arguments():
    x, z = floats(128), np.zeros(128)
    p.place_kernel[(1,)](x, z, N=128)
    np.testing.assert_allclose(z, x.astype(np.float64) / 64 + np.arange(128), rtol=1e-6)


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (np.float16, 2e-2), (np.float64, 1e-12)])
def test_a_reduction_of_a_block_and_along_an_axis(dtype, tolerance):
    x, whole, rows, columns = floats(8, 64, dtype=dtype), np.zeros(1, dtype), np.zeros(8, dtype), np.zeros(64, dtype)
    p.norms_kernel[(1,)](x, whole, rows, columns, M=8, N=64)
    squares = x.astype(np.float64) ** 2
    np.testing.assert_allclose(whole[0], np.sqrt(squares.sum()), rtol=tolerance)
    np.testing.assert_allclose(rows, np.sqrt(squares.sum(1)), rtol=tolerance)
    np.testing.assert_allclose(columns, np.sqrt(squares.sum(0)), rtol=tolerance)


@pytest.mark.one_triton
@pytest.mark.parametrize("num_warps", [1, 8])
def test_a_number_among_a_reductions_arguments(num_warps):
    x, out = floats(256), np.zeros(1)
    p.mean_kernel[(1,)](x, out, N=256, num_warps=num_warps)
    np.testing.assert_allclose(out[0], (x.astype(np.float64) ** 3).mean(), rtol=1e-4, atol=1e-5)


@pytest.mark.one_triton
def test_a_reduction_over_a_class_gives_two_tiles():
    x, w, at, most = floats(8, 64), np.abs(floats(64)), np.zeros(8, np.int32), np.zeros(8, np.float32)
    first = np.zeros(1, np.int32)
    p.largest_kernel[(1,)](x, w, at, most, first, M=8, N=64)
    np.testing.assert_array_equal(at, (x * w).argmax(1))
    np.testing.assert_array_equal(most, (x * w).max(1))
    assert first[0] == x.argmax()


KERNELS = [
    (p.gathered_kernel, {"x": "*fp16", "y": "*fp16", "w": "*fp32", "z": "*fp16"}, {"N": 256}),
    (
        p.largest_kernel,
        {"x": "*fp32", "w": "*fp32", "at": "*i32", "most": "*fp32", "first": "*i32"},
        {"M": 16, "N": 64},
    ),
]


@pytest.mark.parametrize("kernel, signature, constants", KERNELS, ids=lambda v: getattr(v, "__name__", ""))
def test_gpus_get_one_kernel_without_calls(kernel, signature, constants):
    compiled = compile_kernel(kernel, signature, constants)
    assert ptx_calls(compiled) == []
    assert tle_raw.report(compiled).one_kernel
