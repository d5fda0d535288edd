"""Flags, macros, names and compilers that do something else than compile: a named error that blames the right one."""

import os
from pathlib import Path

import pytest

import tle_raw
from tle_raw import Element
from tle_raw.errors import CompilationFailed, DialectError, FragmentSourceError, TLEError, ToolchainError
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton
SOURCE = "__device__ float f(float x) { return x * 2.0f; }\n"


def f(x: Element["f32"]) -> Element["f32"]: ...


def refusal(source=SOURCE, **options) -> TLEError:
    with pytest.raises(TLEError) as caught:
        tle_raw.fragment(source, signature=f, dialect="cuda", **options).compile(target="cuda:90")
    return caught.value


QUESTIONS = ["--version", "--help", "-###", "-E", "-P", "-MM", "--print-targets", "-ccc-print-phases", "-save-temps"]


@pytest.mark.parametrize("flag", QUESTIONS)
def test_flags_that_make_the_compiler_do_something_else(flag):
    error = refusal(flags=[flag])
    assert isinstance(error, DialectError) and f"the flag '{flag}' cannot be used here" in error.message


def test_warnings_in_code_that_is_not_the_users_are_the_flags_fault():
    error = refusal(flags=["-Werror"])
    assert isinstance(error, DialectError) and "a flag makes an error of a warning" in error.message
    assert "-Werror=" in error.hint


@pytest.mark.parametrize(("define", "what"), [
    ("A B=1", "no macro's name: 'A B'"), ("=1", "no macro's name: ''"), ("_A B", "no macro's name"),
    ("int=float", "change the word `int`"), ("A=1\n#error", "more than one line"),
])  # fmt: skip
@pytest.mark.parametrize("way", ["flags", "defines"])
def test_macros_that_are_none(define, what, way):
    error = refusal(flags=[f"-D{define}"]) if way == "flags" else refusal(defines=[define])
    assert isinstance(error, DialectError) and what in error.message


@pytest.mark.parametrize("options", [
    {"flags": ["-foo\0bar"]}, {"defines": {"A": "\0"}}, {"include_dirs": ["a\0"]}, {"symbol": "f\ud800"},
    {"source": SOURCE + "\0"}, {"source": "// \ud800\n" + SOURCE},
])  # fmt: skip
def test_characters_that_no_program_takes(options):
    error = refusal(options.pop("source", SOURCE), **options)
    assert isinstance(error, DialectError) and "the character U+" in error.message


@pytest.mark.parametrize("name", ["a\tb.cu", "a b.cu", os.fsdecode(b"a\xffb.cu")])
def test_files_of_any_name(tmp_path, name):
    file, header = tmp_path / name, tmp_path / "two.h"
    header.write_text("#define TWO 2.0f\n")
    file.write_text(f'#include "{header.name}"\n' + SOURCE.replace("2.0f", "TWO"))
    fragment = tle_raw.fragment(file, signature=f, dialect="cuda")
    assert fragment.compile(target="cuda:90").entry and set(fragment.files) == {file, header}
    file.write_text("int x = ;\n" + SOURCE)
    error = refusal(file)
    assert error.context.source.file == str(file) and str(error).encode()


def test_a_name_that_the_compiler_cannot_tell(tmp_path):
    file = tmp_path / "a\\b.cu"
    file.write_text(SOURCE)
    error = refusal(file)
    assert isinstance(error, FragmentSourceError) and "backslash" in error.hint


def test_devices_and_pipes_are_no_headers(tmp_path):
    error = refusal(f'#include "/dev/zero"\n{SOURCE}')
    assert isinstance(error, FragmentSourceError) and "/dev/zero, which is no regular file" in error.message


FACTS = '--version) echo "clang version 21.1.0"; exit;; --print-targets) echo nvptx64; exit;;'


def fake_compiler(folder: Path, script: str) -> Path:
    """It tells what a clang tells of itself, and then does something else."""
    compiler = folder / "clang"
    compiler.write_text(f'#!/bin/sh\ncase "$1" in {FACTS} -print-resource-dir) echo /none; exit;; esac\n{script}\n')
    compiler.chmod(0o755)
    return compiler


@pytest.mark.parametrize(("script", "kind", "what"), [
    ("exit 0", ToolchainError, "nothing"),
    ('for a; do [ "$p" = -o ] && echo "garbage {" > "$a"; p=$a; done', ToolchainError, "something else"),
    ('for a; do [ "$p" = -o ] && echo "; none" > "$a"; p=$a; done', ToolchainError, "without a function"),
    ("kill -9 $$", CompilationFailed, "crashed (SIGKILL)"),
    ("exit 3", CompilationFailed, "return code 3"),
])  # fmt: skip
def test_a_compiler_that_writes_no_code(tmp_path, script, kind, what):
    compiler = fake_compiler(tmp_path, script)
    with knobs.scope():
        knobs.cuda.clang = str(compiler)
        error = refusal(f"// {Path(script).name}\n{SOURCE}")
    assert isinstance(error, kind) and what in str(error) and str(compiler) in str(error)


@pytest.mark.parametrize("said", ["", "hello", "{ not json"])
def test_a_compiler_that_tells_no_prototype(tmp_path, said):
    compiler = tmp_path / "clang"
    compiler.write_text(
        f'#!/bin/sh\ncase "$1" in {FACTS} -print-resource-dir) echo /none; exit;; esac\necho "{said}"\n'
    )
    compiler.chmod(0o755)
    with knobs.scope(), pytest.raises(ToolchainError, match="told no prototype") as caught:
        knobs.cuda.clang = str(compiler)
        tle_raw.fragment(f"// {said}\n{SOURCE}", dialect="cuda", symbol="f")
    assert str(compiler) in str(caught.value)
