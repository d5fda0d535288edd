"""Texts that end LLVM's process, or would: a named error at the user's line, and this process lives."""

import pytest

import tle_raw
from tle_raw import Element, InOut, Tile
from tle_raw.adapters.common.device_llvm import check
from tle_raw.errors import CompilationFailed, DialectError, FragmentSourceError
from tle_raw.linker.processes.child_process import Finished

IDENTITY = "define float @g(float %x) {\n  ret float %x\n}\n"
FLAGS = '!llvm.module.flags = !{!0}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n'
BOTH = pytest.mark.parametrize("target", ["cuda:90", "cpu"])


def g(x: Element["f32"]) -> Element["f32"]: ...
def f(t: InOut[Tile["f32", 64]]): ...


@BOTH
def test_a_broken_module_with_debug_info(refusal, target):
    """LLVM's reader ends the process over it before its verifier is asked."""
    body = "  %a = add i32 %b, 1\n  %b = add i32 1, 1\n  ret void"
    error = refusal(f"define void @f(ptr addrspace(3) %t) {{\n{body}\n}}\n{FLAGS}", f, target=target)
    assert isinstance(error, CompilationFailed) and "does not dominate all uses" in str(error)
    assert error.context.source is not None


def test_debug_info_that_is_not_valid_is_left_out_with_a_warning(declare):
    wrong = (
        IDENTITY.replace("(float %x) {", "(float %x) !dbg !1 {") + FLAGS + "!llvm.dbg.cu = !{!2}\n"
        '!1 = distinct !DISubprogram(name: "g", unit: !2, file: !3, type: !0)\n'
        "!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !3, emissionKind: FullDebug)\n"
        '!3 = !DIFile(filename: "a", directory: "b")\n'
    )
    compiled = declare(wrong, g).compile(target="cuda:90")
    assert compiled.warnings == check.STRIPPED and "DISubprogram" not in compiled.text


@pytest.mark.parametrize(("opened", "closed"), ["{}", "[]", "()"])
def test_deep_nesting(refusal, opened, closed):
    error = refusal(f"{IDENTITY}@h = external global {opened * 100_000}i8{closed * 100_000}", g)
    assert isinstance(error, CompilationFailed) and "more than 64 deep" in error.message
    assert error.context.source.line and len(str(error)) < 2000


@pytest.mark.parametrize(
    "line", ["target triple", "target", "target triple =", 'target triple = "a" "b"', "target 7 = 8"]
)
def test_a_target_without_its_value(refusal, line):
    error = refusal(f"{line}\n{IDENTITY}", g)
    assert isinstance(error, CompilationFailed) and "cannot be read" in error.message


def test_a_crash_of_llvm_is_an_error(refusal, monkeypatch):
    monkeypatch.setattr(check, "run_python", lambda *_, **__: Finished(-11, b"", "Stack dump:\n"))
    error = refusal(f"; crash\n{IDENTITY}", g)
    assert isinstance(error, CompilationFailed) and error.message == "LLVM crashed (SIGSEGV)"
    monkeypatch.setattr(check, "run_python", lambda *_, **__: Finished(None, b"", ""))
    assert "did not finish" in refusal(f"; hang\n{IDENTITY}", g).message


@pytest.mark.parametrize("wrong", ["\0", "\ud800", "\udcff"])
def test_text_that_no_file_can_hold(refusal, wrong):
    error = refusal(f"; one\n; {wrong}\n{IDENTITY}", g)
    assert isinstance(error, DialectError) and f"U+{ord(wrong):04X}, in its line 2" in error.message


def test_a_pipe_is_no_source(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.ll")
    with pytest.raises(FragmentSourceError, match="no regular file"):
        tle_raw.fragment(tmp_path / "pipe.ll", signature=g).compile(target="cuda:90")
