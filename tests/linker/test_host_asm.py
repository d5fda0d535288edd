"""Assembly of a kernel for the CPU is read as LLVM prints it."""

import pytest

pytest.importorskip("llvmlite")

from tle_raw.host.assembly import read_host_asm
from tle_raw.host.code import assemble, link_host_code
from tle_raw.linker.machine_code.elf import visible_functions

pytestmark = pytest.mark.one_triton

TEXT = """\t.text
\t.type\thelper,@function
helper:
\tmovl\t$1, %eax
\tjmp\texpf@PLT
.Lfunc_end0:
\t.size\thelper, .Lfunc_end0-helper
\t.globl\ttle_launch
\t.p2align\t4
\t.type\ttle_launch,@function
tle_launch:
\t.cfi_startproc
\t#APP
\tnop
\t#NO_APP
.LBB1_1:
\tcallq\thelper
\tcallq\t*%rax
\tcallq\t"tle.odd name"
\tjmp\t.LBB1_1
\t.cfi_endproc
.Lfunc_end1:
\t.size\ttle_launch, .Lfunc_end1-tle_launch
\t.type\t"tle.odd name",@function
"tle.odd name":
\tretq
.Lfunc_end2:
\t.size\t"tle.odd name", .Lfunc_end2-"tle.odd name"
\t.type\ttable,@object
table:
\t.long\t7
\t.size\ttable, 4
"""


def test_functions_have_their_instructions_and_lines():
    code = read_host_asm(TEXT)
    assert [(f.name, f.instructions) for f in code.functions] == [("helper", 2), ("tle_launch", 5), ("tle.odd name", 1)]
    lines = TEXT.splitlines()
    for function in code.functions:
        assert lines[function.first_line - 1].strip('":') == function.name
        assert lines[function.last_line - 1].startswith(".Lfunc_end")


def test_calls_are_those_by_name_tail_calls_too():
    code = read_host_asm(TEXT)
    assert code.function("helper").calls == ("expf",)
    assert code.function("tle_launch").calls == ("helper", "tle.odd name")
    assert code.function("table") is None


def test_visible_in_its_object_are_the_global_names():
    assert visible_functions(assemble(TEXT)) == ["tle_launch"]


def test_what_llvm_prints_is_read_and_its_object_agrees():
    kernel = """
        declare float @sinf(float)
        define weak hidden float @hidden(float %x) noinline { %y = fadd float %x, 1.0 ret float %y }
        define internal float @kept(float %x) noinline { %y = call float @sinf(float %x) ret float %y }
        define void @tle_launch(ptr %p, ptr %g, i64 %first, i64 %last, ptr %c) {
          %w = load float, ptr %p
          %x = call float @hidden(float %w)
          %y = call float @kept(float %x)
          store float %y, ptr %p
          ret void
        }
    """
    assembly = link_host_code(kernel)
    code = read_host_asm(assembly)
    assert {f.name for f in code.functions} == {"hidden", "kept", "tle_launch"}
    assert code.function("kept").calls == ("sinf",) and code.function("tle_launch").calls == ("hidden", "kept")
    assert visible_functions(assemble(assembly)) == ["tle_launch"]


def test_text_that_is_no_assembly_holds_no_functions():
    assert read_host_asm("").functions == () and read_host_asm("\x00{}\n").functions == ()
