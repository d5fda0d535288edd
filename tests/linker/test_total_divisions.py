"""Divisions in LLVM's text: what is put around those that may trap, and which stay as they are."""

from __future__ import annotations

import pytest

from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.llvm.total_divisions import divisions, total_divisions
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

pytestmark = pytest.mark.one_triton

TEXT = """
define <4 x i16> @f(i32 %a, i32 %0, <4 x i16> %v, ptr %p) {{
  %2 = {scalar}
  %"odd name" = {vector}
  store i32 %2, ptr %p
  ret <4 x i16> %"odd name"
}}
"""


@pytest.mark.parametrize("scalar", ["sdiv i32 %a, %0", "udiv exact i32 %a, 0", "srem i32 7, %0", "urem i32 %a, %0"])
@pytest.mark.parametrize("vector", ["sdiv <4 x i16> %v, splat (i16 -1)", "urem <4 x i16> splat (i16 9), %v"])
def test_the_text_stays_valid(scalar, vector):
    text = total_divisions(read_module(TEXT.format(scalar=scalar, vector=vector))).text
    load_llvmlite().parse_assembly(text).verify()
    assert ('"tle.2.few"' in text) == scalar.startswith("s")
    assert ('"tle.odd name.few"' in text) == vector.startswith("s")


@pytest.mark.parametrize("divisor", ["1", "3", "-2", "-17", "64"])
def test_constants_that_every_number_can_be_divided_by_cost_nothing(divisor):
    assert not list(divisions(f"  %1 = sdiv i32 %a, {divisor}, !dbg !7\n  %2 = udiv i64 %b, {divisor}\n"))


def test_places_are_kept():
    text = "define i32 @f(i32 %a, i32 %b) {\n  %1 = sdiv i32 %a, %b, !dbg !7\n  ret i32 %1, !dbg !7\n}\n"
    _, *lines, _ = total_divisions(read_module(text)).text.splitlines()
    assert len(lines) > 2 and all(line.endswith(", !dbg !7") for line in lines)
