"""``tle-raw port`` of one script with kernels of many kinds: what it says, and the file that it writes."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tle_raw
from tests.started import run_python

SCRIPT = Path(__file__).with_name("many_kernels.py")
ROOT = Path(__file__).parents[4]

# Eight kernels, each for two targets: half a minute. On every Triton test_cli_port.py ports one kernel.
pytestmark = pytest.mark.one_triton


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("port")
    (folder / "many_kernels.py").write_text(SCRIPT.read_text())
    return folder


@pytest.fixture(scope="module")
def told(folder):
    """The command's JSON, and beside it the file that it wrote."""
    arguments = ["many_kernels.py", "--json", "--arguments", "sized:rows=10", "columns=40", "size=1000"]
    done = subprocess.run(
        [sys.executable, "-m", "tle_raw", "port", *arguments], capture_output=True, text=True, cwd=folder, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture
def module(told, folder, monkeypatch):
    """The file that was written, imported; what it starts runs on the CPU."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("written", folder / "many_kernels_triton.py")
    module = importlib.util.module_from_spec(spec)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        spec.loader.exec_module(module)
        yield module
    sys.modules.pop("many_kernels", None)


def line_of(text):
    (found,) = [n for n, line in enumerate(SCRIPT.read_text().splitlines(), 1) if text in line]
    return found


def kernel(told, name):
    return next(k for k in told["kernels"] if k["name"] == name)


def test_every_prim_func_is_told_once_with_its_line(told):
    places = {k["name"]: (k["program"], k["place"]["line"]) for k in told["kernels"]}
    assert places == {
        "matmul": ("main", line_of("def main(A:")),
        "axpy": ("axpy", line_of("def axpy")),
        "by_hardware": ("by_hardware", line_of("def by_hardware")),
        "by_functions": ("by_functions", line_of("def by_functions")),
        "sized": ("sized", line_of("def sized(A:")),
        "open_size": ("never", line_of("def never")),
        "eager": ("eager", line_of("def eager")),
        "doubling": ("doubled", line_of("def doubled")),
    }


def test_grids_threads_and_parameters(told):
    assert kernel(told, "matmul")["facts"] == {
        "T.Kernel": "3 x 3 (bx, by), 128 threads: num_warps=4",
        "A": "f16[96, 64]",
        "B": "f16[64, 80]",
        "C": "f32[96, 80], written",
        "tiles=": "C: copied once, so that Triton code can stand there",
    }
    assert kernel(told, "axpy")["facts"] == {
        "T.Kernel": "(n + 128 - 1) // 128 (bx), 64 threads: num_warps=2",
        "X": "f32[n]",
        "Y": "f32[n], written",
        "grid": "f32",
        "n": "i32, a size that is left open",
        "tiles=": "X: copied once, so that Triton code can stand there",
    }


def test_routes_on_the_gpu_and_on_the_cpu(told):
    routes = {k["name"]: [(w["target"], w["route"]) for w in k["ways"]] for k in told["kernels"]}
    traced, linked = [("cuda:90", "traced"), ("cpu", "traced")], [("cuda:90", "linked"), ("cpu", "linked")]
    assert routes == {
        **dict.fromkeys(("matmul", "axpy", "sized", "open_size", "eager", "doubling"), traced),
        "by_hardware": routes["by_hardware"],
        "by_functions": linked,
    }
    assert routes["by_hardware"] in (traced, linked)
    for each in told["kernels"]:
        assert "registers" in each["ways"][0]["facts"][0] and "bytes of shared memory" in each["ways"][0]["facts"][1]


def test_all_that_keeps_a_kernel_from_being_traced(told):
    obstacles = kernel(told, "by_functions")["obstacles"]
    lines = SCRIPT.read_text().splitlines()
    assert [o["place"]["line"] for o in obstacles] == [n for n, x in enumerate(lines, 1) if x.endswith("# not traced")]
    assert all(o["place"]["text"] == lines[o["place"]["line"] - 1] for o in obstacles)
    assert [o["message"] for o in obstacles] == ["the function tirx.call_extern", "the function tl.warp_reduce_sum"]
    assert not any(k["obstacles"] for k in told["kernels"] if k["name"] not in ("by_functions", "by_hardware"))


def test_what_was_left_out(told):
    left = [(s["what"], s["place"]["line"], s["hint"]) for s in told["left_out"]]
    assert left == [
        ("a statement", line_of("# it runs"), ""),
        ("a statement", line_of("# nothing to compare with"), ""),
    ]


def test_the_file_is_formatted(told, folder):
    ruff = Path(sys.executable).with_name("ruff")
    written = folder / told["output"]
    for command in (["format", "--check"], ["check", "--select", "E,F,W,B,UP"]):
        done = subprocess.run(
            [ruff, *command, "--isolated", "--line-length", "120", written], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


def test_the_file_checks_itself_on_the_cpu(told, folder):
    environment = {**os.environ, "TLE_RAW_TARGET": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    done = run_python("many_kernels_triton.py", folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    for name in ("matmul", "axpy", "sized", "eager", "doubling"):
        assert f"{name} computes what a float64 evaluation of the PrimFunc says" in done.stdout
    assert (
        "kernel `by_functions_kernel` for cpu" in done.stdout
        and "by_hardware computes what the region alone" in done.stdout
    )


def test_its_numbers(module):
    a, b, c = torch.randn(96, 64).half(), torch.randn(64, 80).half(), torch.zeros(96, 80)
    module.run_matmul(a, b, c)
    np.testing.assert_allclose(c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-4)
    x, y = torch.randn(777), torch.randn(777)
    expected = x.double() * 1.5 + y.double()
    module.run_axpy(x, y, 1.5)
    np.testing.assert_allclose(y.double(), expected, rtol=1e-6, atol=1e-6)
    i, j = torch.randint(-100, 100, (10, 40), dtype=torch.int32), torch.zeros(10, 40, dtype=torch.int32)
    module.run_sized(i, j)
    assert torch.equal(j, i + 1)
    p, q = torch.randn(1000), torch.zeros(1000)
    module.run_eager(p, q)
    assert torch.equal(q, p + 1)
    r, s = torch.randn(24, 48), torch.zeros(24, 48)
    module.run_doubling(r, s)
    assert torch.equal(s, 2 * r)


def test_its_inputs_are_what_the_kernels_want(module):
    a, b, c = module.matmul_inputs("cpu")
    assert [(t.shape, t.dtype) for t in (a, b, c)] == [
        ((96, 64), torch.float16),
        ((64, 80), torch.float16),
        ((96, 80), torch.float32),
    ]
    assert all(a.is_contiguous() and a.std() > 0 for a in (a, b, c))
    i, _ = module.sized_inputs("cpu")
    assert i.dtype == torch.int32 and i.min() == 0 and i.max() == 1
