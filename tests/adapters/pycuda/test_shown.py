"""PyCUDA's kinds of examples, each as a region and as a whole kernel: their numbers on the CPU, refusals, GPU code."""

import linecache

import pytest

import tle_raw
from tests.adapters.pycuda.shown import PROGRAMS
from tests.support import ptx_calls
from tle_raw import pycuda
from tle_raw.errors import SignatureError

# A struct that holds a pointer: no region can take it.
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
    report = tle_raw.report(compiled)
    assert report.one_kernel and not ptx_calls(compiled) and report.regions[0].inlined


@pytest.mark.parametrize("symbol", ["double_all", "double_one"])
def test_structs_are_refused_at_their_line(symbol):
    with pytest.raises(SignatureError, match="cannot cross") as error:
        pycuda.SourceModule(STRUCTS).get_function(symbol)
    assert "pass its fields" in error.value.hint
    place = error.value.context.source
    assert place.file == __file__ and f"void {symbol}" in linecache.getline(place.file, place.line)
