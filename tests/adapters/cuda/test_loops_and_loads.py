"""Loops are unrolled, and memory is read, as nvcc does it; and memory may be read as another type than was written."""

import re
from pathlib import Path

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel
from tle_raw.linker.machine_code.sass import read_cubin

pytestmark = pytest.mark.every_triton(2)

DOT = """
__global__ void dot(const unsigned* __restrict__ w, const float* __restrict__ x, float* __restrict__ y, int n) {
  const unsigned* row = w + blockIdx.x * n;
  float sum = 0;
  for (int k = threadIdx.x; k < n; k += 64) {
    const unsigned eight = row[k];
    sum += ((int)(eight & 15) - 8) * x[k] + ((int)(eight >> 28) - 8) * x[n + k];
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}
"""

SHARED_POINTERS = """
__global__ void plain(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += 64) y[i] = x[i] + y[i];
}
__global__ void written(float* __restrict__ x, const float* __restrict__ z, int n) {
  for (int i = threadIdx.x; i < n; i += 64) x[i] = x[i] * 2 + z[i];
}
"""

NEST = """
__global__ void nest(
    const float* __restrict__ x, const float* __restrict__ z, float* __restrict__ y, int n, int m) {
  float sum = 0;
  for (int j = 0; j < m; ++j) {
    float inner = 0;
    for (int i = 0; i < n; ++i) inner += x[j * n + i] * z[i] + z[n + i];
    sum += sqrtf(inner);
  }
  y[threadIdx.x] = sum;
}
"""

TILE = """
__global__ void tile(const float* __restrict__ x, float* __restrict__ y, int n) {
  float sums[64] = {};
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 4; ++j) sums[i] += x[k * 256 + i * 4 + j] * x[j];
  for (int i = 0; i < 64; ++i) y[i * 64 + threadIdx.x] = sums[i];
}
__global__ void picked(const int* which, float* y, int n) {
  float sums[16] = {};
  for (int k = 0; k < n; ++k)
    sums[which[k] & 15] += 1;
  for (int i = 0; i < 16; ++i) y[i * 64 + threadIdx.x] = sums[i];
}
"""

SELECTION = """
__global__ void selection(const int* __restrict__ which, float* y, int n) {
  float values[8];
  for (int i = 0; i < 8; ++i) values[i] = y[i * 64 + threadIdx.x];
  for (int k = 0; k < n; ++k) {
    float most = values[0];
    for (int i = 1; i < 8; ++i) most = fmaxf(most, values[i]);
    values[which[k]] = most / 2;
  }
  for (int i = 0; i < 8; ++i) y[i * 64 + threadIdx.x] = values[i];
}
"""

# Counts in 64 bits from the thread's index, and goes on early.
STATISTICS = """
__global__ void statistics(const float* __restrict__ x, double* y, long long n) {
  double sum = 0;
  long long nans = 0;
  for (long long i = threadIdx.x; i < n; i += 64) {
    const double v = x[i];
    if (isnan(v)) {
      nans += 1;
      continue;
    }
    sum += v;
  }
  y[threadIdx.x] = sum;
  y[64 + threadIdx.x] = nans;
}
"""

# One type is written, another is read, as vector loads of programs do.
PUNNED = """
struct alignas(16) Four { unsigned x, y, z, w; };
__global__ void punned(float* x, float by) {
  float values[4];
  Four& all = *reinterpret_cast<Four*>(values);
  all = reinterpret_cast<Four*>(x)[threadIdx.x];
  for (int i = 0; i < 4; ++i) values[i] = values[i] * by + i;
  reinterpret_cast<Four*>(x)[threadIdx.x] = all;
}
"""


def ptx_of(text, symbol):
    return tle_raw.fragment(text, dialect="cuda", symbol=symbol).as_kernel(block=64).compile("cuda:90").asm["ptx"]


def loads(ptx):
    return re.findall(r"ld\.global(?:\.nc)?\.", ptx)


def test_a_loop_with_a_count_of_run_time_is_unrolled_and_reads_by_the_read_only_path():
    found = loads(ptx_of(DOT, "dot"))
    assert set(found) == {"ld.global.nc."}
    assert len(found) in (3 * (4 + 3), 3 * (2 + 1)), "four turns, or two, and what is left over"


def test_a_loop_that_counts_in_64_bits_is_unrolled_too():
    assert len(loads(ptx_of(STATISTICS, "statistics"))) >= 4


@pytest.mark.parametrize("symbol, read_only", [("plain", 0), ("written", 1)])
def test_memory_that_something_may_write_is_read_as_such(symbol, read_only):
    found = set(loads(ptx_of(SHARED_POINTERS, symbol)))
    assert found == {"ld.global.", *["ld.global.nc."] * read_only}


dot = tle_raw.fragment(DOT, dialect="cuda", symbol="dot", block=64, grid={"x": 0})


@triton.jit
def writes_and_calls(w, x, y, n):
    tl.store(x + tl.arange(0, 64), 1.0)
    dot(w, x, y, n)


def test_a_region_reads_what_its_kernel_may_write():
    signature = {"w": "*u32", "x": "*fp32", "y": "*fp32", "n": "i32"}
    ptx = compile_kernel(writes_and_calls, signature, num_warps=2).asm["ptx"]
    assert "ld.global." in ptx and "ld.global.nc" not in ptx


def test_a_loop_around_a_loop_stays_one():
    assert len(loads(ptx_of(NEST, "nest"))) < 2 * 3 * (4 + 1)


def test_loops_over_a_local_array_leave_no_turns():
    assert ".local" not in ptx_of(TILE, "tile")


@pytest.mark.one_triton
def test_a_short_array_that_is_written_at_a_place_of_run_time_lives_in_registers():
    kernel = tle_raw.fragment(SELECTION, dialect="cuda", symbol="selection").as_kernel(block=64).compile("cuda:90")
    facts = read_cubin(kernel.asm["cubin"])
    if facts.reason:
        pytest.skip(facts.reason)
    assert ".local" in kernel.asm["ptx"] and (facts.stack, facts.local_loads, facts.local_stores) == (0, 0, 0)
    assert "local memory" not in str(tle_raw.report(kernel))


@pytest.mark.one_triton
def test_a_report_says_which_lines_keep_an_array_in_local_memory():
    kernel = tle_raw.fragment(TILE, dialect="cuda", symbol="picked").as_kernel(block=64).compile("cuda:90")
    report, own = tle_raw.report(kernel), Path(__file__).read_text().splitlines()
    assert report.local_arrays == 64
    assert "    sums[which[k] & 15] += 1;" in [own[place.line - 1] for place in report.local_places]
    assert "local memory: 64 bytes a thread" in str(report) and "arrays: 64 bytes (test_loops_and_loads" in str(report)


@pytest.mark.one_triton
def test_memory_may_be_read_as_another_type():
    ptx = ptx_of(PUNNED, "punned")
    sums = set(re.findall(r"fma\.rn\.f32\s+(%r\d+)", ptx))
    stored = re.findall(r"%r\d+", re.search(r"st\.global\.v4\.b32[^;]*", ptx)[0])
    assert len(sums) == 4 and sums == set(stored), "clang's own rules would store what was loaded"
