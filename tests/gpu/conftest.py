"""Eight switches of the GPU tests, by environment variables that are not settings of tle_raw.

TLE_GPU_TESTS_ON=cpu       no device: everything runs on the CPU backend, which must give the same numbers
GPU_TESTS_COMPILE_ONLY=1   no device: every launch compiles for cuda:90, nothing runs, no numbers are compared
GPU_TESTS_CACHE=FOLDER     compiled fragments are kept in FOLDER, for a machine without a CUDA compiler
GPU_TESTS_WATCHED=FOLDER   for racecheck: see TLE_RAW_RACECHECK; the kernels are kept in FOLDER, Triton's cache
GPU_TESTS_TIMES=N          what is launched again and again is launched N times, for tools that watch every access
CONTEXT_LOST=FILE          what a test said whose kernel ended the process's CUDA context is added to FILE
GPU_TESTS_FAILED=FILE      a test that fails is added to FILE at once, for runs that a time limit may end
GPU_TESTS_GPUS=N           the machine has N GPUs, which pytest-xdist's processes share out: each sees one of them
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator, Iterator

import pytest

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
if _WORKER and os.environ.get("GPU_TESTS_GPUS"):  # before torch looks for GPUs, which the next import has it do
    os.environ["CUDA_VISIBLE_DEVICES"] = str(int(_WORKER) % int(os.environ["GPU_TESTS_GPUS"]))

from tests.gpu.device import COMPILE_ONLY, ON_CPU  # noqa: E402


@pytest.hookimpl(trylast=True)  # the conftest above names a folder of the session
def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("GPU_TESTS_CACHE"):
        os.environ["TLE_RAW_CACHE_DIR"] = os.environ["GPU_TESTS_CACHE"]
    if os.environ.get("GPU_TESTS_WATCHED"):
        os.environ["TLE_RAW_RACECHECK"], os.environ["TRITON_CACHE_DIR"] = "1", os.environ["GPU_TESTS_WATCHED"]
    if COMPILE_ONLY:
        from samples.benchmarks import compile_only

        compile_only.install()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a device the conftest above skips these tests; compiling only or on the CPU they run all the same."""
    for item in items if COMPILE_ONLY or ON_CPU else ():
        item.own_markers[:] = [m for m in item.own_markers if not _means_no_device(m)]


def _means_no_device(marker: pytest.Mark) -> bool:
    return marker.name == "skip" and "CUDA device" in marker.kwargs.get("reason", "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A kernel that faults ends the process's CUDA context: the test is named, and no other test fails for it.

    Under pytest-xdist the process ends, and another takes its place; without it the session stops. What the test said
    goes to standard error and, where CONTEXT_LOST names a file, there.
    """
    report = yield
    if call.when == "call" and not (COMPILE_ONLY or ON_CPU) and (fault := _fault()):
        told = f"{item.nodeid}: the CUDA context is lost: {fault}\n{report.longreprtext}\n"
        sys.stderr.write(told)
        if os.environ.get("CONTEXT_LOST"):
            with open(os.environ["CONTEXT_LOST"], "a") as file:
                file.write(told)
        if os.environ.get("PYTEST_XDIST_WORKER"):
            os._exit(1)
        pytest.exit(told, returncode=1)
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and os.environ.get("GPU_TESTS_FAILED") and not _WORKER:
        with open(os.environ["GPU_TESTS_FAILED"], "a") as file:
            file.write(f"FAILED {report.nodeid}\n{report.longreprtext[-4000:]}\n")


def _fault() -> str:
    """What the device says of the launches so far; empty when it has no error to tell."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    return ""


@pytest.fixture
def compiler() -> None:
    """For tests that change sources while they run: a filled cache is not enough."""
    from tle_raw.adapters.cuda import CudaAdapter
    from tle_raw.errors import ToolchainError

    try:
        CudaAdapter().compiler_identity()
    except ToolchainError as missing:
        pytest.skip(f"needs a CUDA compiler: {missing.message}")


@pytest.fixture
def device_allocator():
    """Scratch memory for TMA descriptors that a kernel makes."""
    import torch
    import triton

    from tests.gpu.device import DEVICE

    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=DEVICE))


_LONGEST = 300  # seconds of one test, compilation included


@pytest.fixture
def hang_guard() -> Iterator[None]:
    """A launch that never ends is no failure of an assertion: the process says where it waits, and ends."""
    import torch

    faulthandler.dump_traceback_later(_LONGEST, exit=True)
    yield
    if not COMPILE_ONLY and not ON_CPU:
        torch.cuda.synchronize()
    faulthandler.cancel_dump_traceback_later()
