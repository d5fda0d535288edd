"""``tle-raw port``, with a dialect of the test's own and with files that do not behave."""

import json
import time

import pytest

from tle_raw.cli import main
from tle_raw.cli.port import argument

pytest.importorskip("tilelang")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some_kernels.py"
    path.write_text("import tilelang\n")
    return path


def run(*arguments):
    return main(["port", *map(str, arguments)])


@pytest.mark.one_triton
def test_arguments_are_values_or_words():
    assert [argument(t) for t in ("M=64", "f:dtype=float16", "s=(1, 2)", "t=1e-3")] == [
        ("M", 64),
        ("f:dtype", "float16"),
        ("s", (1, 2)),
        ("t", 1e-3),
    ]


@pytest.mark.one_triton
@pytest.mark.parametrize(
    "wrong", [["--arguments", "M"], ["--arguments", "1=2"], ["--target", "cpu"], ["--print", "-o", "x"]]
)
def test_options_that_are_wrong(file, wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(file, *wrong)
    assert stopped.value.code == 2


@pytest.mark.one_triton
def test_no_such_file(tmp_path, capsys):
    assert run(tmp_path / "gone.py") == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.one_triton
def test_a_file_of_no_language_that_is_ported(tmp_path, capsys):
    (tmp_path / "plain.py").write_text("x = 1\n")
    assert run(tmp_path / "plain.py") == 2
    assert "--dialect tilelang" in capsys.readouterr().err
    assert run(tmp_path / "plain.py", "--dialect", "cuda") == 2
    assert "cannot be ported" in capsys.readouterr().err


@pytest.mark.one_triton
def test_nothing_is_overwritten(file, capsys):
    output = file.with_name("some_kernels_triton.py")
    output.write_text("mine")
    assert run(file) == 2
    assert "--force" in capsys.readouterr().err and output.read_text() == "mine"
    assert run(file, "-o", file, "--force") == 2
    assert "is the file itself" in capsys.readouterr().err
    assert run(file, "-o", file.parent / "no" / "out.py") == 2
    assert "no such folder" in capsys.readouterr().err


@pytest.mark.one_triton
def test_a_file_that_crashes_does_not_crash_the_tool(file, capsys):
    lines = ["import os, signal, tilelang", 'print("last words", flush=True)', "os.kill(os.getpid(), signal.SIGKILL)"]
    file.write_text("\n".join(lines))
    assert run(file) == 2
    told = capsys.readouterr().err
    assert "crashed (SIGKILL)" in told and "last words" in told


@pytest.mark.one_triton
def test_a_file_that_does_not_end_is_ended(file, capsys):
    file.write_text("import tilelang, time\ntime.sleep(300)\n")
    start = time.monotonic()
    assert run(file, "--limit", "4") == 2
    assert "did not end within 4 seconds" in capsys.readouterr().err and time.monotonic() - start < 60


@pytest.mark.one_triton
def test_a_file_that_fails_is_told_with_its_line(file, capsys):
    file.write_text("import tilelang\n\nx = [][3]\n")
    assert run(file) == 2
    told = capsys.readouterr().err
    assert "IndexError" in told and f"{file}:3" in told and "x = [][3]" in told


@pytest.mark.one_triton
def test_the_text_and_the_exit_code_of_a_kernel_without_a_route(file, capsys):
    file.write_text(
        "import tilelang.language as T\n\n\n"
        "@T.prim_func\n"
        'def unknown(A: T.Tensor((64,), "float32")):\n'
        "    with T.Kernel(1, threads=64) as _:\n"
        "        for i in T.Parallel(64):\n"
        '            A[i] = T.call_extern("float32", "no_such", A[i])\n'
    )
    assert run(file) == 1
    told = capsys.readouterr().out
    assert "no Triton file: no kernel has a route" in told and not file.with_name("some_kernels_triton.py").exists()
    assert "  no route, because of\n" in told and '      A[i] = T.call_extern("float32", "no_such", A[i])\n' in told
    assert run(file, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["kernels"][0]["route"] == "" and told["output"] is None


def test_a_file_that_is_printed(file, capsys):
    file.write_text(
        "import tilelang.language as T\n\n\n"
        "@T.prim_func\n"
        'def fill(A: T.Tensor((64,), "float32")):\n'
        "    with T.Kernel(1, threads=64) as _:\n"
        "        for i in T.Parallel(64):\n"
        "            A[i] = 1.0\n"
    )
    assert run(f"{file}:fill", "--print") == 0
    captured = capsys.readouterr()
    compile(captured.out, "printed", "exec")
    assert 'fill_region = tle_raw.fragment(source.fill, in_grid=True, tiles=["A"])' in captured.out
    assert "cuda:90   traced" in captured.err and "wrote" not in captured.err
    assert [p.name for p in file.parent.iterdir() if p.suffix == ".py"] == [file.name]
