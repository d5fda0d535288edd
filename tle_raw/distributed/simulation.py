"""``tle_raw.distributed.simulate``: devices of one process that run kernels at the same time, on the CPU."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from triton import knobs as triton_knobs

from tle_raw.distributed.faults import fault_of
from tle_raw.distributed.heap import Heap, is_torch_dtype
from tle_raw.errors import DeadlockError, LaunchError, MeshError, MeshTypeError, PeerError, Row
from tle_raw.frontends.distributed import context_layout as words
from tle_raw.frontends.distributed.context_layout import MOST_MEMBERS, Layout
from tle_raw.frontends.distributed.device_ranks import nodes_of
from tle_raw.frontends.distributed.mesh import device_mesh
from tle_raw.knobs import knobs
from tle_raw.targets.cpu.arrays import Range
from tle_raw.targets.cpu.current_device import current_device
from tle_raw.targets.cpu.world import World

_ALIGNMENT = 512
_DEVICE_LEVELS = ("node", "device", "chiplet")
# Waits have no time limit here: one that was given up was so because the launch was ended, which has a reason.
_NO_FAULTS = (0, words.AT_BARRIER, words.AT_SIGNAL)


class SimulatedContext:
    """A member of simulated devices: a kernel takes it as one argument, as it takes a ``Context`` of GPUs.

    Attributes
    ----------
    rank, world : the number of this member, and of all.
    devices : the SimulatedWorld that it belongs to. ``device`` is None: it has no GPU.
    """

    device = None

    def __init__(self, devices: SimulatedWorld, rank: int, region: Any) -> None:
        import numpy as np

        self.devices, self.rank, self.world, self.layout = devices, rank, devices.size, devices.layout
        self.region, self.start = region, _address(region)
        self._heap = Heap(self.layout.offsets[words.TENSORS], self.layout.region_bytes)
        self._forgetting: list[Callable[[], object]] = []
        self.report = np.zeros(words.REPORT_WORDS, np.int64)
        of_nodes = np.uint64 if self.layout.nodes > 1 else np.int64  # as ``Context.dtype`` has it
        self.base = np.zeros(words.TABLE_WORDS, of_nodes)  # the table; checks of memory look at it by this name
        self.dtype = self.base.dtype

    def fill_table(self, starts: Sequence[int]) -> None:
        """Write where all regions are."""
        shares_memory = self.devices.shares_memory
        self.base[:] = self.layout.table(self.rank, starts, _address(self.report), 0.0, shares_memory=shares_memory)

    def data_ptr(self) -> int:
        """The table's address, which a launch asks for."""
        return _address(self.base)

    def empty(self, shape: int | Sequence[int], dtype: Any = "float32") -> Any:
        """An array in the device's memory: of torch for a dtype of torch, else of NumPy.

        Every device makes the same arrays in the same order: an array lies at the same place in the memory of each.

        Parameters
        ----------
        shape : sizes, in elements; it may be one number.
        dtype : ``torch.float16``, ``np.float32``, ``"int32"`` …

        Raises
        ------
        ContextError : the memory has no room for it.
        """
        import numpy as np

        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        of_torch = is_torch_dtype(dtype)
        size = prod(sizes) * (dtype.itemsize if of_torch else np.dtype(dtype).itemsize)
        offset = self._heap.take(size)
        memory = self.region[offset : offset + size]
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

    def holds(self, address: int, size: int) -> bool:
        """Whether these bytes lie in the device's memory for tensors."""
        first = self.start + self.layout.offsets[words.TENSORS]
        return first <= address <= self.start + self.layout.region_bytes - size

    def load(self, kernel: Any, *arguments: Any, grid: tuple[int, ...], **options: Any) -> None:
        """Nothing: simulated devices load code while others wait."""

    def meet(self) -> None:
        """Wait between kernels until all devices of a launch have come here; outside of launches nothing runs."""
        device = current_device()
        if device is not None:
            device.world.meet(device.rank)

    def reset(self) -> None:
        """Take the memory of all tensors back, which nothing may use any more."""
        self._heap.reset()
        self._forgetting.clear()

    def begin_anew(self) -> None:
        """Forget what a launch that failed has left: some devices have come to barriers and signalled, others not."""
        self.region[: self.layout.offsets[words.TENSORS]] = 0
        self.report[:] = 0
        for forget in self._forgetting:
            forget()

    def forget_by(self, action: Callable[[], object]) -> None:
        """Of counts in tensors, which all devices are to agree on: what makes them those of the beginning."""
        self._forgetting.append(action)

    def check(self) -> None:
        """Raise the PeerError of a kernel that had more programs, or named another slot or peer, than there are."""
        if self.report[words.FAULT_KIND] not in _NO_FAULTS:
            raise fault_of([int(word) for word in self.report], is_usable=True)


class SimulatedWorld:
    """Devices that are simulated: each has memory, a context, and a thread while kernels run.

    Attributes
    ----------
    size : how many devices.
    contexts : one for each, by rank.
    """

    def __init__(self, size: int, layout: Layout, shares_memory: bool = True) -> None:
        self.size, self.layout, self.shares_memory = size, layout, shares_memory
        self._busy = threading.Lock()
        step = layout.region_bytes
        memory = _aligned_zeros(size * step)
        self.contexts = [SimulatedContext(self, r, memory[r * step : (r + 1) * step]) for r in range(size)]
        for context in self.contexts:
            context.fill_table([other.start for other in self.contexts])

    def launch(self, function: Callable[[int, SimulatedContext], Any], seconds: float = 120.0) -> list[Any]:
        """Call ``function(rank, context)`` on every device at the same time; kernels that it launches run together.

        After an error the counts of barriers and signals are zero, as at first, and tensors keep what they hold.

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
        PeerError : a kernel had more programs, or named another signal or device, than there are.
        LaunchError : kernels do not run on the CPU (``knobs.target``), or in Triton's interpreter; or the
            devices are at work already.
        """
        if triton_knobs.runtime.interpret:
            raise LaunchError(
                "Triton's interpreter runs a program from its beginning to its end: none can wait for another device",
                hint="without TRITON_INTERPRET the CPU target runs the same kernels",
            )
        if knobs.target != "cpu":
            raise LaunchError(
                "simulated devices run kernels on the CPU", table=[Row("knobs.target", "cpu", str(knobs.target))]
            )
        if not self._busy.acquire(blocking=False):
            raise LaunchError("the simulated devices are at work: this launch came from one of them, or another thread")
        try:
            return self._run(function, seconds)
        except BaseException:
            for context in self.contexts:
                context.begin_anew()
            raise
        finally:
            self._busy.release()

    def _run(self, function: Callable[[int, SimulatedContext], Any], seconds: float) -> list[Any]:
        try:
            results, errors = World(self.size, self).run(lambda rank: function(rank, self.contexts[rank]), seconds)
        except DeadlockError as deadlock:
            self._check(deadlock)  # who waits may do so for a kernel that has ended with a fault
            raise
        self._check(None)
        if errors:
            raise _first(errors)
        return results

    def _check(self, cause: BaseException | None) -> None:
        for context in self.contexts:
            try:
                context.check()
            except PeerError as fault:
                raise fault from cause

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
        """The memory that kernels may access beside their arguments, by names."""
        found = []
        for rank, context in enumerate(self.contexts):
            found.append((f"device {rank}", Range(context.start, context.start + self.layout.region_bytes)))
            for name, array in (("table", context.base), ("report", context.report)):
                found.append((f"the {name} of device {rank}", Range(_address(array), _address(array) + array.nbytes)))
        return found

    @property
    def common(self) -> Range:
        """The memory of all devices."""
        start = self.contexts[0].start
        return Range(start, start + self.size * self.layout.region_bytes)

    def described(self, address: int, value: int | None) -> str:
        """What lies at an address of a device, and what a program that waits has seen there; "" for other memory."""
        for context in self.contexts:
            if 0 <= address - context.start < self.layout.region_bytes:
                return self._described(context, address - context.start, value)
        return ""

    def _described(self, context: SimulatedContext, offset: int, value: int | None) -> str:
        offsets, rank = self.layout.offsets, context.rank
        holds = f", which holds {value}" if value is not None else ""
        if offset >= offsets[words.TENSORS]:
            return f"byte {offset - offsets[words.TENSORS]} of the tensors of device {rank}{holds}"
        if offset >= offsets[words.SIGNALS]:
            return f"signal {(offset - offsets[words.SIGNALS]) // 4} of device {rank}{holds}"
        return self._missing(context, (offset - offsets[words.ARRIVALS]) // 4 // self.size)

    def _missing(self, context: SimulatedContext, block: int) -> str:
        """Who has not come to a barrier: nobody changes the counts, for all wait."""
        import numpy as np

        came, wanted = (
            context.region[self.layout.offsets[word] :].view(np.int32)[block * self.size : (block + 1) * self.size]
            for word in (words.ARRIVALS, words.EXPECTED)
        )
        names = ", ".join(str(peer) for peer in np.flatnonzero(came < wanted))
        return f"program {block} of device{'s' if ',' in names else ''} {names} at the barrier"


def simulate(
    mesh: device_mesh | int,
    bytes: int = 1 << 24,
    *,
    blocks: int = 1024,
    slots: int = 1024,
    shares_memory: bool = True,
) -> SimulatedWorld:
    """Devices in this process, for kernels that reach the memory of other GPUs: without any GPU, on the CPU.

    Parameters
    ----------
    mesh : how many devices, or a mesh: its nodes and devices count, clusters and blocks are a launch's.
    bytes : of memory for tensors on each device.
    blocks : the most programs of one launch that meet their like on other devices.
    slots : signals of each device.
    shares_memory : False for nodes whose memory no pointer reaches, as of hosts with a network between them:
        ``tle.remote`` of another node's device is an error there, and what ``tle.put`` and others do is not.

    Raises
    ------
    MeshTypeError : no mesh and no number. MeshError : fewer than one device, or more than a context can name.
    """
    nodes = nodes_of(mesh) if isinstance(mesh, device_mesh) else 1
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
    return SimulatedWorld(size, Layout(size, bytes, blocks, slots, nodes), shares_memory)


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _aligned_zeros(size: int) -> Any:
    import numpy as np

    memory = np.zeros(size + _ALIGNMENT, np.uint8)
    skipped = -_address(memory) % _ALIGNMENT
    return memory[skipped : skipped + size]


def _first(errors: dict[int, BaseException]) -> BaseException:
    (rank, error), *others = errors.items()
    error.add_note(f"on device {rank}")
    for other, failure in others:
        error.add_note(f"device {other} failed too: {type(failure).__name__}: {failure}".splitlines()[0])
    return error
