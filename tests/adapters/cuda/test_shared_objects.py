"""``__shared__`` variables of a program's own types with a constructor, which nvcc leaves to the program."""

import numpy as np
import pytest

import tle_raw
from tle_raw.errors import CompilationFailed

REVERSED = """
struct Pair {
  float value; int at;
  __host__ __device__ Pair() : value(0), at(0) {}
  __host__ __device__ Pair(float v, int i) : value(v), at(i) {}
};
template <class T> __global__ void reversed(float* o, const float* x) {
  __shared__ T kept[64];
  __shared__ Pair
    largest;
  kept[threadIdx.x] = T(x[threadIdx.x], threadIdx.x);
  if (threadIdx.x == 5) largest = Pair(x[5], 5);
  __syncthreads();
  o[threadIdx.x] = kept[63 - threadIdx.x].value + kept[63 - threadIdx.x].at + largest.at;
}
"""
A_REGION = """
struct A { int n; __device__ A() : n(7) {} };
__device__ void f(int* p) { __shared__ A a; *p = a.n; }
__global__ void k(int* p) { f(p); }
"""


@pytest.fixture(autouse=True)
def fixture_on_cpu():
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


def test_a_kernels_shared_objects_are_memory_that_it_fills():
    x = np.random.default_rng(3).random(64).astype(np.float32)
    o = np.zeros_like(x)
    tle_raw.fragment(REVERSED, dialect="cuda", symbol="reversed<Pair>").as_kernel(block=64)[(1,)](o, x)
    np.testing.assert_allclose(o, (x + np.arange(64))[::-1] + 5, rtol=1e-6)


def test_those_of_device_functions_are_refused_with_a_way_out():
    with pytest.raises(CompilationFailed, match="not supported for __shared__ variables"):
        tle_raw.fragment(A_REGION, dialect="cuda", symbol="k").as_kernel(block=32)[(1,)](np.zeros(32, np.int32))


@pytest.mark.parametrize("quiet, lines", [("", [8, 9]), ("#pragma nv_diag_suppress static_var_with_dynamic_init", [])])
def test_the_report_says_that_no_constructor_is_called_as_nvcc_does(tmp_path, quiet, lines):
    file = tmp_path / "k.cu"
    file.write_text(REVERSED + quiet)
    kernel = tle_raw.fragment(file, dialect="cuda", symbol="reversed<Pair>").as_kernel(block=64)
    report = tle_raw.report(kernel.compile("cuda:90"))
    notes = [note for region in report.regions for note in region.notes]
    assert [int(note.split(":")[1]) for note in notes] == lines
    assert all("constructor of the __shared__ variable" in note and note in str(report) for note in notes)
