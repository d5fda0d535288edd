"""The examples of README.md and of the pages that go on with its quickstart do what is written there."""

import importlib.util
import os
import sys

import pytest

import tle_raw
from tests.documents import examples, text
from tests.started import run_python
from tests.support import compile_kernel

PAGES = ("README.md", "docs/cpu.md", "docs/inspection.md", "docs/mlir.md")
EXAMPLES = examples(*PAGES)


@pytest.fixture
def quickstart(tmp_path):
    for name, code in EXAMPLES.items():
        (tmp_path / name).write_text(code)
    spec = importlib.util.spec_from_file_location("scale", tmp_path / "scale.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["scale"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["scale"]


SIGNATURE = {"x_ptr": "*fp32", "s_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}


def test_the_quickstart_compiles_to_one_kernel(quickstart):
    report = tle_raw.report(compile_kernel(quickstart.kernel, SIGNATURE, {"B": 64}))
    assert report.one_kernel and report.regions[0].inlined
    assert "tile_scale" in str(report)


def test_the_plain_pointer_form_fits_the_same_signature(quickstart, tmp_path):
    fragment = tle_raw.fragment(tmp_path / "tile_scale.cu", signature=quickstart.tile_scale.signature)
    assert fragment.compile(M=64, N=64).instructions > 0


def test_the_quickstart_runs_on_the_cpu(quickstart, tmp_path):
    pytest.importorskip("torch")
    environment = {**os.environ, "TLE_RAW_TARGET": "cpu"}
    done = run_python(tmp_path / "scale.py", environment=environment)
    assert done.returncode == 0, done.stderr
    assert "kernel `kernel` for cpu" in done.stdout and "a team of 128 threads" in done.stdout


def test_the_debugging_example_prints_what_the_page_shows(quickstart, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(tmp_path))
    with tle_raw.knobs.scope():
        exec(compile((tmp_path / "debugging.py").read_text(), "debugging.py", "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out.replace(f"{tmp_path}/", "").rstrip().splitlines()
    assert len(printed) == 4
    assert "\n".join(printed[:3]) in text("docs/cpu.md"), "the caret's column differs from one Triton to the next"


def test_every_other_python_example_runs(quickstart, tmp_path, monkeypatch):
    others = [n for n, code in EXAMPLES.items() if n.endswith(".py") and '"__main__"' not in code]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in others:
        with tle_raw.knobs.scope():
            exec(compile((tmp_path / name).read_text(), name, "exec"), {"__name__": "example"})


@pytest.mark.parametrize("name", ["normalise_rows.py", "scale_module.py"])
def test_the_mlir_examples_run(quickstart, tmp_path, name):
    done = run_python(name, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = {"normalise_rows.py": "a team of 128 threads", "scale_module.py": "double(t: InOut[memref<64x64xf32, 3>])"}
    assert shown[name] in done.stdout
