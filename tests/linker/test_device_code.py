"""LLVM IR as a GPU compiler would leave it, by llvmlite; and clang for this machine, found."""

import re

import pytest

from tle_raw.errors import LinkError, ToolchainError
from tle_raw.linker.device_code import optimise_for_device
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.tools.clang import find_clang

pytestmark = pytest.mark.one_triton

TEXT = """
@ftz = private constant [11 x i8] c"__CUDA_FTZ\\00"
@arch = private constant [12 x i8] c"__CUDA_ARCH\\00"
@text = internal constant [17 x i8] c"  call fastcc \\0A  "
declare float @__nv_sinf(float)
declare i32 @__nvvm_reflect(ptr)
define i32 @arch_of() {
  %a = call i32 @__nvvm_reflect(ptr @arch)
  %f = call i32 @__nvvm_reflect(ptr @ftz)
  %s = add i32 %a, %f
  ret i32 %s
}
define coldcc float @kept(float %x) noinline {
  %y = fadd float %x, f0x3FC00000
  ret float %y
}
define float @entry(float %x, i32 %i) {
  %s = call float @__nv_sinf(float %x)
  %k = call nnan coldcc float @kept(float %s)
  %a = call i32 @arch_of()
  %f = sitofp i32 %a to float
  %r = fadd float %k, %f
  %p = getelementptr i8, ptr @text, i32 %i
  %c = load i8, ptr %p
  %d = sitofp i8 %c to float
  %e = fadd float %r, %d
  ret float %e
}
define void @unused() { ret void }
"""


def test_libdevice_reflection_conventions_and_newer_literals():
    text = optimise_for_device(TEXT, "entry", "sm_80")
    defined = re.findall(r"^define .*?@([\w.]+)\(", text, re.MULTILINE)
    assert sorted(defined) == ["entry", "kept"]
    assert "__nv_sinf(" not in text and "__nvvm_reflect" not in text and "8.000000e+02" in text
    assert "1.500000e+00" in text
    assert "coldcc" not in text and "fastcc float" not in text and 'c"  call fastcc \\0A  "' in text


def test_what_is_no_module_is_refused():
    with pytest.raises(LinkError, match="no valid LLVM IR"):
        optimise_for_device("define float @entry() {\n ret i32 0\n}", "entry", "sm_80")


DEBUG = """
define void @f(i32 %x) !dbg !4 {
    #dbg_value(i32 %x, !8, !DIExpression(), !9)
  ret void, !dbg !9
}
define void @g(i32 %x) !dbg !10 {
  call void @llvm.dbg.value(metadata i32 %x, metadata !8, metadata !DIExpression()), !dbg !9
  ret void
}
declare void @llvm.dbg.value(metadata, metadata, metadata)
!4 = distinct !DISubprogram(name: "f", file: !1, type: !3, unit: !0, retainedNodes: !7, spFlags: DISPFlagDefinition)
!10 = distinct !DISubprogram(name: "g", file: !1, type: !3, unit: !0, retainedNodes: !{!8})
"""


def test_what_is_known_of_variables_is_dropped():
    text = normalise(read_module(DEBUG)).text
    assert "#dbg_value" not in text and "call void @llvm.dbg" not in text and "retainedNodes" not in text
    assert "ret void, !dbg !9" in text and "unit: !0, spFlags: DISPFlagDefinition)" in text


def test_a_clang_is_found_or_refused_with_its_reason(tmp_path):
    assert int(find_clang().version.split(".")[0]) >= 19
    with pytest.raises(ToolchainError, match="no clang of version"):
        find_clang(str(tmp_path / "none"))
    for said, reason in (("echo clang version 12.0.1", "version 12.0.1"), ("exit 3", "it does not run")):
        program = tmp_path / f"clang-{len(said)}"
        program.write_text(f"#!/bin/sh\n{said}\n")
        program.chmod(0o755)
        with pytest.raises(ToolchainError) as caught:
            find_clang(str(program))
        assert reason in caught.value.log
