"""Lets a script do all but compile and launch: what it gives to TileLang's compiler is taken, on any machine."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.tilelang.installed import load_tilelang

_NO_CACHE = "TILELANG_DISABLE_CACHE"  # what is taken here is no kernel
_MAKERS = "randn rand zeros ones empty full arange tensor randint randperm eye linspace"
_LIKES = "zeros_like ones_like empty_like full_like randn_like rand_like randint_like"
_METHODS = "to new_zeros new_empty new_ones new_full new_tensor"


class Launched(BaseException):
    """Raised where a script would run a kernel, or ask for its code; no script catches it by mistake."""


@dataclass
class Taken:
    """``kernels``: what would have been compiled, objects with ``prim_func`` and ``pass_configs``.

    ``needs_gpu`` says that the script asked for a GPU, to put tensors there or to know what it can do.
    """

    kernels: list[Any] = field(default_factory=list)
    needs_gpu: bool = False


@contextmanager
def captured(capability: int = 90) -> Iterator[Taken]:
    """Inside there is a GPU of that compute capability to ask about; torch makes its tensors on the CPU."""
    load_tilelang()
    taken, before = Taken(), os.environ.get(_NO_CACHE)
    os.environ[_NO_CACHE] = "1"
    try:
        with ExitStack() as stack:
            for owner, attributes in (*_torch(taken, capability), _compiler(taken)):
                stack.enter_context(_replaced(owner, attributes))
            yield taken
    finally:
        os.environ.pop(_NO_CACHE)
        if before is not None:
            os.environ[_NO_CACHE] = before


@contextmanager
def _replaced(owner: Any, attributes: dict[str, Any]) -> Iterator[None]:
    own = {name: vars(owner).get(name) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in own.items():
            delattr(owner, name) if value is None else setattr(owner, name, value)


def _compiler(taken: Taken) -> tuple[Any, dict[str, Any]]:
    def take(self: Any, func: Any = None, *_: Any, pass_configs: Any = None, **__: Any) -> None:
        self.prim_func, self.pass_configs = func, dict(pass_configs or {})
        taken.kernels.append(self)

    def end(*_: Any, **__: Any) -> None:
        raise Launched

    kernels = importlib.import_module("tilelang.jit.kernel").JITKernel
    return kernels, {"__init__": take, "__call__": end, "get_profiler": end, "get_kernel_source": end}


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
    properties |= {"total_memory": 1 << 37, "shared_memory_per_block_optin": 232448, "L2_cache_size": 50 << 20}
    facts: dict[str, Any] = {
        "current_device": 0, "device_count": 1, "get_device_name": "no GPU",
        "get_device_capability": divmod(capability, 10), "get_device_properties": type("Properties", (), properties),
        "synchronize": None, "set_device": None, "manual_seed": None, "manual_seed_all": None, "empty_cache": None,
    }  # fmt: skip
    answers = {name: lambda *_, value=value, **__: note(value) for name, value in facts.items()}
    yield torch.cuda, {"is_available": lambda: True, **answers}
