"""What benchmarks ask of a device, for the CPU: events, and a way to empty its caches. Launches end when they return.

This module stands where ``torch.cuda`` does for GPUs.
"""

from __future__ import annotations

import ctypes
import time

from tle_raw.targets.cpu.device import DEVICE

FLUSHED_BYTES = 32 << 20  # as much as a last-level cache holds; more would take longer than most kernels
LEAST_MILLISECONDS = 1e-6  # a time of zero would be divided by


class Event:
    """A moment."""

    def __init__(self, enable_timing: bool = True) -> None:
        self.nanoseconds = 0

    def record(self, stream: object = None) -> None:
        self.nanoseconds = time.perf_counter_ns()

    def elapsed_time(self, later: Event) -> float:
        """Milliseconds from this event to a later one."""
        return max((later.nanoseconds - self.nanoseconds) / 1e6, LEAST_MILLISECONDS)

    def synchronize(self) -> None:
        """It has happened when it was recorded."""


def synchronize(device: object = None) -> None:
    """Nothing is under way."""


def current_device() -> int:
    return DEVICE


class Flush:
    """Memory that pushes everything else out of the caches when it is written."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(FLUSHED_BYTES)

    def zero_(self) -> None:
        ctypes.memset(self.memory, 0, FLUSHED_BYTES)
