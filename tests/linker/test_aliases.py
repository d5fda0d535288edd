"""Functions with several names: what others call by a second name is there."""

import pytest

from tle_raw.linker import link
from tle_raw.linker.llvm.aliases import without_aliases
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.tools.llvmlite_binding import load_llvmlite

pytestmark = pytest.mark.one_triton

LIBRARY = """
@second = alias float (float), ptr @own
@"a third" = weak alias float (float), ptr @second
@one = internal addrspace(1) global float 1.0
@uno = alias float, ptr addrspace(1) @one
define internal float @own(float %x) !dbg !4 {
  %one = load float, ptr addrspace(1) @uno, !dbg !7
  %y = fadd float %x, %one, !dbg !7
  ret float %y, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, runtimeVersion: 0, \
emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "own", scope: !1, file: !1, line: 1, type: !5, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 2, scope: !4)
"""
CALLER = """
define float @top(float %x) {
  %a = call float @second(float %x)
  %b = call float @"a third"(float %a)
  ret float %b
}
declare float @second(float)
declare float @"a third"(float)
"""


def bitcode(text: str) -> bytes:
    return load_llvmlite().parse_assembly(text).as_bitcode()


@pytest.mark.parametrize("form", [str, bitcode])
def test_a_function_is_taken_by_each_of_its_names(form):
    linked = link([("top.ll", CALLER), ("library", form(LIBRARY))], entry="top")
    assert linked.text.count("fadd float") == 2 and "alias" not in linked.text
    assert {symbol.name for symbol in linked.report.symbols} >= {"top", "second", "a third"}
    assert link([("library", form(LIBRARY))], entry="a third").text.count("fadd float") == 1


def test_each_copy_is_right_for_llvm_and_keeps_its_own_linkage():
    text = without_aliases(read_module(LIBRARY)).text
    words = " ".join(text.split())
    assert 'define weak float @"a third"(float %x) {' in words
    assert "define float @second(float %x) {" in words
    assert (
        "@uno" not in text
        and text.count("load float, ptr addrspace(1) @one,") == 3
        and "define internal float @own(float %x) !dbg !4" in text
    )
    load_llvmlite().parse_assembly(text).verify()


@pytest.mark.parametrize(
    "alias",
    [
        "@a = alias i8, ptr getelementptr (i8, ptr @t, i64 4)",
        "@a = alias void (), ptr @b\n@b = alias void (), ptr @a",
        "@a = external global i32",
    ],
    ids=["of a place", "in a circle", "none"],
)
def test_other_aliases_stay(alias):
    text = f"@t = global [2 x i32] zeroinitializer\n{alias}\ndefine void @f() {{\n  ret void\n}}\n"
    assert without_aliases(read_module(text)).text == text
