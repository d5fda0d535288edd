"""Loops that have been unrolled are marked, and nothing else is."""

from tle_raw.linker.llvm.finished_loops import finish_loops

TEXT = """define void @f() {
  br label %1

1:
  br label %1, !llvm.loop !2
}

!1 = !{!"llvm.loop.mustprogress"}
!2 = distinct !{!2, !1}
!3 = distinct !{!3, !1}
"""


def test_a_loop_that_is_marked_is_not_unrolled_again():
    found = finish_loops(TEXT)
    assert "!2 = distinct !{!2, !1, !4}\n!3 = distinct !{!3, !1}\n" in found
    assert found.endswith('!4 = !{!"llvm.loop.disable_nonforced"}\n')


def test_a_module_without_loops_stays():
    text = TEXT.replace(", !llvm.loop !2", "")
    assert finish_loops(text) == text
