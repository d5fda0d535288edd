"""The programs of samples/cutile_in_triton: their numbers on the CPU, and one kernel for GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tle_raw
from tests.samples.programs import loaded

pytest.importorskip("torch")
pytest.importorskip("cuda.tile")

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FILES = sorted((SAMPLES / "cutile_in_triton").glob("[0-9][0-9]_*.py"))


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.stem)
def program(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    with loaded(request.param) as module:
        yield module


def test_a_program_is_one_kernel_for_a_gpu(program: ModuleType):
    reports = [tle_raw.report(kernel) for kernel in program.compile_for("cuda:90")]
    assert reports and all(report.one_kernel and not report.spills for report in reports)
    assert {region.route for report in reports for region in report.regions} == {"traced"}


def test_the_numbers_of_a_program_are_right_on_the_cpu(program: ModuleType):
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        checked = list(program.check())
    assert checked and [str(comparison) for _, comparison in checked if not comparison.is_right] == []


def test_without_cutile_a_program_says_what_to_install():
    hide = "import sys; sys.modules['cuda.tile'] = None; import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
    output = subprocess.run([sys.executable, "-c", hide, str(FILES[0])], capture_output=True, text=True, timeout=240)
    assert output.returncode == 1 and "pip install 'tle_raw[cutile]'" in output.stderr
    assert "Traceback" not in output.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_program_runs_on_a_gpu(file: Path):
    output = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=240, env=os.environ)
    assert output.returncode == 0 and output.stdout.splitlines()[-1] == "PASS", output.stdout + output.stderr
