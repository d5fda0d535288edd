"""The sweep over example scripts: numbers that are right, wrong or not checked, and kernels that fail."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.started import run_python

pytestmark = pytest.mark.one_triton

TOOL = Path(__file__).parents[3] / "tools" / "sweep_tilelang.py"
KERNEL = """
import argparse
import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def scaled(rows, columns, factor):
    @T.prim_func
    def main(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as bx:
            for j in T.Parallel(columns):
                B[bx, j] = A[bx, j] * factor

    return main


parser = argparse.ArgumentParser()
parser.add_argument("--m", type=int, default=100000)
rows = parser.parse_args().m
kernel = scaled(rows, 77, 2.0)
"""
SCRIPTS = {
    "right.py": KERNEL + 'a = torch.randn(rows, 77, device="cuda")\ntorch.testing.assert_close(kernel(a), a * 2)\n',
    "profiled.py": KERNEL + "kernel.get_profiler().assert_allclose(lambda a: a * 2)\n",
    "asserts.py": KERNEL
    + "a = torch.randn(rows, 77).cuda()\ndifference = (kernel(a) - a * 2).abs().max()\nassert difference < 1e-6\n",
    "wrong.py": KERNEL + 'a = torch.randn(rows, 77, device="cuda")\nprint(torch.allclose(kernel(a), a * 3))\n',
    "unchecked.py": KERNEL + 'print(kernel(torch.randn(rows, 77, device="cuda")).shape)\n',
    "ended.py": KERNEL + 'kernel(torch.randn(rows, 77, device="cuda"))\nraise ValueError("before its check")\n',
    "refused.py": KERNEL.replace("A[bx, j] * factor", 'T.call_extern("float32", "nowhere", A[bx, j])')
    + 'kernel(torch.randn(rows, 77, device="cuda"))\n',
    "imports.py": "import no_such_package\nno_such_package.inputs()\n",
    "test_right.py": "raise ValueError('not an example')\n",
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The records of two sweeps, by script: some compiled for a GPU, and all run on the CPU."""
    folder = tmp_path_factory.mktemp("examples")
    for name, text in SCRIPTS.items():
        folder.joinpath(name).write_text(text)
    found = []
    for more in (["--match", "right|imports"], ["--run"]):
        out = folder / "out.json"
        command = [sys.executable, str(TOOL), str(folder), "--jobs", "2", "--limit", "200", "--json", str(out), *more]
        environment = {**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        written = json.loads(out.read_text())
        found.append({kernel["script"]: kernel for kernel in written["kernels"]} | {"table": written["table"]})
    return found


def test_kernels_are_taken_and_compiled(swept):
    compiled, _ = swept
    assert (compiled["right.py"]["outcome"], compiled["right.py"]["route"]) == ("compiled", "traced"), compiled
    assert compiled["right.py"]["registers"] > 0 and compiled["right.py"]["numbers"] == ""
    assert compiled["table"]["CUDA kernels"] == 1 and "test_right.py" not in compiled


@pytest.mark.parametrize("name", ["right.py", "profiled.py", "asserts.py"])
def test_a_check_that_holds(swept, name):
    _, ran = swept
    assert (ran[name]["numbers"], ran[name]["checked_by"]) == ("right", "its script"), ran[name]


def test_a_check_that_fails_without_an_error(swept):
    _, ran = swept
    assert ran["wrong.py"]["numbers"] == "wrong" and "allclose says False" in ran["wrong.py"]["message"]


def test_without_a_check_an_evaluation_of_the_prim_func_says_it(swept):
    _, ran = swept
    for name in ("unchecked.py", "ended.py"):
        assert (ran[name]["numbers"], ran[name]["checked_by"]) == ("right", "float64 evaluation"), ran[name]


def test_what_is_not_expressed_fails_and_says_why(swept):
    _, ran = swept
    assert ran["refused.py"]["numbers"] == "failed" and ran["refused.py"]["outcome"] == "CompilationFailed"


def test_scripts_without_a_kernel_are_apart(swept):
    for records in swept:
        assert "no_such_package is not installed" in records["imports.py"]["message"]
        assert list(records["table"]["scripts without a kernel"]) == ["imports.py"]


LATE = """
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, sys.argv[1])
from tilelang_sweep import example


def endless(*_):
    raise example.TimeIsUp


example.try_kernel = endless
options = SimpleNamespace(capability=90, run=False, list=False, route=None, tests=0, python_path=[], limit=200, most=8)
options.root = Path.cwd()
example.try_script(Path("right.py").resolve(), options)
"""


def test_a_kernel_that_takes_too_long_to_compile_counts_as_one_that_does_not(tmp_path):
    (tmp_path / "right.py").write_text(SCRIPTS["right.py"])
    done = run_python("-c", LATE, str(TOOL.parent), folder=tmp_path)
    (said,) = [json.loads(line[len("SWEEP ") :]) for line in done.stdout.splitlines() if line.startswith("SWEEP ")]
    assert (said["name"], said["outcome"]) == ("main", "TimeIsUp") and "longer than 200 seconds" in said["message"]


PACKAGE = {
    "shop/__init__.py": "",
    "shop/kernels.py": KERNEL[: KERNEL.index("parser =")],
    "shop/ops.py": "from .kernels import scaled\n\n\ndef double(a):\n    return scaled(*a.shape, 2.0)(a)\n",
    "tests/test_ops.py": """
import pytest
import torch
from shop.ops import double


@pytest.mark.parametrize("rows", [100000, 3, 64])
def test_double(rows):
    a = torch.randn(rows, 77, device="cuda")
    torch.testing.assert_close(double(a), a * 2)


def test_wrong():
    a = torch.randn(5, 77, device="cuda")
    assert (double(a) - a * 3).abs().max() < 1e-3, "the difference"


@pytest.mark.skip
def test_never():
    raise ValueError
""",
}


def test_a_packages_own_tests(tmp_path):
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    out = tmp_path / "out.json"
    command = [sys.executable, str(TOOL), str(tmp_path), "--tests", "1", "--run", "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    kernels = {k["case"].rpartition("::")[2]: k for k in json.loads(out.read_text())["kernels"]}
    assert set(kernels) == {"test_double[3]", "test_wrong"}, kernels
    right, wrong = kernels["test_double[3]"], kernels["test_wrong"]
    assert (right["numbers"], right["factory"], right["script"]) == ("right", "shop.ops.double", "tests/test_ops.py")
    assert wrong["numbers"] == "wrong" and "the difference" in wrong["message"]


@pytest.mark.parametrize(
    "alone, factor, told",
    [
        (lambda a: a * 2, 2, ("right", "")),
        (lambda a: a * 2, 3, ("wrong", "B differs by 5.0e-01 of its norm")),
        (
            lambda a: a.new_empty(a.shape).normal_(),
            2,
            ("not checked", "two runs of TileLang alone differ: B differs by"),
        ),
        (lambda a: a.reshape(-1, 4), 2, ("not checked", "TileLang alone: RuntimeError")),
    ],
)
def test_numbers_beside_tilelang_alone(alone, factor, told, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(TOOL.parent))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    from tilelang_sweep.compare import agrees_with_tilelang

    a = torch.randn(5)
    prim_func = SimpleNamespace(params=[SimpleNamespace(name="A"), SimpleNamespace(name="B")])
    kernel = SimpleNamespace(before=[a, None], after=[a, a * factor], results=[1], prim_func=prim_func)
    kernel.session = SimpleNamespace(compile_alone=lambda _: alone)
    numbers, message = agrees_with_tilelang(kernel)
    assert numbers == told[0] and message.startswith(told[1])
