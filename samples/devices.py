"""Several GPUs for a sample, or simulated ones on the CPU: kernels are launched on all of them at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import common


class Devices:
    """Members of a context, ``contexts``, and what launches on all of them.

    On GPUs it takes those that are there, up to ``most``; on the CPU it simulates ``most``.
    """

    def __init__(self, most: int, size: int) -> None:
        import torch

        from tle_raw.distributed import contexts, simulate

        self.simulated = None
        if common.on_cpu():
            self.simulated = simulate(most, bytes=size)
            self.contexts = list(self.simulated.contexts)
        else:
            self.contexts = list(contexts(range(min(most, torch.cuda.device_count())), bytes=size))
        self.world = len(self.contexts)

    def name(self, rank: int) -> str:
        """What torch calls the device of a member."""
        return "cpu" if self.simulated else f"cuda:{self.contexts[rank].device}"

    def tensors(self, values: list[Any]) -> list[Any]:
        """Copies of tensors of one shape and dtype, one in each member's memory."""
        made = self.empty(values[0].shape, values[0].dtype)
        for to, value in zip(made, values, strict=True):
            to.copy_(value)
        return made

    def empty(self, shape: Any, dtype: Any) -> list[Any]:
        """A tensor in each member's memory, at the same place."""
        return self.each(lambda rank, context: context.empty(tuple(shape), dtype))

    def each(self, function: Callable[[int, Any], Any]) -> list[Any]:
        """Call ``function(rank, context)`` for each member, one after the other."""
        import torch

        found = []
        for rank, context in enumerate(self.contexts):
            if self.simulated:
                found.append(function(rank, context))
            else:
                with torch.cuda.device(context.device):
                    found.append(function(rank, context))
        return found

    def close(self) -> None:
        """Give the memory back; no tensor of it is used any more."""
        if not self.simulated:
            self.each(lambda rank, context: context.close())

    def launch(self, function: Callable[[int, Any], Any]) -> list[Any]:
        """The same, where it launches kernels that wait for each other; they are done when it returns."""
        import torch

        if self.simulated:
            return self.simulated.launch(function)
        found = self.each(function)
        self.each(lambda rank, context: torch.cuda.synchronize())
        self.each(lambda rank, context: context.check())
        return found
