"""PyCUDA's kinds of examples, each as a region and as a whole kernel: their numbers on the CPU, refusals, GPU code."""

import numpy as np
import pytest

import tle_raw
from tests.adapters.pycuda.shown import PROGRAMS
from tests.support import ptx_calls, report_of
from tle_raw import pycuda

pytestmark = pytest.mark.every_triton(2)

# A struct that holds a pointer: its address is what a region takes.
STRUCTS = """
struct Doubled
{
  int length, padding;
  float *values;
};

__global__ void double_all(Doubled *arrays)
{
  Doubled *own = arrays + blockIdx.x;
  for (int i = threadIdx.x; i < own->length; i += blockDim.x) own->values[i] *= 2;
}

__global__ void double_one(Doubled own)
{
  for (int i = threadIdx.x; i < own.length; i += blockDim.x) own.values[i] *= 2;
}
"""

each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


@each
@pytest.mark.parametrize("way", ["region", "whole"])
def test_numbers(program, way):
    case = program.case()
    launch = program.launch_region if way == "region" else program.launch_whole
    launch(case.arguments, case.grid)
    case.check(*case.arguments)


@each
def test_one_kernel_without_calls(program):
    compiled = program.whole.compile("cuda:90")
    report = report_of(compiled, machine_code=program is PROGRAMS[0])
    assert report.one_kernel and not ptx_calls(compiled) and report.regions[0].inlined


def test_a_struct_by_value_holds_arrays():
    values = np.random.rand(40).astype(np.float32)
    expected = 2 * values
    kernel = pycuda.SourceModule(STRUCTS).get_function("double_one").as_kernel(block=32)
    kernel[(1,)]((40, 0, values))
    np.testing.assert_array_equal(values, expected)


def test_a_struct_in_memory_is_bytes():
    values = np.arange(40, dtype=np.float32)
    fields = [("length", "i4"), ("padding", "i4"), ("values", "u8")]
    arrays = np.array([(40, 0, values.ctypes.data)], dtype=fields)
    tle_raw.fragment(STRUCTS, dialect="pycuda", symbol="double_all").as_kernel(block=32)[(1,)](arrays)
    np.testing.assert_array_equal(values, 2 * np.arange(40))
