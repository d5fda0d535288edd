"""What an example finds: a GPU that is there, or tensors on the CPU in its place; and packages that are missing."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any

from torch_without_gpu import torch_without_gpu


def without_gpu(capability: int) -> None:
    """Let torch make its tensors on the CPU, and tell of a device of that capability, as TileLang does then."""
    stands_in = torch_without_gpu(capability)
    driver = importlib.import_module("tilelang.carver.arch.driver.cuda_driver")
    driver.get_cuda_device_properties = lambda *_: stands_in
    compiler = importlib.import_module("tilelang.contrib.nvcc")
    compiler.get_target_compute_version = lambda *_: f"{capability // 10}.{capability % 10}"


def without_triton(capability: int) -> None:
    """Triton kernels, which scripts have as references, do nothing; what asks for the device is told of it."""
    import torch
    import triton
    from triton.backends.compiler import GPUTarget

    target = GPUTarget("cuda", capability, 32)
    properties = {"multiprocessor_count": 132, "max_shared_mem": 232448, "warpSize": 32, "max_num_regs": 65536}
    driver = types.SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: 0,
        get_active_torch_device=lambda: torch.device("cpu"),
        get_device_interface=lambda: torch.cuda,
        utils=types.SimpleNamespace(get_device_properties=lambda _: properties),
    )
    triton.runtime.driver.set_active(driver)
    for kind in (triton.runtime.JITFunction, triton.runtime.Autotuner, triton.runtime.Heuristics):
        kind.run = lambda *_, **__: None


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages that an example imports for something else than its kernels: what they give fails when it is used."""

    def __init__(self) -> None:
        self.names: list[str] = []
        sys.meta_path.append(self)

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


class _Absent(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012 - what makes it a package

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return "0"
        if name.startswith("__"):
            raise AttributeError(name)

        def gone(*_: Any, **__: Any) -> Any:
            raise ImportError(f"{self.__name__} is not installed")

        return type(name, (), {"__init__": gone})  # also what a class may be derived from
