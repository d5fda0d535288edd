"""Nests of branches that choose between values are selections, and give what they gave."""

import ctypes
import re

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.choose_values import choose_values

# The larger of two pairs, where a thread has a neighbour: the lower key of equal values.
KERNEL = """
define ptx_kernel void @f(ptr %keys, ptr %values, i32 %lane, i32 %last) {
  %1 = load i32, ptr %keys
  %2 = load float, ptr %values
  %here = getelementptr i32, ptr %keys, i32 1
  %3 = load i32, ptr %here
  %there = getelementptr float, ptr %values, i32 1
  %4 = load float, ptr %there
  br label %begin

begin:                                            ; preds = %0
  %none = icmp sgt i32 %lane, %last
  br i1 %none, label %meet, label %ask, !dbg !0

ask:                                              ; preds = %begin
  %less = fcmp contract olt float %2, %4, !dbg !0
  br i1 %less, label %meet, label %equal

equal:                                            ; preds = %ask
  %same = fcmp contract oeq float %2, %4
  %lower = icmp slt i32 %3, %1
  %both = select i1 %same, i1 %lower, i1 false
  %key.2 = select i1 %both, i32 %3, i32 %1, !dbg !0
  %value.2 = select i1 %both, float %4, float %2
  br label %meet

meet:                                             ; preds = %begin, %ask, %equal
  %key = phi i32 [ %1, %begin ], [ %3, %ask ], [ %key.2, %equal ], !dbg !0
  %value = phi float [ %2, %begin ], [ %4, %ask ], [ %value.2, %equal ]
  store i32 %key, ptr %keys
  store float %value, ptr %values
  ret void
}

!0 = !{}
"""


def results(text):
    text = re.sub(r", !dbg !0|!0 = .*\n", "", text).replace("ptx_kernel ", "")
    number, real = ctypes.c_int32, ctypes.c_float
    found = []
    with run_function(text, "f", None, ctypes.POINTER(number), ctypes.POINTER(real), number, number) as call:
        for lane in (0, 1):
            for first in (1.0, 2.0, float("nan")):
                for second in (1.0, 2.0, float("nan")):
                    for key in (3, 5):
                        keys, values = (number * 2)(4, key), (real * 2)(first, second)
                        call(keys, values, lane, 0)
                        found.append((keys[0], str(values[0])))
    return found


def test_a_nest_is_conditions_and_two_selections():
    chosen = choose_values(KERNEL)
    assert "br i1" not in chosen and chosen.count('.tle.chosen" = select') == 2
    assert results(chosen) == results(KERNEL)


def test_the_larger_value_in_the_other_order():
    text = KERNEL.replace("label %meet, label %ask", "label %ask, label %meet").replace(
        "label %meet, label %equal", "label %equal, label %meet"
    )
    chosen = choose_values(text)
    assert "br i1" not in chosen and results(chosen) == results(text) != results(KERNEL)


def test_what_is_no_selection_of_one_of_both_stays_a_choice():
    text = KERNEL.replace("[ %3, %ask ]", "[ 77, %ask ]").replace("[ %value.2, %equal ]", "[ 0.0, %equal ]")
    chosen = choose_values(text)
    assert chosen == text or results(chosen) == results(text)


def test_other_ways_to_the_meeting_keep_their_values():
    text = KERNEL.replace(
        "  br label %begin\n",
        "  %any = icmp eq i32 %lane, 7\n  br i1 %any, label %begin, label %other\n\nother:\n  br label %meet\n",
        1,
    )
    text = text.replace("[ %1, %begin ]", "[ 9, %other ], [ %1, %begin ]").replace(
        "[ %2, %begin ]", "[ 9.0, %other ], [ %2, %begin ]"
    )
    chosen = choose_values(text)
    assert chosen.count("br i1") == 1 and results(chosen) == results(text)


def test_numbers_rise_where_a_nest_moves_in_front_of_another_block():
    text = KERNEL.replace(
        "  br label %begin\n\n", "  %any = icmp eq i32 %lane, 7\n  br i1 %any, label %other, label %begin\n\n", 1
    ).replace("ask:  ", "other:\n  %5 = add i32 %1, %last\n  br label %meet\n\nask:  ")
    text = text.replace("[ %1, %begin ]", "[ %5, %other ], [ %1, %begin ]")
    text = text.replace("[ %2, %begin ]", "[ 9.0, %other ], [ %2, %begin ]")
    for name, number in (("less", 6), ("same", 7), ("lower", 8), ("both", 9)):
        text = text.replace(f"%{name} =", f"%{number} =").replace(f"%{name},", f"%{number},")
    chosen = choose_values(text)
    assert chosen.index("%5 = ") > chosen.index('%"tle.early.6" = ') and results(chosen) == results(text)


@pytest.mark.parametrize(
    "change",
    [
        ("%same = fcmp", "%x = load i32, ptr %keys\n  %same = fcmp"),  # may not be read in any case
        ("%lower = icmp", "%q = sdiv i32 %3, %lane\n  %lower = icmp"),
        ("%lower = icmp", "".join(f"%q{n} = add i32 %3, {n}\n  " for n in range(9)) + "%lower = icmp"),  # too much
        ("br i1 %less, label %meet, label %equal\n", "br label %equal\n"),  # a branch alone is LLVM's
        ("br i1 %none, label %meet, label %ask, !dbg !0", "br i1 %none, label %meet, label %ask, !llvm.loop !0"),
    ],
)
def test_other_branches_stay(change):
    assert change[0] in KERNEL
    text = KERNEL.replace(*change)
    if "label %equal\n\nequal" in text and "%less, label" not in text:
        text = text.replace("[ %3, %ask ], ", "").replace("[ %4, %ask ], ", "")
    assert choose_values(text) == text
