"""Four switches of the GPU tests, by environment variables that are not settings of tle_raw.

TLE_GPU_TESTS_ON=cpu       no device: everything runs on the CPU backend, which must give the same numbers
GPU_TESTS_COMPILE_ONLY=1   no device: every launch compiles for cuda:90, nothing runs, no numbers are compared
GPU_TESTS_CACHE=FOLDER     compiled fragments are kept in FOLDER, for a machine without a CUDA compiler
GPU_TESTS_TIMES=N          what is launched again and again is launched N times, for tools that watch every access
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator

import pytest

from tests.gpu.device import COMPILE_ONLY, ON_CPU


@pytest.hookimpl(trylast=True)  # the conftest above names a folder of the session
def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("GPU_TESTS_CACHE"):
        os.environ["TLE_RAW_CACHE_DIR"] = os.environ["GPU_TESTS_CACHE"]
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
