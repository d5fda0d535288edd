"""Addresses add their offsets up first, and point where they pointed."""

import ctypes

import pytest

from tests.linker.machine import run_function
from tle_raw.linker.llvm.join_offsets import join_offsets

TEXT = """define i64 @f(ptr %p, i64 %a, i64 %b, i64 %c) {
  %1 = getelementptr inbounds float, ptr %p, i64 %a, !dbg !0
  %2 = mul i64 %b, %c
  %3 = getelementptr inbounds nuw float, ptr %1, i64 %2
  %4 = getelementptr float, ptr %3, i64 %c
  %5 = ptrtoint ptr %4 to i64
  ret i64 %5
}
"""


@pytest.mark.parametrize("element", ["float", "[4 x i8]"])  # the second as LLVM of Triton 3.9 spells it
def test_three_steps_are_one(element):
    found = join_offsets(TEXT.replace(", !dbg !0", "").replace("float, ptr", f"{element}, ptr"))
    assert f'%4 = getelementptr {element}, ptr %p, i64 %"4.tle.offset"' in found
    word = ctypes.c_int64
    with run_function(found, "f", word, word, word, word, word) as call:
        assert call(1000, 3, 5, 7) == 1000 + 4 * (3 + 5 * 7 + 7)
        assert call(1000, -3, 5, -7) == 1000 + 4 * (-3 - 35 - 7)


@pytest.mark.parametrize(
    "change",
    [
        ("float, ptr %1", "double, ptr %1"),
        ("  %2 = mul i64 %b, %c", "  %2 = ptrtoint ptr %1 to i64"),  # used twice
        ("  %2 = mul i64 %b, %c", "  br label %next\n\nnext:\n  %2 = mul i64 %b, %c"),  # a loop may be between
    ],
)
def test_what_is_shared_or_of_another_kind_stays(change):
    assert change[0] in TEXT
    text = join_offsets(TEXT.replace(*change))
    assert "ptr %1, i64 %2" in text
