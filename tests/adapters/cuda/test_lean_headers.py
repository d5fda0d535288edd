"""Parts of large headers are left out where no text names them, and the code stays the same."""

from __future__ import annotations

import pytest

import tle_raw
from tle_raw import Element
from tle_raw.adapters.cpp.lean_headers import lean_defines, with_small_floats

pytestmark = pytest.mark.one_triton

HALF, BFLOAT = "CCCL_DISABLE_FP16_SUPPORT", "CCCL_DISABLE_BF16_SUPPORT"
CUB = ("cub/block/block_reduce.cuh",)


def test_what_a_text_names_stays():
    assert {HALF, BFLOAT} <= set(lean_defines(["int x;"], CUB, (3, 1, 0)))
    assert not {HALF, BFLOAT} & set(lean_defines(["__half x;"], CUB, (3, 1, 0)))
    assert not {HALF, BFLOAT} & set(with_small_floats(lean_defines(["int x;"], CUB, (3, 1, 0))))
    assert not {HALF, BFLOAT} & set(lean_defines(["int x;"], ("vector",), (3, 1, 0)))


@pytest.mark.parametrize("release", [(), (2, 8, 2), (3, 0, 1)])
def test_half_stays_where_cub_goes_wrong_without_it(release):
    defines = lean_defines(["int x;"], CUB, release)
    assert HALF not in defines and BFLOAT in defines


@pytest.mark.parametrize("operation", ["cuda::std::plus<>", "cuda::maximum<>", "cuda::minimum<int>"])
def test_reductions_of_integers_take_no_way_of_small_floats(operation):
    """CUB of CCCL 3.0 took four and more integers for packed floats: the code was a trap."""

    @tle_raw.dialect("cuda", source=f"""
        #include <cuda/functional>
        #include <cub/thread/thread_reduce.cuh>
        __device__ int of_eight(int x) {{
          int items[8];
          for (int i = 0; i < 8; i++) items[i] = x * i;
          return cub::ThreadReduce(items, {operation}{{}});
        }}""")  # fmt: skip
    def of_eight(x: Element["i32"]) -> Element["i32"]: ...

    text = of_eight.compile("cuda:90").text
    assert "of_eight" in text and "llvm.trap" not in text and "assertfail" not in text
