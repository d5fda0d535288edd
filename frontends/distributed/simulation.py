"""``tle_raw.distributed.simulate``: devices of one process that run kernels at the same time, on the CPU."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tle_raw.errors import LaunchError, MeshError, MeshTypeError, Row
from tle_raw.frontends.distributed import context_layout as words
from tle_raw.frontends.distributed.context_layout import MOST_MEMBERS, Layout
from tle_raw.frontends.distributed.faults import fault_of
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.knobs import knobs
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.world import World

_ALIGNMENT = 512
_DEVICE_LEVELS = ("node", "device", "chiplet")
_NAMES = {words.ARRIVALS: "arrivals", words.EXPECTED: "expected arrivals", words.SIGNALS: "signal"}


class SimulatedContext:
    """What a simulated device knows of the others: a kernel takes it as one argument.

    ``rank`` and ``world_size`` say which device it is, ``empty``, ``zeros`` and ``tensor`` give arrays in the memory
    that all devices reach. Every device makes the same arrays in the same order: an array lies at the same place in
    the memory of each.
    """

    def __init__(self, world: SimulatedWorld, rank: int, region: Any, table: Any) -> None:
        self.world, self.rank, self.world_size = world, rank, world.size
        self.region, self.table = region, table
        self.dtype, self.base = table.dtype, table  # what Triton, and checks of memory, ask of an argument
        self._used = 0

    def data_ptr(self) -> int:
        """The address of the table, which Triton asks of an argument."""
        return int(self.table.__array_interface__["data"][0])

    def empty(self, shape: int | Sequence[int], dtype: Any = "float32") -> Any:
        """An array in the device's memory: of torch for a dtype of torch, else of NumPy.

        Parameters
        ----------
        shape : sizes, in elements; it may be one number.
        dtype : ``torch.float16``, ``np.float32``, ``"int32"`` …

        Raises
        ------
        LaunchError : the memory has no room for it.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        of_torch = type(dtype).__module__.split(".")[0] == "torch"
        itemsize = dtype.itemsize if of_torch else np.dtype(dtype).itemsize
        size = prod(sizes) * itemsize
        start = self.world.layout.offsets[words.TENSORS] + self._used
        if self._used + size > self.world.layout.bytes:
            raise LaunchError(
                "the memory of a simulated device is full",
                table=[Row("bytes", f"{self.world.layout.bytes - self._used} left", str(size))],
                hint="simulate(…, bytes=…) says how much each device has",
            )
        self._used += -(-size // _ALIGNMENT) * _ALIGNMENT
        memory = self.region[start : start + size]
        if of_torch:
            return sys.modules["torch"].from_numpy(memory).view(dtype).reshape(sizes)
        return memory.view(np.dtype(dtype)).reshape(sizes)

    def zeros(self, shape: int | Sequence[int], dtype: Any = "float32") -> Any:
        """As ``empty``, with zeros."""
        array = self.empty(shape, dtype)
        array[...] = 0
        return array

    def tensor(self, values: Any) -> Any:
        """A copy of an array or tensor, in the device's memory."""
        array = self.empty(values.shape, values.dtype)
        array[...] = values
        return array


class SimulatedWorld:
    """Devices that are simulated: each has memory, a context, and a thread while kernels run.

    Attributes
    ----------
    size : how many devices.
    contexts : one for each, by rank.
    """

    def __init__(self, size: int, layout: Layout) -> None:
        self.size, self.layout = size, layout
        self._busy = threading.Lock()
        regions = [_aligned_zeros(layout.region_bytes) for _ in range(size)]
        self._starts = [int(region.__array_interface__["data"][0]) for region in regions]
        self._reports = [np.zeros(words.REPORT_WORDS, np.int64) for _ in range(size)]
        reports = [int(report.__array_interface__["data"][0]) for report in self._reports]
        tables = [np.array(layout.table(rank, self._starts, reports[rank], 0.0), np.int64) for rank in range(size)]
        self.contexts = [SimulatedContext(self, r, regions[r], tables[r]) for r in range(size)]

    def launch(self, function: Callable[[int, SimulatedContext], Any], seconds: float = 120.0) -> list[Any]:
        """Call ``function(rank, context)`` on every device at the same time; kernels that it launches run together.

        Parameters
        ----------
        function : what a device does: ``lambda rank, context: kernel[grid](context, shards[rank])``. Only one device at
            a time is outside of kernels, so that the function itself needs no locks.
        seconds : after so long what still runs is ended.

        Returns
        -------
        What the function returned, by rank.

        Raises
        ------
        DeadlockError : the devices wait for each other, or are not done in time; the table says who waits where.
        RaceError : under ``knobs.debug``, devices access the same memory and nothing orders them.
        Whatever the function raised on the first device that failed; a note says which one, and what the others did.
        LaunchError : kernels do not run on the CPU (``knobs.target``), or the devices are at work already.
        """
        if knobs.target != "cpu":
            raise LaunchError(
                "simulated devices run kernels on the CPU", table=[Row("knobs.target", "cpu", str(knobs.target))]
            )
        if not self._busy.acquire(blocking=False):
            raise LaunchError("the simulated devices are at work: this launch came from one of them, or another thread")
        try:
            results, errors = World(self.size, self).run(lambda rank: function(rank, self.contexts[rank]), seconds)
        finally:
            self._busy.release()
        if errors:
            raise _first(errors)
        for report in self._reports:
            if report[words.FAULT_KIND]:
                raise fault_of([int(word) for word in report])
        return results

    def empty(self, shape: int | Sequence[int], dtype: Any = "float32") -> list[Any]:
        """An array on each device, by rank, all at the same place of their memory."""
        return [context.empty(shape, dtype) for context in self.contexts]

    def zeros(self, shape: int | Sequence[int], dtype: Any = "float32") -> list[Any]:
        """As ``empty``, with zeros."""
        return [context.zeros(shape, dtype) for context in self.contexts]

    def tensors(self, values: Sequence[Any]) -> list[Any]:
        """Copies of arrays of one shape and dtype, one on each device, by rank."""
        return [context.tensor(value) for context, value in zip(self.contexts, values, strict=True)]

    # --- what errors and checks ask ----------------------------------------------------------------------------------

    def ranges(self) -> list[tuple[str, Range]]:
        """The memory of the devices, and their tables."""
        found = []
        for rank, (context, start) in enumerate(zip(self.contexts, self._starts)):
            table = context.data_ptr()
            found.append((f"device {rank}", Range(start, start + self.layout.region_bytes)))
            found.append((f"the table of device {rank}", Range(table, table + context.table.nbytes)))
        return found

    def described(self, address: int) -> str:
        """What lies at an address of a device."""
        for rank, start in enumerate(self._starts):
            if start <= address < start + self.layout.region_bytes:
                return self._described(address - start, rank)
        return ""

    def _described(self, offset: int, rank: int) -> str:
        offsets = self.layout.offsets
        if offset >= offsets[words.TENSORS]:
            return f"byte {offset - offsets[words.TENSORS]} of the tensors of device {rank}"
        word = max((w for w in _NAMES if offsets[w] <= offset), key=lambda w: offsets[w])
        number = (offset - offsets[word]) // 4
        if word == words.ARRIVALS:
            block, peer = divmod(number, self.size)
            return f"device {peer} at the barrier of block {block} on device {rank}"
        if word == words.SIGNALS:
            return f"signal {number} of device {rank}"
        return f"{_NAMES[word]} of device {rank}"


def simulate(mesh: device_mesh | int, bytes: int = 1 << 24, *, blocks: int = 1024, slots: int = 1024) -> SimulatedWorld:
    """Devices in this process, for kernels that reach the memory of other GPUs: without any GPU, on the CPU.

    Parameters
    ----------
    mesh : how many devices, or a mesh: its nodes and devices count, clusters and blocks are a launch's.
    bytes : of memory for tensors on each device.
    blocks : the most programs of one launch that meet their like on other devices.
    slots : signals of each device.

    Raises
    ------
    MeshTypeError : no mesh and no number. MeshError : fewer than one device, or more than a context can name.
    """
    if isinstance(mesh, device_mesh):
        size = prod(axis.size for axis in mesh.launch_axes if axis.level in _DEVICE_LEVELS)
    elif isinstance(mesh, int) and not isinstance(mesh, bool):
        size = mesh
    else:
        raise MeshTypeError(
            "devices are simulated of a mesh", table=[Row("mesh", "device_mesh(…) or a number", repr(mesh))]
        )
    if not 1 <= size <= MOST_MEMBERS:
        raise MeshError(
            "so many devices cannot be simulated", table=[Row("devices", f"1 to {MOST_MEMBERS}", str(size))]
        )
    return SimulatedWorld(size, Layout(size, bytes, blocks, slots))


def _aligned_zeros(size: int) -> Any:
    memory = np.zeros(size + _ALIGNMENT, np.uint8)
    skipped = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[skipped : skipped + size]


def _first(errors: dict[int, BaseException]) -> BaseException:
    (rank, error), *others = errors.items()
    error.add_note(f"on device {rank}")
    for other, failure in others:
        error.add_note(f"device {other} failed too: {type(failure).__name__}: {failure}".splitlines()[0])
    return error
