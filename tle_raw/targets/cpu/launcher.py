"""Launches one compiled kernel: checks the grid, packs the arguments, runs the programs, raises what failed."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from tle_raw.errors import LaunchError, Row
from tle_raw.flir.hints.told import ALWAYS, STORES, TOLD
from tle_raw.regions.cluster_launch import cluster_dims
from tle_raw.regions.clusters import METADATA
from tle_raw.targets.check_launch import blocks_of
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.caches import last_level_bytes
from tle_raw.targets.cpu.contexts import DEBUG_FLAG, STREAM_FLAG, flush_output, load_cffi
from tle_raw.targets.cpu.current_device import Device, current_device
from tle_raw.targets.cpu.failures import failure
from tle_raw.targets.cpu.groups import GroupLaunch, group_size
from tle_raw.targets.cpu.launch import Launch
from tle_raw.targets.cpu.pool import pool
from tle_raw.targets.cpu.slots import Slots
from tle_raw.targets.cpu.world import World

SIGNATURE = "void(*)(void *, void *, int64_t, int64_t, void *)"
MOST_PROGRAMS = (1 << 31) - 1  # per dimension: the grid is made of i32
MOST_IN_ALL = (1 << 63) - 1
# A launch goes past the caches when its arrays are larger than the last one, and it is known to write this share of it.
STREAMED_SHARE = 1 / 8


class CpuLauncher:
    """Triton makes one per compiled kernel and calls it at each launch."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self.slots = Slots(source.signature)
        self.kernel = metadata.name
        self.scratch_bytes = getattr(metadata, "scratch_bytes", 0)
        self.checks = getattr(metadata, "checks", [])
        self.flags = DEBUG_FLAG if getattr(metadata, "debug_checks", False) else 0
        self.watches = getattr(metadata, "watches", False)
        self.needs_ranges = bool(self.flags)
        self.prints = getattr(metadata, "prints", False)
        self.groups: dict[str, Any] = getattr(metadata, METADATA, None) or {}
        self.waiting_threads = 32 * metadata.num_warps if getattr(metadata, "may_wait", False) else 0
        streamed = getattr(metadata, "streamed", None) or {"arguments": [], "bytes": 0}
        self.streamed, self.streamed_bytes = streamed["arguments"], streamed["bytes"]
        self.told_stores = (getattr(metadata, TOLD, None) or {}).get(STORES, "")
        self._ffi = load_cffi()
        self._functions: dict[int, Any] = {}
        self._seconds_per_program = 0.0

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
        grid = blocks_of(self.groups, _checked(x, y, z))
        slots = self.slots.pack(arguments)
        if grid[0] and grid[1] and grid[2]:
            self._launch(function, grid, slots, arguments)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _launch(self, address: int, grid: tuple[int, int, int], slots: bytes, arguments: Sequence[Any]) -> None:
        ffi = self._ffi
        function = self._functions.get(address) or self._function(address)
        memory = self.slots.memory(arguments) if self.needs_ranges else []
        device = current_device()
        if device is not None and device.world.memory is not None and self.needs_ranges:
            memory += device.world.memory.ranges()
        # How many, then where each array's memory starts and ends.
        ranges = ffi.new("int64_t[]", [len(memory), *(n for _, found in memory for n in found)]) if memory else None
        flags = self.flags | STREAM_FLAG if self._streams(grid, arguments) else self.flags
        together = group_size(grid, self.kernel, self.groups) if self.groups else 0
        world = device.world if device is not None else World(1) if together else None
        make = partial(GroupLaunch, together=together, dims=cluster_dims(self.groups)) if together else Launch
        launch = make(
            *(self.kernel, function, ffi.from_buffer(slots), grid, self.scratch_bytes, flags, ranges),
            waiting_threads=self.waiting_threads,
            checks=self.checks,
            world=world,
        )
        if world is not None and self.watches:
            launch.watch = world.watch(device.rank if device is not None else 0)
        if self.prints:
            sys.stdout.flush()
        try:
            with _in_its_world(world, device, launch):
                self._run(launch, memory)
        finally:
            launch.release()

    def _run(self, launch: Launch, memory: list[tuple[str, Range]]) -> None:
        self._seconds_per_program, failed = pool().run(launch, self._seconds_per_program)
        if self.prints:
            flush_output()  # what C has printed belongs before what Python prints next
        if failed:
            raise failure(failed, self.checks, self.kernel, memory, launch.waits.standstill if launch.waits else "")

    def _streams(self, grid: tuple[int, int, int], arguments: Sequence[Any]) -> bool:
        """Whether nobody could find in a cache what the launch writes, or a hint says so."""
        if self.told_stores and self.streamed:
            return bool(self.told_stores == ALWAYS)
        written = grid[0] * grid[1] * grid[2] * self.streamed_bytes
        if not written or written < STREAMED_SHARE * last_level_bytes():
            return False
        return all(self.slots.bytes_of(arguments, n) > last_level_bytes() for n in self.streamed)

    def _function(self, address: int) -> Any:
        self._functions[address] = made = self._ffi.cast(SIGNATURE, address)
        return made


def _in_its_world(world: World | None, device: Device | None, launch: Launch) -> AbstractContextManager[None]:
    if world is None:
        return nullcontext()
    return world.launching(device.rank, launch) if device is not None else world.alone(launch)


def _checked(*grid: Any) -> tuple[int, int, int]:
    try:
        x, y, z = map(operator.index, grid)
    except TypeError:
        x = y = z = -1
    if 0 <= x <= MOST_PROGRAMS and 0 <= y <= MOST_PROGRAMS and 0 <= z <= MOST_PROGRAMS and x * y * z <= MOST_IN_ALL:
        return x, y, z
    raise LaunchError(
        "the grid is wrong",
        table=[Row("programs", f"up to three whole numbers, each 0 to {MOST_PROGRAMS}", repr(grid))],
    )
