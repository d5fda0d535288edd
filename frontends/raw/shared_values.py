"""A call's buffers and barriers as traced regions take them that have a barrier: see ``regions/shared_values.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.frontends.gpu import content, operations
from tle_raw.frontends.gpu.barrier_value import barrier
from tle_raw.frontends.gpu.checks import is_buffer
from tle_raw.frontends.gpu.operations import perform


@dataclass(frozen=True)
class BufferHere:
    """A buffer, with what its methods are called with."""

    buffer: Any
    tracing: Mapping[str, Any]

    def load(self) -> core.tensor:
        return content.load(self.buffer, **self.tracing)

    def store(self, value: core.tensor) -> None:
        content.store(self.buffer, value, **self.tracing)


@dataclass(frozen=True)
class BarrierHere:
    """A barrier, in the same way."""

    barrier: barrier
    tracing: Mapping[str, Any]

    def wait(self, parity: core.tensor) -> None:
        self._perform(operations.BARRIER_WAIT, parity.handle)

    def arrive(self, count: int) -> None:
        self._perform(operations.BARRIER_ARRIVE, count)

    def _perform(self, operation: operations.Operation, argument: Any) -> None:
        perform(operation, self.tracing["_semantic"], self.tracing.get("_generator"), self.barrier.handle, argument)


def shared_value(value: Any, tracing: Mapping[str, Any]) -> BufferHere | BarrierHere:
    """A buffer or a barrier of a call."""
    return BufferHere(value, tracing) if is_buffer(value) else BarrierHere(value, tracing)
