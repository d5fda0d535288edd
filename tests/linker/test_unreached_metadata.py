"""A module keeps the metadata that something in it names, and LLVM reads the same of it."""

import re

import pytest

from tle_raw.linker.llvm.cut import cut, without_unreached_metadata
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton

DEBUG = """\
define void @f() !dbg !3 {
  ret void
}
define void @g() !dbg !4 {
  ret void
}
!llvm.module.flags = !{!9}
!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.c", directory: "")
!2 = !DISubroutineType(types: !8)
!3 = distinct !DISubprogram(name: "f", file: !1, unit: !0, type: !2, spFlags: DISPFlagDefinition)
!4 = distinct !DISubprogram(name: "g", file: !5, unit: !0, type: !2, spFlags: DISPFlagDefinition)
!5 = !DIFile(filename: "b.c", directory: "")
!8 = !{}
!9 = !{i32 2, !"Debug Info Version", i32 3}
!10 = !{!11}
!11 = !{!10}
"""
LOOP = """\
define void @f() {
  br label %a
a:
  br label %a, !llvm.loop !0
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
!2 = distinct !{!2, !1}
"""
ATTACHED = """\
declare !a !1 void @f()
declare i32 @llvm.read_register.i32(metadata)
@x = global i32 0, align 4, !b !2
@y = global i32 1
define i32 @g() {
  call void @f(), !c !3
  %r = call i32 @llvm.read_register.i32(metadata !6)
  ret i32 %r
}
!1 = !{i32 1}
!2 = !{i32 2}
!3 = !{!4}
!4 = !{ptr @y}
!5 = !{i32 5}
!6 = !{!"esp"}
!7 = !{!"ebp"}
"""
CHAIN = (
    "define void @f() {\n  ret void, !a !5000\n}\n!0 = !{i32 5}\n"
    + "".join(f"!{i} = !{{!{i - 1}}}\n" for i in range(1, 20000))
)  # fmt: skip


def read_by_llvm(text: str) -> str:
    """What LLVM prints of a module: of metadata what is reached, in numbers of its own."""
    llvm = pytest.importorskip("llvmlite.binding")
    module = llvm.parse_assembly(text, context=llvm.create_context())
    module.verify()
    return str(module)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^!(\d+) =", text, re.MULTILINE)]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (DEBUG, [0, 1, 2, 3, 4, 5, 8, 9]),
        (LOOP, [0, 1]),
        (ATTACHED, [1, 2, 3, 4, 6]),
        (CHAIN, list(range(5001))),
        ("define void @f() {\n  ret void\n}\n!0 = !{i32 1}", []),  # without a last line's end
        ("define void @f() {\n  ret void, !a !7\n}\n!007 = !{i32 1}\n!08 = !{i32 4}\n", [7]),
        ("define void @f() {\n  ret void, !a ! 7\n}\n!7 = !{i32 1}\n!8 = !{i32 4}\n", [7]),
        ('define void @"f!3"() {\n  ret void\n}\n!3 = !{i32 1}\n', [3]),  # a name counts: too much may stay
        ("define void @f() {\n  ret void\n}\n", []),
    ],
)
def test_what_is_named_stays_and_nothing_else(text, kept):
    left = without_unreached_metadata(read_module(text))
    assert numbers(left.text) == kept
    assert left.entities == read_module(left.text).entities
    assert read_by_llvm(left.text) == read_by_llvm(text)


def test_what_a_cut_leaves_is_what_llvm_prints():
    left = without_unreached_metadata(cut(read_module(DEBUG), ["f"]))
    assert numbers(left.text) == [0, 1, 2, 3, 8, 9] and "b.c" not in left.text
    assert len(numbers(read_by_llvm(left.text))) == 6


def test_several_nodes_of_one_line_stay():
    text = "define void @f() {\n  ret void, !a !1\n}\n!0 = !{i32 1} !1 = !{!2} !2 = !{i32 3}\n!3 = !{i32 4}\n"
    left = without_unreached_metadata(read_module(text))
    assert "!3" not in left.text and read_by_llvm(left.text) == read_by_llvm(text)
