"""The programs of samples/mlir_edsl: their numbers on the CPU, and one kernel for GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.samples.programs import check_on_the_cpu, check_run, loaded
from tests.support import report_of

pytestmark = pytest.mark.every_triton(3)

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FILES = sorted((SAMPLES / "mlir_edsl").glob("[0-9][0-9]_*.py"))
RUNTIME = {"04_hello_world": ("vprintf",), "06_assertion": ("__assertfail",)}


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.stem)
def program(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    with loaded(request.param) as module:
        yield module


def test_there_are_six_programs():
    assert [file.stem[:2] for file in FILES] == ["01", "02", "03", "04", "05", "06"]


@pytest.mark.parametrize("target", ["cuda:80", "cuda:100"])
def test_a_program_is_one_kernel(program: ModuleType, target: str):
    runtime = RUNTIME.get(Path(program.__file__ or "").stem, ())
    (kernel,) = program.compile_for(target)
    report = report_of(kernel, machine_code=target == "cuda:100")
    assert report.one_kernel and report.regions[0].inlined
    called = {name for name in runtime for call in report.ptx_calls if name in call}
    assert len(report.ptx_calls) == len(called) == len(runtime)
    assert runtime or not report.spills


def test_the_numbers_of_a_program_are_right_on_the_cpu(program: ModuleType, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("TLE_RAW_TARGET", "cpu")  # also for the process that the sixth one starts
    check_on_the_cpu(program)


@pytest.mark.gpu
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_program_runs_on_a_gpu(file: Path):
    check_run(file)
