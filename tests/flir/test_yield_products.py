"""What the default partition hands on: sums of products in their own layout, all else as it was."""

from __future__ import annotations

import pytest

from tle_raw.flir.nvidia.yield_products import yield_products

SUM, OTHER, ROW = "tensor<64x32xf32, #blocked>", "tensor<64x64xf32, #blocked>", "tensor<64xf32, #blocked1>"
PRODUCT = "tensor<64x32xf32, #mma>"
OPERANDS = "!ttg.memdesc<64x16xf16, #shared>, !ttg.memdesc<16x32xf16, #shared>"


def module(yielded: str, types: str, results: str = "2") -> str:
    return f"""
"builtin.module"() ({{
  %a = "test.buffer"() : () -> !ttg.memdesc<64x16xf16, #shared>
  %z{f":{results}" if results != "1" else ""} = "ttg.warp_specialize"() <{{partitionNumWarps = array<i32: 1>}}> ({{
    %p = "ttng.warp_group_dot"(%a, %b, %c) <{{isAsync = true}}> : ({OPERANDS}, {PRODUCT}) -> {PRODUCT}
    %v = "ttg.convert_layout"(%p) : ({PRODUCT}) -> {SUM}
    "ttg.warp_yield"({yielded}) : ({types}) -> () loc(#loc4)
  }}, {{
    "ttg.warp_specialize.partitions"() ({{
      "ttg.warp_return"() : () -> ()
    }}) : () -> ()
  }}) : () -> ({types}) loc(#loc3)
  "test.use"(%z{"#0" if results != "1" else ""}) : ({types.split(", t")[0]}) -> ()
}}) : () -> ()"""


def test_a_sum_is_converted_behind_the_operation():
    text, found = yield_products(module("%v, %row", f"{SUM}, {ROW}"))
    assert found == 1
    lines = [line.strip() for line in text.splitlines()]
    tail = next(n for n, line in enumerate(lines) if '"ttg.warp_yield"' in line)
    assert lines[tail - 1] == f'%tle_yielded_0_0 = "ttg.convert_layout"(%v) : ({SUM}) -> {PRODUCT} loc(#loc4)'
    assert lines[tail] == f'"ttg.warp_yield"(%tle_yielded_0_0, %row) : ({PRODUCT}, {ROW}) -> () loc(#loc4)'
    end = next(n for n, line in enumerate(lines) if line.endswith("loc(#loc3)"))
    assert lines[end] == f"}}) : () -> ({PRODUCT}, {ROW}) loc(#loc3)"
    assert lines[end + 1] == f'%tle_taken_0_0 = "ttg.convert_layout"(%z#0) : ({PRODUCT}) -> {SUM} loc(#loc4)'
    assert lines[end + 2] == f'"test.use"(%tle_taken_0_0) : ({SUM}) -> ()'


def test_the_only_result_is_named_without_a_number():
    text, found = yield_products(module("%v", SUM, results="1"))
    assert found == 1 and f'"ttg.convert_layout"(%z) : ({PRODUCT}) -> {SUM}' in text


@pytest.mark.parametrize("yielded, types", [("%row, %row", f"{ROW}, {ROW}"), ("%o, %row", f"{OTHER}, {ROW}")])
def test_what_is_no_sum_of_a_product_stays(yielded, types):
    before = module(yielded, types)
    assert yield_products(before) == (before, 0)
