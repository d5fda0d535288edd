"""Products of rows follow from each other, and are what they were."""

import ctypes
import re

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.constant_factors import constant_factors

# Rows of an unrolled loop: what does not change was added up before it.
TEXT = """define i32 @f(i32 %turn, i32 %begin, i32 %n, i32 %column) {
  %known = shl i32 %begin, 3
  %one = or disjoint i32 %known, 1
  %two = or disjoint i32 %known, 2
  %five = or disjoint i32 %known, 5
  br label %next

next:
  %1 = add nsw i32 %known, %turn
  %2 = mul nsw i32 %1, %n
  %3 = add nsw i32 %2, %column
  %4 = add i32 %turn, %one
  %5 = mul nsw i32 %n, %4
  %6 = add nsw i32 %column, %5
  %7 = add i32 %turn, %two
  %8 = mul nsw i32 %7, %n
  %9 = add nsw i32 %8, %column
  %10 = add i32 %five, %turn
  %11 = mul nsw i32 %10, %n
  %12 = add nsw i32 %11, %column
  %13 = mul i32 %6, 31
  %14 = mul i32 %9, 1009
  %15 = mul i32 %12, 7919
  %16 = xor i32 %3, %13
  %17 = xor i32 %14, %15
  %18 = xor i32 %16, %17
  ret i32 %18
}
"""
# One row is multiplied for another use, too.
APART = TEXT.replace("%16 = xor i32 %3", "%16 = xor i32 %2")
NO_COLUMN = TEXT.replace("%6 = add nsw i32 %column, %5", "%6 = add nsw i32 %turn, %5").replace(
    "%9 = add nsw i32 %8, %column", "%9 = add nsw i32 %8, %begin"
)


def numbers(text: str, *values: int) -> int:
    with run_function(text, "f", ctypes.c_int32, *(ctypes.c_int32,) * 4) as call:
        return int(call(*values))


@pytest.mark.parametrize("text", [TEXT, APART, NO_COLUMN])
@pytest.mark.parametrize("values", [(8, 3, 1000, 7), (-24, 5, -3, 100), (1 << 30, 7, 123457, -9)])
def test_the_numbers_stay(text, values):
    found = constant_factors(text)
    assert found != text and numbers(found, *values) == numbers(text, *values)


def test_a_row_is_the_one_before_and_a_row():
    found = constant_factors(TEXT)
    assert "%6 = add i32 %3, %n" in found and "%9 = add i32 %6, %n" in found
    assert '%"12.tle.step" = mul i32 %n, 3' in found and '%12 = add i32 %9, %"12.tle.step"' in found
    assert found.count("= mul") == 5  # the first row's, three rows at once, and what the function mixes them by


def test_columns_that_other_blocks_add_stay_there():
    lines = re.sub(r"%(\d+)", r"%v\1", TEXT).split("\n")  # names, for numbers would be out of order
    places = [lines.index(line) for line in lines if line.startswith(("  %v3 =", "  %v6 =", "  %v9 =", "  %v12 ="))]
    moved = [lines.pop(place) for place in reversed(places)]
    end = next(number for number, line in enumerate(lines) if line.startswith("  %v13 ="))
    lines[end:end] = ["  br label %last", "", "last:", *moved]
    text = "\n".join(lines)
    found = constant_factors(text)
    assert '%v5 = mul i32 %"v5.tle.factor", %n' in found and all(line in found for line in moved)
    assert numbers(found, 8, 3, 1000, 7) == numbers(text, 8, 3, 1000, 7)


def test_without_a_column_in_common_the_constant_is_added_last():
    found = constant_factors(NO_COLUMN)
    assert '%"5.tle.factor" = add i32 %1, 1' in found and '%5 = mul i32 %"5.tle.factor", %n' in found
    assert '%"11.tle.factor" = add i32 %1, 5' in found


@pytest.mark.parametrize("change", [("or disjoint", "or"), ("%7 = add i32 %turn, %two", "%7 = add i32 %begin, %two")])
def test_two_rows_and_what_is_no_sum_stay(change):
    text = TEXT.replace("%11 = mul nsw i32 %10, %n", "%11 = mul nsw i32 %10, %begin").replace(*change)
    assert constant_factors(text) == text


def test_rows_of_other_blocks_stay():
    text = TEXT
    for value, label in (("%4", "second"), ("%7", "third"), ("%10", "last")):
        text = text.replace(f"  {value} =", f"  br label %{label}\n\n{label}:\n  {value} =", 1)
    assert constant_factors(text) == text
