"""What an example finds: a GPU that is there, or tensors on the CPU in its place; and packages that are missing."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any


def without_gpu(capability: int) -> None:
    """Let torch make its tensors on the CPU, and tell of a device of that capability."""
    import torch

    def is_cuda(value: Any) -> bool:
        return isinstance(value, (str, torch.device)) and "cuda" in str(value)

    def on_cpu(function: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            if is_cuda(keywords.get("device", "")) or isinstance(keywords.get("device"), int):
                keywords["device"] = "cpu"
            return function(*("cpu" if is_cuda(a) else a for a in arguments), **keywords)

        return call

    kinds = "randn rand zeros ones empty full arange tensor randint randperm eye linspace"
    likes = "zeros_like ones_like empty_like full_like randn_like rand_like randint_like"
    for name in f"{kinds} {likes}".split():
        setattr(torch, name, on_cpu(getattr(torch, name)))
    for name in ("to", "new_zeros", "new_empty", "new_ones", "new_full", "new_tensor"):
        setattr(torch.Tensor, name, on_cpu(getattr(torch.Tensor, name)))
    torch.nn.Module.to = on_cpu(torch.nn.Module.to)  # type: ignore[method-assign]
    torch.set_default_device = on_cpu(torch.set_default_device)

    class Generator(torch.Generator):
        def __new__(cls, device: Any = None) -> Any:
            return super().__new__(cls)

    torch.Generator = Generator  # type: ignore[misc]
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[assignment,method-assign]
    torch.nn.Module.cuda = lambda self, *_, **__: self  # type: ignore[assignment,method-assign]
    torch.Tensor.is_cuda = property(lambda self: True)  # type: ignore[assignment,misc]
    properties = {"name": "no GPU", "major": capability // 10, "minor": capability % 10, "multi_processor_count": 132}
    properties |= {"shared_memory_per_block": 49152, "shared_memory_per_block_optin": 232448}
    properties |= {"shared_memory_per_multiprocessor": 233472, "regs_per_multiprocessor": 65536, "warp_size": 32}
    properties |= {"max_threads_per_multi_processor": 2048, "max_threads_per_block": 1024}
    properties |= {"total_memory": 1 << 37, "L2_cache_size": 50 << 20}
    stands_in = type("Properties", (), properties)
    facts: dict[str, Any] = {
        "is_available": True, "current_device": 0, "device_count": 1, "get_device_name": "no GPU",
        "get_device_capability": divmod(capability, 10), "get_device_properties": stands_in,
        "synchronize": None, "set_device": None, "manual_seed": None, "manual_seed_all": None, "empty_cache": None,
    }  # fmt: skip
    facts |= {"is_current_stream_capturing": False, "is_initialized": True, "mem_get_info": (1 << 36, 1 << 37)}
    facts |= {"memory_allocated": 0, "max_memory_allocated": 0, "reset_peak_memory_stats": None, "init": None}
    facts |= {"current_stream": types.SimpleNamespace(cuda_stream=0, synchronize=lambda: None, device_index=0)}
    torch.cuda.device = torch.cuda.stream = lambda *_: contextlib.nullcontext()  # type: ignore[assignment,misc]
    for name, value in facts.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)
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
