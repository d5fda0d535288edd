"""Lets a script do all but compile and launch: what it gives to TileLang's compiler is taken, on any machine."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.tilelang.installed import load_tilelang
from tle_raw.adapters.tilelang.port.results import Launched, empty_results

_NO_CACHE = "TILELANG_DISABLE_CACHE"  # what is taken here is no kernel
_MAKERS = "randn rand zeros ones empty full arange tensor randint randperm eye linspace"
_LIKES = "zeros_like ones_like empty_like full_like randn_like rand_like randint_like"
_METHODS = "to new_zeros new_empty new_ones new_full new_tensor"


@dataclass(frozen=True)
class JitCall:
    """A ``@tilelang.jit`` function was called: ``compiled`` is the kernel that it made."""

    function: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    compiled: Any


@dataclass
class Taken:
    """``kernels``: what would have been compiled, objects with ``prim_func`` and ``pass_configs``.

    ``needs_gpu`` says that the script asked for a GPU, to put tensors there or to know what it can do.
    ``goes_on`` : a kernel that is called gives tensors that hold nothing, instead of ending the statement.
    """

    kernels: list[Any] = field(default_factory=list)
    calls: list[JitCall] = field(default_factory=list)
    needs_gpu: bool = False
    goes_on: bool = False


@contextmanager
def captured(capability: int = 90) -> Iterator[Taken]:
    """Inside there is a GPU of that compute capability to ask about; torch makes its tensors on the CPU."""
    load_tilelang()
    taken, before = Taken(), os.environ.get(_NO_CACHE)
    os.environ[_NO_CACHE] = "1"
    try:
        with ExitStack() as stack:
            for owner, attributes in (*_torch(taken, capability), *_compiler(taken, capability)):
                stack.enter_context(replaced(owner, attributes))
            yield taken
    finally:
        os.environ.pop(_NO_CACHE)
        if before is not None:
            os.environ[_NO_CACHE] = before


@contextmanager
def replaced(owner: Any, attributes: dict[str, Any]) -> Iterator[None]:
    own = {name: vars(owner).get(name) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in own.items():
            delattr(owner, name) if value is None else setattr(owner, name, value)


def _compiler(taken: Taken, capability: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    def take(self: Any, func: Any = None, out_idx: Any = None, *_: Any, pass_configs: Any = None, **__: Any) -> None:
        self.prim_func, self.pass_configs = func, dict(pass_configs or {})
        self.asked_results = out_idx
        taken.kernels.append(self)

    def call(self: Any, *arguments: Any, **_: Any) -> Any:
        if not taken.goes_on:
            raise Launched
        return empty_results(self.prim_func, self.asked_results, arguments)

    def measured(self: Any, *_: Any, **__: Any) -> Any:
        if not taken.goes_on:
            raise Launched
        return _Measured()

    def source(self: Any, *_: Any, **__: Any) -> str:
        if not taken.goes_on:
            raise Launched
        return ""

    def compile_call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        compiled = original(self, *arguments, **keywords)
        taken.calls.append(JitCall(self, arguments, keywords, compiled))
        return compiled

    def first_config(self: Any, *arguments: Any, **keywords: Any) -> Any:
        """A search for the best settings takes the first ones."""
        configs = self.configs(*arguments, **keywords) if callable(self.configs) else self.configs
        if isinstance(configs, Mapping):
            first = {name: value[0] if isinstance(value, (list, tuple)) else value for name, value in configs.items()}
        else:
            first = dict(next(iter(configs), {}))
        own = set(self.jit_impl.signature.parameters)
        first = {name: value for name, value in first.items() if name in own}
        return self.jit_impl(*arguments, **{**first, **keywords})

    version = f"{capability // 10}.{capability % 10}"
    yield importlib.import_module("tilelang.contrib.nvcc"), {"get_target_compute_version": lambda *_: version}
    jit = importlib.import_module("tilelang.jit")
    kernels, original = importlib.import_module("tilelang.jit.kernel").JITKernel, jit.JITImpl.compile
    yield kernels, {"__init__": take, "__call__": call, "get_profiler": measured, "get_kernel_source": source}
    yield jit.JITImpl, {"compile": compile_call}
    yield importlib.import_module("tilelang.autotuner.tuner").AutoTuneImpl, {"__call__": first_config}


class _Measured:
    """A profiler of a kernel that does not run: all is well, and takes no time."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: 1.0


def _torch(taken: Taken, capability: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    import torch

    def note(value: Any = None) -> Any:
        taken.needs_gpu = True
        return value

    def is_gpu(value: Any) -> bool:
        return isinstance(value, (str, torch.device)) and "cuda" in str(value)

    def on_cpu(function: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            if is_gpu(keywords.get("device")) or type(keywords.get("device")) is int:
                keywords["device"] = note("cpu")
            return function(*(note("cpu") if is_gpu(a) else a for a in arguments), **keywords)

        return call

    yield torch, {name: on_cpu(getattr(torch, name)) for name in f"{_MAKERS} {_LIKES}".split()}
    yield torch, {"set_default_device": on_cpu(torch.set_default_device)}
    for owner, methods in ((torch.Tensor, _METHODS), (torch.nn.Module, "to")):
        yield owner, {name: on_cpu(getattr(owner, name)) for name in methods.split()}
        yield owner, {"cuda": lambda self, *_, **__: note(self)}
    properties = {"name": "no GPU", "major": capability // 10, "minor": capability % 10, "multi_processor_count": 132}
    properties |= {"shared_memory_per_multiprocessor": 233472, "regs_per_multiprocessor": 65536, "warp_size": 32}
    properties |= {"shared_memory_per_block": 49152, "max_threads_per_multi_processor": 2048}
    properties |= {"total_memory": 1 << 37, "shared_memory_per_block_optin": 232448, "L2_cache_size": 50 << 20}
    facts: dict[str, Any] = {
        "current_device": 0, "device_count": 1, "get_device_name": "no GPU",
        "get_device_capability": divmod(capability, 10), "get_device_properties": type("Properties", (), properties),
        "synchronize": None, "set_device": None, "manual_seed": None, "manual_seed_all": None, "empty_cache": None,
    }  # fmt: skip
    answers = {name: lambda *_, value=value, **__: note(value) for name, value in facts.items()}
    yield torch.cuda, {"is_available": lambda: True, **answers}
