"""The command line: what it prints, and its exit codes."""

import subprocess
import sys

import pytest

from tle_raw.cli import main
from tle_raw.cli.amounts import age_text, bytes_text
from tle_raw.cli.cache import duration, size
from tle_raw.columns import columns
from tle_raw.knobs import knobs
from tle_raw.store import Store

pytestmark = pytest.mark.every_triton(2)


@pytest.fixture
def cache(tmp_path):
    with knobs.scope():
        knobs.cache.dir = tmp_path / "cache"
        yield Store(tmp_path / "cache")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A Python file with two fragments; what its import leaves behind goes with the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "some_kernels.py"
    path.write_text(
        "import tle_raw\n"
        "from tle_raw import Element, InOut, Tile\n"
        "@tle_raw.dialect('cuda', source='__device__ float half_of(float x) { return x / 2; }')\n"
        "def half_of(x: Element['f32']) -> Element['f32']: ...\n"
        "@tle_raw.dialect('cuda', source='extern \"C\" __device__ void fill(float* t) { *t = 1; }')\n"
        "def fill(t: InOut[Tile['f32', 'M']]): ...\n"
    )
    yield path
    sys.modules.pop("some_kernels", None)


def test_without_a_command_it_says_how(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_the_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "tle_raw", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("tle_raw ")


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m tle_raw --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr


# cache


@pytest.mark.one_triton
def test_cache_path(cache, capsys):
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(cache.root)


@pytest.mark.one_triton
def test_cache_list_and_size(cache, capsys):
    assert main(["cache", "list"]) == 0
    assert "empty" in capsys.readouterr().out
    cache.save("0123abcd", "text", {"name": "scale"})
    cache.save("4567abcd", "text" * 1000, {})
    assert main(["cache", "list"]) == 0
    listed = capsys.readouterr().out
    assert "0123abcd  scale" in listed
    assert "4.2 kB" in listed
    assert main(["cache", "size"]) == 0
    assert capsys.readouterr().out.startswith("2 entries, ")


@pytest.mark.one_triton
def test_cache_clear(cache, capsys):
    cache.save("k", "text", {})
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith("1 entries removed")
    assert not cache.entries()


@pytest.mark.one_triton
def test_cache_prune(cache, capsys):
    cache.save("k", "x" * 2000, {})
    assert main(["cache", "prune", "--older-than", "1h", "--max-size", "1M"]) == 0
    assert capsys.readouterr().out.startswith("0 entries removed")
    assert main(["cache", "prune", "--max-size", "1k"]) == 0
    assert capsys.readouterr().out.startswith("1 entries removed")


@pytest.mark.one_triton
@pytest.mark.parametrize("option", [["--older-than", "soon"], ["--max-size", "1x"], ["--max-size", "-3"]])
def test_cache_prune_refuses_what_is_no_limit(cache, capsys, option):
    with pytest.raises(SystemExit) as stopped:
        main(["cache", "prune", *option])
    assert stopped.value.code == 2
    assert "such as" in capsys.readouterr().err or option == ["--max-size", "-3"]


@pytest.mark.one_triton
def test_units():
    assert [duration(t) for t in ("45s", "90m", "12h", "30d")] == [45, 5400, 43200, 2592000]
    assert [size(t) for t in ("12", "800k", "500M", "1.5GB")] == [12, 800_000, 500_000_000, 1_500_000_000]
    assert [bytes_text(n) for n in (12, 1500, 2.5e6, 5e12)] == ["12 bytes", "1.5 kB", "2.5 MB", "5000.0 GB"]
    assert [age_text(n) for n in (-1, 5, 120, 7200, 1e6)] == ["0 s", "5 s", "2 min", "2 h", "12 d"]


@pytest.mark.one_triton
def test_columns_line_up():
    assert columns([("a", "bb", "x"), ("ccc", "d", "")]) == ["  a    bb  x", "  ccc  d"]


@pytest.mark.one_triton
def test_an_error_is_printed_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr("tle_raw.cli.cache.Cache", lambda root: knobs.no_such_setting)
    assert main(["cache", "size"]) == 2
    printed = capsys.readouterr()
    assert "no_such_setting" in printed.err
    assert "Traceback" not in printed.err


# doctor


def test_doctor_finds_this_environment_usable(cache, capsys):
    code = main(["doctor"])
    printed = capsys.readouterr().out
    for what in ("Python", "Triton", "LLVM in Triton", "ptxas", "clang", "CUDA headers", str(cache.root)):
        assert what in printed
    assert code == 0, printed
    assert "CUDA fragments compile on this machine." in printed
    assert "TLE_RAW_CACHE_DIR" in printed, "it differs from the default"


def test_doctor_says_what_to_install(cache, capsys, monkeypatch):
    from tle_raw.adapters.cuda import adapter
    from tle_raw.fragments.adapter import Finding

    missing = Finding("clang", "", "nothing found", "pip install 'tle_raw[cuda]'", is_required=True)
    monkeypatch.setattr(adapter, "describe_toolchain", lambda: (missing,))
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "MISSING  clang" in printed
    assert "install or change: pip install 'tle_raw[cuda]'" in printed


def test_doctor_refuses_a_triton_out_of_range(cache, capsys, monkeypatch):
    import triton

    from tle_raw import triton_version

    monkeypatch.setattr(triton, "__version__", "3.10.1")
    monkeypatch.setattr(triton_version, "VERSION", (3, 10))
    assert main(["doctor"]) == 1
    assert "3.6 to 3.9" in capsys.readouterr().out


def test_doctor_shows_a_setting_that_cannot_be_read(cache, capsys, monkeypatch):
    monkeypatch.setenv("TLE_RAW_COMPILE_TIMEOUT", "soon")
    assert main(["doctor"]) == 1
    assert "TLE_RAW_COMPILE_TIMEOUT" in capsys.readouterr().out


def test_doctor_reports_a_cache_that_cannot_be_written(capsys):
    with knobs.scope():
        knobs.cache.dir = "/proc/tle_raw"
        assert main(["doctor"]) == 0, "kernels compile all the same"
    assert "cannot be written" in capsys.readouterr().out


# prototype and inspect


def test_prototype_prints_every_fragment_of_a_file(file, capsys):
    assert main(["prototype", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "float half_of(float x)" in printed
    assert "void fill(" in printed


def test_prototype_of_one_fragment(file, capsys):
    assert main(["prototype", f"{file}:half_of"]) == 0
    assert "fill" not in capsys.readouterr().out


def test_a_module_is_named_as_it_is_imported(file, capsys, monkeypatch):
    monkeypatch.syspath_prepend(file.parent)
    assert main(["prototype", "some_kernels:half_of"]) == 0
    assert "half_of" in capsys.readouterr().out


def test_inspect_compiles_without_a_gpu(file, cache, capsys):
    assert main(["inspect", f"{file}:fill", "--target", "cuda:80", "-D", "M=64"]) == 0
    printed = capsys.readouterr().out
    assert "fill for cuda:80" in printed
    assert "t: Tile[f32, 64]" in printed
    assert "static shared  0 bytes" in printed
    assert str(cache.folder) in printed
    assert main(["inspect", f"{file}:half_of", "--llvm"]) == 0
    assert "fdiv" in (printed := capsys.readouterr().out) or "fmul" in printed


def test_inspect_takes_its_target_from_the_knob(file, cache, capsys):
    knobs.target = "cuda:89"
    assert main(["inspect", f"{file}:half_of"]) == 0
    assert "half_of for cuda:89" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prototype", "{file}:half_off"], "it has half_of"),
        (["prototype", "/nowhere/kernels.py"], "no such file"),
        (["prototype", "no_such_module_at_all"], "no_such_module_at_all"),
        (["prototype", "json"], "declares no fragment"),
        (["inspect", "{file}:fill"], "M"),
        (["inspect", "{file}:half_of", "--target", "9.0"], "unknown target"),
    ],
)
def test_a_mistake_is_a_message_and_code_two(file, cache, capsys, arguments, message):
    assert main([a.replace("{file}", str(file)) for a in arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err


def test_a_file_that_fails_shows_where(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    broken = tmp_path / "broken_kernels.py"
    broken.write_text("x = 1\ny = x / 0\n")
    assert main(["prototype", str(broken)]) == 2
    printed = capsys.readouterr().err
    assert "ZeroDivisionError" in printed
    assert "line 2" in printed


def test_a_binding_needs_a_name_and_a_value(file, capsys):
    with pytest.raises(SystemExit):
        main(["inspect", str(file), "-D", "M"])
    assert "NAME=VALUE" in capsys.readouterr().err
