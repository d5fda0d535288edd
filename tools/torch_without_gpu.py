"""Torch where there is no GPU: its tensors are made on the CPU, and it tells of a device that is not there."""

from __future__ import annotations

import contextlib
import types
from typing import Any


def torch_without_gpu(capability: int) -> Any:
    """Let torch make its tensors on the CPU, and tell of a device of that capability; its properties, as torch's."""
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
    torch.cuda.Event = _Event  # type: ignore[assignment,misc]
    for name, value in facts.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)
    return stands_in


class _Event:
    """Measures nothing."""

    def __init__(self, **_: Any) -> None:
        """As torch's is made."""

    def record(self, *_: Any) -> None:
        """Nothing is under way."""

    synchronize = wait = record

    def elapsed_time(self, _: Any) -> float:
        return 1.0
