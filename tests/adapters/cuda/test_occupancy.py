"""Whole CUDA kernels get fewer registers where more of their blocks run then, and nothing else is lost."""

from __future__ import annotations

import re

import pytest

import tle_raw
from tle_raw.errors import LinkError
from tle_raw.flir.nvidia.raise_occupancy import raise_occupancy
from tle_raw.linker.machine_code.resources import read_resources
from tle_raw.linker.machine_code.sass import read_cubin

pytestmark = pytest.mark.one_triton

# ptxas keeps so many addresses of what it gathers that a few registers more are taken than 64 warps can have.
SOURCE = r"""
__global__ void BOUNDS sums(const float* __restrict__ a, const int* __restrict__ at, float* o, int n, int m) {
  float found[COUNT] = {};
  for (int i = threadIdx.x; i < n; i += 64)
    for (int k = 0; k < COUNT; ++k) {
      const int place = at[i * COUNT + k];
      if (place >= 0) found[k] += a[(long long)place * m + k];
    }
  float total = 0;
  for (int k = 0; k < COUNT; ++k) total = total * 3 + found[k];
  o[blockIdx.x * 64 + threadIdx.x] = total;
}
"""


def compiled(count, bounds="", **options):
    fragment = tle_raw.fragment(SOURCE, dialect="cuda", symbol="sums", defines={"COUNT": count, "BOUNDS": bounds})
    return fragment.as_kernel(block=64).compile("cuda:90", **options)


@pytest.fixture
def found(monkeypatch):
    """A kernel with 33 to 40 registers of its own, and how many sums it makes."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setenv("TLE_RAW_DISABLE_PASSES", "raise-occupancy")
    for count in (20, 19, 21, 18, 22):
        kernel = compiled(count)
        if 33 <= read_resources(kernel.asm["cubin"]).registers <= 40:
            monkeypatch.delenv("TLE_RAW_DISABLE_PASSES")
            return kernel, count
    pytest.fail("no number of sums takes 33 to 40 registers")


def test_resources_are_those_that_the_tools_print(found):
    kernel, _ = found
    has, facts = read_resources(kernel.asm["cubin"]), read_cubin(kernel.asm["cubin"])
    assert has.code > 0
    if facts.reason:
        pytest.skip(facts.reason)
    assert (has.registers, has.stack) == (facts.registers, facts.stack)


def test_a_kernel_gets_fewer_registers(found):
    kernel, count = found
    before, after = read_resources(kernel.asm["cubin"]), read_resources(compiled(count).asm["cubin"])
    assert before.registers > 32 >= after.registers
    assert after.stack == before.stack == 0 and after.code <= 1.05 * before.code


def test_who_says_how_many_blocks_are_to_run_is_heeded(found):
    _, count = found
    assert read_resources(compiled(count, "__launch_bounds__(64, 16)").asm["cubin"]).registers > 32


def test_nothing_is_tried_where_blocks_are_limited_by_something_else(found):
    kernel, _ = found

    def never(text):
        raise AssertionError(text)

    ptx, cubin = kernel.asm["ptx"], kernel.asm["cubin"]
    assert raise_occupancy(ptx, cubin, 90, 100_000, never) is None  # two blocks for their shared memory
    small = re.sub(r"(\.reqntid) \d+", r"\1 32", ptx)
    assert small != ptx and raise_occupancy(small, cubin, 90, 0, never) is None  # 32 blocks run as it is
    assert raise_occupancy(ptx, cubin, 75, 0, never) is None  # not known


def test_what_needs_stack_or_becomes_longer_is_left(found):
    kernel, _ = found
    ptx, cubin = kernel.asm["ptx"], kernel.asm["cubin"]
    asked = []

    def same(text):
        asked.append(re.search(r"\.maxnreg (\d+)", text)[1])
        return cubin

    assert raise_occupancy(ptx, cubin, 90, 0, same) == cubin and asked == ["32"]


def test_other_bytes_are_refused():
    with pytest.raises(LinkError, match="not a 64-bit"):
        read_resources(b"no object")
