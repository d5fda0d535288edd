"""Constants of indices are added to the address, and accesses stay where they were."""

import ctypes

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.constant_offsets import constant_offsets

# Before the loop what does not change, one constant in known bits: as LLVM leaves it.
TEXT = """define i64 @f(ptr %p, i32 %a, i32 %b) {
  %known = shl i32 %b, 7
  %1 = or disjoint i32 %known, 5
  %2 = add i32 %known, 64
  br label %next

next:
  %3 = add i32 %a, %known
  %4 = sext i32 %3 to i64
  %5 = getelementptr inbounds float, ptr %p, i64 %4
  %6 = add i32 %1, %a
  %7 = sext i32 %6 to i64
  %8 = getelementptr inbounds float, ptr %p, i64 %7
  %9 = add i32 %a, %2
  %10 = sext i32 %9 to i64
  %11 = getelementptr inbounds float, ptr %p, i64 %10
  %12 = ptrtoint ptr %5 to i64
  %13 = ptrtoint ptr %8 to i64
  %14 = ptrtoint ptr %11 to i64
  %15 = mul i64 %13, 1000003
  %16 = xor i64 %12, %15
  %17 = mul i64 %14, 7919
  %18 = xor i64 %16, %17
  ret i64 %18
}
"""
UNSIGNED = TEXT.replace("sext", "zext nneg").replace("= add", "= add nuw nsw").replace("shl i32", "shl nuw nsw i32")


def expected(p: int, a: int, b: int) -> int:
    one, two, three = (p + 4 * (a + b * 128 + c) for c in (0, 5, 64))
    word = one ^ two * 1000003 ^ three * 7919
    return ctypes.c_int64(word).value


@pytest.mark.parametrize(("text", "values"), [(TEXT, [(3, 2), (-70, 1), (1000, -9)]), (UNSIGNED, [(3, 2), (0, 900)])])
def test_indices_of_one_base_share_their_sum(text, values):
    found = constant_offsets(text)
    assert '%7 = add i64 %"7.tle.wide", 5' in found and '%10 = add i64 %"10.tle.wide", 64' in found
    word = ctypes.c_int32
    with run_function(found, "f", ctypes.c_int64, ctypes.c_int64, word, word) as call:
        for a, b in values:
            assert call(4096, a, b) == expected(4096, a, b)


@pytest.mark.parametrize(
    "change",
    [
        ("%15 = mul i64 %13, 1000003", "%15 = mul i64 %7, %10"),  # not for addresses alone
        ("ptr %p, i64 %7\n  %9", "ptr null, i64 %7\n  %9"),  # no base in common
        ("or disjoint", "or"),  # no sum
        ("%1 = or disjoint i32 %known, 5", "%1 = or disjoint i32 %known, 9000000"),  # beyond an access's own offset
    ],
)
def test_what_shares_nothing_stays(change):
    assert change[0] in TEXT
    assert "%7 = sext i32 %6 to i64" in constant_offsets(TEXT.replace(*change))


def test_unsigned_indices_that_may_wrap_stay():
    text = UNSIGNED.replace("add nuw nsw", "add")
    assert constant_offsets(text).count("tle.wide") == 0


def test_items_of_a_struct_are_addressed_as_numbers_are():
    text = "%s = type { float }\n" + TEXT.replace("inbounds float", "inbounds %s")
    assert '%7 = add i64 %"7.tle.wide", 5' in constant_offsets(text)


def test_an_element_that_is_spelt_by_its_size():
    """As LLVM of Triton 3.9 spells it."""
    text = TEXT.replace("inbounds float", "inbounds [4 x i8]")
    assert constant_offsets(text) == constant_offsets(TEXT).replace("inbounds float", "inbounds [4 x i8]")


def test_what_is_widened_without_a_sign_has_the_sum_in_common():
    text = TEXT.replace("%3 = add i32 %a, %known\n  %4 = sext", "%3 = or disjoint i32 %a, %known\n  %4 = zext nneg")
    found = constant_offsets(text)
    assert '%"4.tle.0" = add i32 %a, %known' in found and '%4 = add i64 %"4.tle.wide", 0' in found
    word = ctypes.c_int32
    with run_function(found, "f", ctypes.c_int64, ctypes.c_int64, word, word) as call:
        assert call(4096, 3, 2) == expected(4096, 3, 2)


def test_sums_without_a_sign_keep_theirs_where_nothing_is_added():
    text = UNSIGNED.replace("%6 = add nuw nsw i32 %1", "%6 = add nuw nsw i32 %b").replace("%2", "%b")
    assert constant_offsets(text) == text
