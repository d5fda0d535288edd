"""The programs of samples/tilelang_in_triton: their numbers on the CPU, and one kernel for GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tle_raw
from tests.samples.programs import check_on_the_cpu, check_run, check_without, loaded

pytestmark = pytest.mark.every_triton(2)

pytest.importorskip("torch")
pytest.importorskip("tilelang")

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FILES = sorted((SAMPLES / "tilelang_in_triton").glob("[0-9][0-9]_*.py"))
# Kernels that take TileLang's own lowering on GPUs: a whole kernel with its TMA, a region without.
LINKED = {"04_flash_attention": ["linked, with TMA"], "05_int4_gemm": ["linked"]}


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.stem)
def program(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    with loaded(request.param) as module:
        yield module


def test_there_are_six_programs():
    assert [file.stem[:2] for file in FILES] == ["01", "02", "03", "04", "05", "06"]


def test_a_program_is_one_kernel_for_a_gpu(program: ModuleType):
    kernels = program.compile_for("cuda:90")
    reports = [tle_raw.report(kernel) for kernel in kernels]
    assert reports and all(report.one_kernel and not report.spills for report in reports)
    routes = [region.route for report in reports for region in report.regions]
    assert [route for route in routes if route != "traced"] == LINKED.get(Path(program.__file__ or "").stem, [])


def test_the_numbers_of_a_program_are_right_on_the_cpu(program: ModuleType):
    check_on_the_cpu(program)


def test_the_router_is_one_launch_of_two_tilelang_kernels():
    (file,) = (file for file in FILES if "router" in file.stem)
    with loaded(file) as module:
        report = tle_raw.report(module.compile_for("cuda:90")[0])
    assert report.one_kernel and [region.name for region in report.regions] == ["score", "choose"]


def test_without_tilelang_a_program_says_what_to_install():
    check_without("tilelang", FILES[0], "tilelang")


@pytest.mark.gpu
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_program_runs_on_a_gpu(file: Path):
    check_run(file)
