"""Launches one compiled kernel: checks the grid, packs the arguments, runs the programs, raises what failed."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tle_raw.errors import LaunchError, Row
from tle_raw.knobs import knobs
from tle_raw.targets.cpu.contexts import DEBUG_FLAG, load_cffi
from tle_raw.targets.cpu.failures import failure
from tle_raw.targets.cpu.launch import Launch, Progress
from tle_raw.targets.cpu.pool import pool
from tle_raw.targets.cpu.slots import Slots

SIGNATURE = "void(*)(void *, void *, int64_t, int64_t, void *)"
MOST_PROGRAMS = (1 << 31) - 1  # per dimension: the grid is made of i32
AXES = "xyz"


class CpuLauncher:
    """Triton makes one per compiled kernel and calls it at each launch."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self.slots = Slots(source.signature)
        self.metadata = metadata
        self.scratch_bytes = getattr(metadata, "scratch_bytes", 0)
        self.checks = getattr(metadata, "checks", [])
        self.flags = DEBUG_FLAG if getattr(metadata, "bounds_checks", False) else 0
        self._ffi = load_cffi()
        self._functions: dict[int, Any] = {}
        self._seconds_per_program: float | None = None

    def __call__(
        self,
        x: Any,
        y: Any,
        z: Any,
        stream: int,
        function: int,
        packed_metadata: Any,
        launch_metadata: Any,
        enter_hook: Any,
        exit_hook: Any,
        *arguments: Any,
    ) -> None:
        if enter_hook is not None:
            enter_hook(launch_metadata)
        grid = (_extent(x, 0), _extent(y, 1), _extent(z, 2))
        slots = self.slots.pack(arguments)
        if all(grid):
            self._launch(function, grid, slots, arguments)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _launch(self, function: int, grid: tuple[int, int, int], slots: bytes, arguments: Sequence[Any]) -> None:
        ffi = self._ffi
        total = grid[0] * grid[1] * grid[2]
        launch = Launch(
            self._functions.get(function) or self._function(function),
            ffi.from_buffer(slots),
            ffi.new("int32_t[3]", grid),
            total,
            self.scratch_bytes,
            self.flags,
            self._ranges(arguments) if self.flags else None,
        )
        interval = knobs.cpu.progress
        progress = Progress(self.metadata.name, total, interval) if interval else None
        self._seconds_per_program = pool().run(launch, self._seconds_per_program, progress)
        if launch.stopped:
            raise failure(list(launch.status), self.checks, self.metadata.name)

    def _function(self, address: int) -> Any:
        self._functions[address] = made = self._ffi.cast(SIGNATURE, address)
        return made

    def _ranges(self, arguments: Sequence[Any]) -> Any:
        """How many, then where each array's memory starts and ends."""
        ranges = self.slots.memory(arguments)
        return self._ffi.new("int64_t[]", [len(ranges), *(n for found in ranges for n in found)])


def _extent(value: Any, axis: int) -> int:
    try:
        extent = operator.index(value)
    except TypeError:
        extent = -1
    if 0 <= extent <= MOST_PROGRAMS:
        return extent
    raise LaunchError(
        "the grid is wrong",
        table=[Row(f"programs along {AXES[axis]}", f"a whole number, 0 to {MOST_PROGRAMS}", repr(value))],
    )
