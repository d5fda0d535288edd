"""The TMA descriptors of one fragment, made for the arrays of a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapters.tilelang.arguments import read_sizes
from tle_raw.adapters.tilelang.linked import Linkable, Lowered, lower_for_launch
from tle_raw.adapters.tilelang.linked.descriptor_memory import descriptor_memory
from tle_raw.adapters.tilelang.linked.descriptors import BYTES, Descriptor
from tle_raw.adapters.tilelang.linked.emulated_descriptor import emulated_descriptor
from tle_raw.adapters.tilelang.linked.encode_descriptor import encode
from tle_raw.adapters.tilelang.linked.lower_for_emulation import lower_for_emulation
from tle_raw.adapters.tilelang.program import Program
from tle_raw.errors import LaunchError, Row, SourceLocation, TLEError
from tle_raw.target import Target
from tle_raw.targets.device_code import find_device_code
from tle_raw.thread_lock import ThreadLock

TMA = 90  # the first capability that has it
_WORD = "tma_"  # of the operations that ask for it


class LaunchDescriptors:
    """What ``fragment.descriptors(...)`` asks: the kernel is lowered once for each architecture that it runs on.

    ``identity`` stands for the PrimFunc and its settings: equal ones share their descriptors. ``location`` is its line.
    """

    def __init__(self, program: Program, linkable: Linkable, identity: str, location: SourceLocation) -> None:
        self._program, self._linkable, self._identity, self._location = program, linkable, identity, location
        self._names = [name for name in program.order if name not in linkable.tiles]
        self._lowered: dict[str, Lowered] = {}
        self._fields: dict[Any, Any] = {}
        self._lock = ThreadLock()

    def lowered(self, target: Target) -> Lowered:
        """The kernel as TileLang itself would launch it on ``sm_90a``, …; or as a target takes it that emulates one."""
        key = target.arch if target.backend == "cuda" else target.backend
        with self._lock:
            if key not in self._lowered:
                try:
                    self._lowered[key] = self._lower(target)
                except TLEError as error:
                    raise error.at(fragment=self._program.name, source=error.context.source or self._location) from None
            return self._lowered[key]

    def _lower(self, target: Target) -> Lowered:
        own = self._linkable
        if is_emulated(target):
            return lower_for_emulation(own.prim_func, own.tiles, own.pass_configs, tma=True)[0]
        return lower_for_launch(own.prim_func, own.tiles, target.arch, own.pass_configs)

    def has_any(self, target: Target, text: str) -> bool:
        """Whether a launch passes some; ``text`` is the PrimFunc's. What cannot be lowered has none."""
        if not is_emulated(target):
            return target.capability >= TMA
        try:
            return _WORD in text and bool(self.lowered(target).descriptors)
        except TLEError:
            return False

    def make(self, arguments: Sequence[Any], target: Target) -> Any:
        """The descriptors for these arguments of the PrimFunc; those that are tiles of the caller are left out.

        Raises
        ------
        ArgumentCountError, ArgumentTypeError, ShapeError : an argument does not fit the PrimFunc.
        LaunchError : TMA cannot copy from or to one of the arrays.
        """
        return self.find(arguments, read_sizes(self._program, arguments, self._names), target)

    def find(self, arguments: Sequence[Any], sizes: Mapping[str, int], target: Target) -> Any:
        """The same for arguments that were held against the PrimFunc already, with the sizes that they told.

        They lie in memory of the arrays' device: an array of bytes.

        A target without TMA gets zeros that nobody reads, and so does an array that lies on no GPU, since no kernel
        can be launched with it.

        Raises
        ------
        LaunchError : TMA cannot copy from or to one of the arrays.
        """
        import torch

        program, given = self._program, dict(zip(self._names, arguments))
        arrays = [given[name] for name in self._names if name in program.buffers]
        device = _device(program, arrays)
        scalars = {name: given[name] for name in program.scalars if isinstance(given[name], int)}
        if is_emulated(target):
            known = {**sizes, **scalars}
            maps = [_emulated(d, given, known) for d in self.lowered(target).descriptors]
            return torch.frombuffer(bytearray(b"".join(maps) or BYTES), dtype=torch.uint8)
        has_tma = target.backend == "cuda" and target.capability >= TMA
        descriptors = self.lowered(target).descriptors if has_tma else ()
        if device.type != "cuda" or not descriptors:
            return torch.zeros(max(1, len(descriptors)) * BYTES, dtype=torch.uint8, device=device)
        numbers = (target, *sizes.items(), *scalars.items())
        key = (self._identity, numbers, *(array.data_ptr() for array in arrays))
        return descriptor_memory(device).find(
            key, lambda: [self._encode(d, given, {**sizes, **scalars}, numbers) for d in descriptors]
        )

    def _encode(self, descriptor: Descriptor, given: dict[str, Any], known: dict[str, int], numbers: Any) -> bytes:
        fields = self._fields.get((descriptor.name, numbers))
        if fields is None:
            fields = self._fields[descriptor.name, numbers] = descriptor.fields(known)
        return encode(descriptor.buffer, fields, given[descriptor.buffer].data_ptr())


def is_emulated(target: Target) -> bool:
    """Whether threads of a GPU are emulated there."""
    wanted = find_device_code(target)
    return wanted is not None and wanted.is_emulated


def _emulated(descriptor: Descriptor, given: dict[str, Any], known: dict[str, int]) -> bytes:
    array = given[descriptor.buffer]
    address = array.data_ptr() if hasattr(array, "data_ptr") else array.__array_interface__["data"][0]
    return emulated_descriptor(descriptor.buffer, descriptor.fields(known), address)


def _device(program: Program, arrays: Sequence[Any]) -> Any:
    devices = {str(getattr(array, "device", "cpu")): getattr(array, "device", None) for array in arrays}
    if len(devices) != 1 or None in devices.values():
        raise LaunchError(
            f"the arrays of `{program.name}` lie on several devices",
            table=[Row("device", "one of torch's", ", ".join(devices))],
        )
    return next(iter(devices.values()))
