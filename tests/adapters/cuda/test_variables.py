"""__constant__ and __device__ variables, set and read from the host."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel
from tle_raw import Element
from tle_raw.errors import LaunchError, ReportError

SOURCE = r"""
namespace filter { __constant__ float weights[3] = {1, 2, 3}; }
__constant__ float unused[1000];
__device__ int launches = 5;

extern "C" __global__ void convolve(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) atomicAdd(&launches, 1);
  if (i < 1 || i >= n - 1) return;
  y[i] = filter::weights[0] * x[i - 1] + filter::weights[1] * x[i] + filter::weights[2] * x[i + 1];
}

__device__ float weighted(float x) { return x * filter::weights[1]; }
"""
convolve = tle_raw.fragment(SOURCE, dialect="cuda", symbol="convolve")


@tle_raw.dialect("cuda", source=SOURCE)
def weighted(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def convolve_kernel(x, y, n):
    convolve(x, y, n)


@triton.jit
def both_kernel(x, y, n, N: tl.constexpr):
    convolve(x, y, n)
    tl.store(x + tl.arange(0, N), weighted(tl.load(x + tl.arange(0, N))))


@pytest.fixture(autouse=True)
def on_cpu():
    """Numbers are those of the CPU, on a machine with a GPU too."""
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


def expected(x, w):
    y = np.zeros_like(x)
    y[1:-1] = w[0] * x[:-2] + w[1] * x[1:-1] + w[2] * x[2:]
    return y


def test_variables_have_their_initial_values_and_then_what_the_host_sets():
    x = np.random.rand(200).astype(np.float32)
    y = np.zeros_like(x)
    compiled = convolve_kernel[(2,)](x, y, 200)
    np.testing.assert_allclose(y, expected(x, (1, 2, 3)), rtol=1e-6)
    weights = tle_raw.variable(compiled, "filter::weights")
    assert weights.bytes == 12 and weights.get(np.float32).tolist() == [1, 2, 3]
    weights.set(np.array([-1, 0.5, 4], np.float32))
    convolve_kernel[(2,)](x, y, 200)
    np.testing.assert_allclose(y, expected(x, (-1, 0.5, 4)), rtol=1e-5, atol=1e-6)
    counter = tle_raw.variable(compiled, "launches")
    assert counter.get(np.int32).tolist() == [7]
    counter.set(np.int32(0))
    convolve_kernel[(2,)](x, y, 200)
    assert counter.get(np.int32).tolist() == [1]


def test_a_variable_can_be_set_before_the_first_launch():
    x = np.random.rand(64).astype(np.float32)
    y = np.zeros_like(x)
    compiled = convolve_kernel.warmup(x, y, 64, grid=(1,), num_warps=2)
    tle_raw.variable(compiled, "filter::weights").set(np.array([0, 0, 1], np.float32))
    convolve_kernel[(1,)](x, y, 64, num_warps=2)
    np.testing.assert_array_equal(y[1:-1], x[2:])


def test_a_whole_kernels_variables_are_set_before_its_launch():
    kernel = convolve.as_kernel(block=32)
    x = np.random.rand(50).astype(np.float32)
    y = np.zeros_like(x)
    tle_raw.variable(kernel.warmup(x, y, 50), "filter::weights").set(np.array([2, 0, 0], np.float32))
    kernel[(2,)](x, y, 50)
    np.testing.assert_array_equal(y[1:-1], 2 * x[:-2])


def test_each_fragment_has_its_own():
    x = np.random.rand(128).astype(np.float32)
    y, before = np.zeros_like(x), x.copy()
    compiled = both_kernel.warmup(x, y, 128, N=128, grid=(1,))
    with pytest.raises(ReportError, match="several"):
        tle_raw.variable(compiled, "filter::weights")
    tle_raw.variable(compiled, "filter::weights", fragment="weighted").set(np.array([0, 10, 0], np.float32))
    both_kernel[(1,)](x, y, 128, N=128)
    np.testing.assert_allclose(x, before * 10, rtol=1e-6)


@pytest.mark.parametrize("capability", [80, 90])
def test_variables_stay_in_a_gpus_kernel(capability):
    compiled = compile_kernel(convolve_kernel, {"x": "*fp32", "y": "*fp32", "n": "i32"}, capability=capability)
    report = tle_raw.report(compiled)
    assert report.one_kernel and report.regions[0].inlined
    lines = [line for line in compiled.asm["ptx"].splitlines() if line.startswith(".visible .")]
    variables = [line for line in lines if ".entry" not in line]
    assert len(variables) == 2, "the unused one is gone"
    assert any(".const .align 4" in line and "[12] = " in line for line in variables)
    assert any(".global .align 4 .u32" in line and " = 5;" in line for line in variables)
    assert "ld.const" in compiled.asm["ptx"]


def test_what_is_no_variable_is_named():
    x = np.zeros(64, np.float32)
    compiled = convolve_kernel[(1,)](x, x.copy(), 64)
    with pytest.raises(ReportError, match="`unused`") as error:
        tle_raw.variable(compiled, "unused")
    assert "filter::weights, launches" in error.value.table[0].expected
    with pytest.raises(ReportError, match="compiled kernel"):
        tle_raw.variable(convolve_kernel, "launches")
    with pytest.raises(LaunchError, match="does not fill"):
        tle_raw.variable(compiled, "launches").set(np.float64(1))
