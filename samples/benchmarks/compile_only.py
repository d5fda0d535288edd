"""Launches that compile for cuda:90 and run nothing: what a machine without a GPU can check of a GPU program.

``install()`` gives Triton a driver that says it is an H200 and whose launches do nothing. Everything up to the cubin
is real: tracing, regions, the foreign compiler, ptxas, the caches. A sample runs so as well, with the sizes of a GPU;
its numbers are nothing, and are not looked at:

    python -m samples.benchmarks.compile_only samples/01_vector_add/vector_add.py
"""

from __future__ import annotations

import contextlib
import io
import math
import runpy
import sys
from collections.abc import Sequence
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from tle_raw.distributed import cluster_kernel

H200 = {
    "max_shared_mem": 232448,
    "max_num_regs": 65536,
    "multiprocessor_count": 132,
    "warpSize": 32,
    "sm_clock_rate": 1980000,
    "mem_clock_rate": 3201000,
    "mem_bus_width": 6144,
}


class _Utilities:
    def get_device_properties(self, device: int) -> dict[str, int]:
        return dict(H200)

    def load_binary(self, *arguments: Any) -> tuple[int, ...]:
        return 0, 0, 32, 0, 1024  # module, function, registers, spills, most threads

    def unload_module(self, *arguments: Any) -> None:
        pass


class _Launcher:
    def __init__(self, source: Any, metadata: Any) -> None:
        pass

    def __call__(self, *arguments: Any, **keywords: Any) -> None:
        pass


class CompileOnlyDriver:
    """What Triton asks of its active driver."""

    utils = _Utilities()
    launcher_cls = _Launcher

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_benchmarker(self) -> Any:
        def run_once(function: Any, quantiles: Any = None, **keywords: Any) -> Any:
            function()
            return [1.0] * len(quantiles) if quantiles else 1.0

        return run_once

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache: Any) -> None:
        pass


class _Device:
    """What ``tle_raw.distributed`` asks of it."""

    most_shared = H200["max_shared_mem"]

    def __init__(self, number: int) -> None:
        pass

    def active_clusters(self, function: int, cluster: Sequence[int], threads: int, shared: int) -> int:
        return H200["multiprocessor_count"] // math.prod(cluster)

    def load(self, ptx: str, kernel: str) -> int:
        return 0

    def launch_clusters(self, *arguments: Any) -> None:
        pass

    def wait(self) -> None:
        pass

    def allocate(self, size: int) -> int:
        return 0

    def read(self, address: int, size: int) -> bytes:
        return bytes(size)  # no launch has written anything

    def free(self, address: int) -> None:
        pass


def install() -> None:
    """Make it Triton's driver for the rest of the process."""
    triton.runtime.driver.set_active(CompileOnlyDriver())
    cluster_kernel.Device = _Device


def run(script: str) -> None:
    """Let a program run to its end, whatever it finds out about its numbers."""
    install()
    sys.argv = [script]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        runpy.run_path(script, run_name="__main__")
    if "FAIL" not in said.getvalue() and "PASS" not in said.getvalue():
        sys.exit(f"{script} did not come to its end:\n{said.getvalue()}")


if __name__ == "__main__":
    run(sys.argv[1])
