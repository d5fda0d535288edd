"""The programs of samples/cutile_in_triton: their numbers on the CPU, and one kernel for GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tle_raw
from tests.samples.programs import check_on_the_cpu, check_run, check_without, loaded

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
    check_on_the_cpu(program)


def test_without_cutile_a_program_says_what_to_install():
    check_without("cuda.tile", FILES[0], "cutile")


@pytest.mark.gpu
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_program_runs_on_a_gpu(file: Path):
    check_run(file)
