"""The compiler's messages arrive at the user's lines; its own failures say what to do."""

import stat
import sys

import pytest

from tle_raw.adapters.cpp.diagnostics import parse_diagnostics
from tle_raw.errors import CompilationFailed, DialectError, SourceLocation, ToolchainError
from tle_raw.knobs import knobs

pytestmark = pytest.mark.one_triton


def test_an_error_has_line_column_and_text(cuda):
    with pytest.raises(CompilationFailed, match="undeclared identifier 'nothing'") as error:
        cuda.compile("__device__ void f() {\n  int ü = 1; nothing = 2;\n  also = 3;\n}")
    place = error.value.context.source
    assert (place.line, place.text) == (2, "  int ü = 1; nothing = 2;")
    assert place.text[place.column - 1 :].startswith("nothing")
    assert "also" in error.value.log


SOURCE = """
__device__ void g() {
  wrong_here = 1;
}
"""


def test_a_source_string_maps_to_the_python_file(cuda):
    read = cuda.read(source=SOURCE, place=SourceLocation(__file__, 1), name="g")
    with pytest.raises(CompilationFailed) as error:
        cuda.compile(read, name="g")
    place = error.value.context.source
    assert place.file == __file__
    with open(__file__, encoding="utf-8") as file:
        assert "wrong_here = 1;" in file.read().splitlines()[place.line - 1]


def test_lines_of_the_user_are_in_the_ir(cuda, tmp_path):
    file = tmp_path / "lines.cu"
    file.write_text("\n\n__device__ void f(float* t) {\n  t[threadIdx.x] = 1.0f;\n}\n")
    output = cuda.compile(cuda.read(file=file), ("t: Out tile f32 32",))
    assert f'!DIFile(filename: "{file}"' in output.text
    assert "!DILocation(line: 4" in output.text and "!dbg" in output.text
    with knobs.scope():
        knobs.line_info = False
        assert "!dbg" not in cuda.compile(cuda.read(file=file), ("t: Out tile f32 32",)).text


def test_an_error_in_a_header_names_the_header(cuda, tmp_path):
    (tmp_path / "mine.h").write_text("\n__device__ int broken() { return oops; }\n")
    (tmp_path / "a.cu").write_text('#include "mine.h"\n__device__ void f() {}\n')
    with pytest.raises(CompilationFailed) as error:
        cuda.compile(cuda.read(file="a.cu", folder=tmp_path))
    assert error.value.context.source.file == str(tmp_path / "mine.h")
    assert error.value.context.source.line == 2


def test_an_error_inside_a_template_is_at_the_users_line(cuda):
    text = 'template <int M> __device__ void f(tle::tile<float, M> t) {\n  static_assert(M == 3, "three only");\n}'
    with pytest.raises(CompilationFailed, match="three only") as error:
        cuda.compile(text, ("t: tile f32 8",), names={"M": 8})
    assert error.value.context.source.line == 2


def test_misuse_of_a_tile_is_at_the_users_line(cuda):
    with pytest.raises(CompilationFailed, match="one index a dim") as error:
        cuda.compile("__device__ void f(tle::tile<float, 8> t) {\n  t(1, 2) = 3;\n}", ("t: tile f32 8",))
    assert error.value.context.source.line == 2


def test_a_bracket_that_stays_open_is_named(cuda):
    with pytest.raises(CompilationFailed, match="never closed") as error:
        cuda.compile("__device__ void f() {\n  if (1) {\n}")
    assert error.value.context.source.line == 1


def test_warnings_of_the_user_are_kept(cuda):
    output = cuda.compile("__device__ void f() { int a[2]; a[5] = 1; }")
    assert "past the end" in output.warnings
    assert cuda.compile("__device__ void f() {}").warnings == ""


@pytest.mark.parametrize(
    ("header", "hint"), [("cub/none.cuh", "nvidia-cuda-cccl"), ("cutlass/none.h", "include_dirs"),
                         ("cuda_none.h", "toolkit")]
)  # fmt: skip
def test_a_missing_cuda_header_names_its_package(cuda, header, hint):
    with pytest.raises(ToolchainError) as error:
        cuda.compile(f"#include <{header}>\n__device__ void f() {{}}")
    assert hint in error.value.hint
    assert error.value.context.source.line == 1


def test_an_architecture_that_clang_does_not_know_is_a_toolchain_error(cuda):
    with pytest.raises(ToolchainError, match="sm_110a"):
        cuda.compile("__device__ void f() {}", target="cuda:110")


def test_another_backend_is_refused(cuda):
    with pytest.raises(DialectError, match="rocm"):
        cuda.compile("__device__ void f() {}", target="rocm")


def fake_clang(path, body):
    """A clang that answers questions about itself and then does what `body` says."""
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\nargs = sys.argv[1:]\n" + (
        "if '--version' in args: print('clang version 21.1.0')\n"
        "elif '--print-targets' in args: print('nvptx64')\n"
        f"elif '-print-resource-dir' in args: print({str(path.parent)!r})\n"
        f"else:\n    {body}\n"
    ))  # fmt: skip
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (path.parent / "include").mkdir(exist_ok=True)
    (path.parent / "include" / "__clang_cuda_runtime_wrapper.h").touch()
    return path


@pytest.mark.parametrize(
    ("body", "message"),
    [("os.abort()", "crashed"), ("sys.exit(1)", "return code 1"), ("time.sleep(60)", "did not finish within 1 ")],
)
def test_a_compiler_that_fails_itself_is_reported_with_its_command(cuda, tmp_path, body, message):
    with knobs.scope():
        knobs.cuda.clang = fake_clang(tmp_path / "clang", body)
        knobs.compile_timeout = 1.0 if "sleep" in body else 60.0
        with pytest.raises(CompilationFailed, match=message) as error:
            cuda.compile(f"__device__ void f() {{ /* {message} */ }}")
    assert "21.1.0" in error.value.log and "--cuda-device-only" in error.value.log


def test_messages_are_read_with_their_notes_and_includes():
    (error,) = parse_diagnostics(
        "In file included from /a b/x.cu:3:\n/a b/y.h:4:5: error: bad: worse\n/a b/x.cu:9:1: note: from here\n"
        "2 errors generated.\n"
    )
    assert (error.location.file, error.location.line, error.text) == ("/a b/y.h", 4, "bad: worse")
    assert error.included_from[0].line == 3
    assert error.notes[0].location.line == 9


def test_a_cuda_type_without_its_header_gets_a_hint(cuda):
    with pytest.raises(CompilationFailed) as caught:
        cuda.compile("__device__ __half other(__half x) { return x; }\n__device__ void f() {}")
    assert "#include <cuda_fp16.h>" in caught.value.hint
