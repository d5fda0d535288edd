"""What contexts need of the CUDA driver: memory of a device, memory that other processes and devices reach."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

from tle_raw.distributed.heap import tensor_at
from tle_raw.errors import ContextError, ToolchainError

_PEER_ACCESS_IS_ON = 704
_PORTABLE_AND_MAPPED = 3  # flags of pinned memory: for all contexts, with an address on devices
_OPEN_LAZILY = 1
_CLUSTER_DIMENSION = 4  # of CUlaunchAttributeID
_MOST_SHARED_OF_A_BLOCK = 97  # of CUdevice_attribute
_DYNAMIC_SHARED = 8  # of CUfunction_attribute
HANDLE_BYTES = 64


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_char * HANDLE_BYTES),)


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: its value is a union of 64 bytes behind a padded number."""

    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_uint32 * 16))


class _Launch(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


class Device:
    """One device of this machine, by its number in the process. All calls stand in its primary context."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._library = _library()
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(handle), number)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self._handle, self._context = handle, context

    def allocate(self, size: int) -> int:
        """The address of new memory, all zero."""
        place = ctypes.c_uint64()
        with self.current():
            self._call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
        self.clear(place.value, size)
        return place.value

    def clear(self, address: int, size: int) -> None:
        """Make memory zero, and wait for that."""
        with self.current():
            self._call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(size))
            self._call("cuCtxSynchronize")

    def free(self, address: int) -> None:
        with self.current():
            self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def write(self, address: int, data: bytes) -> None:
        with self.current():
            self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

    def read(self, address: int, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        with self.current():
            self._call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data.raw

    def tensor(self, address: int, shape: Sequence[int], dtype: Any, owner: Any) -> Any:
        """A tensor at an address of this device's: see ``heap.tensor_at``."""
        return tensor_at(address, shape, dtype, self.number, owner)

    def wait(self) -> None:
        """Until all that was launched has ended."""
        with self.current():
            self._call("cuCtxSynchronize")

    def allocate_on_host(self, size: int) -> int:
        """The address, for the host and for every device, of pinned memory, all zero."""
        place = ctypes.c_void_p()
        with self.current():
            self._call("cuMemHostAlloc", ctypes.byref(place), ctypes.c_size_t(size), _PORTABLE_AND_MAPPED)
        ctypes.memset(place, 0, size)
        return int(place.value or 0)

    def free_on_host(self, address: int) -> None:
        with self.current():
            self._call("cuMemFreeHost", ctypes.c_void_p(address))

    def export(self, address: int) -> bytes:
        """A handle by which other processes of this machine open an allocation."""
        handle = _Handle()
        with self.current():
            self._call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(address))
        return bytes(ctypes.string_at(ctypes.addressof(handle), HANDLE_BYTES))

    def open(self, handle: bytes) -> int:
        """The address here of another process's allocation."""
        given, place = _Handle.from_buffer_copy(handle), ctypes.c_uint64()
        with self.current():
            self._call("cuIpcOpenMemHandle_v2", ctypes.byref(place), given, _OPEN_LAZILY)
        return place.value

    def close(self, address: int) -> None:
        with self.current():
            self._call("cuIpcCloseMemHandle", ctypes.c_uint64(address))

    def reach(self, other: Device) -> None:
        """Let kernels of this device use the other's memory; raises ContextError where no link leads there."""
        can = ctypes.c_int()
        self._call("cuDeviceCanAccessPeer", ctypes.byref(can), self._handle, other._handle)
        if not can.value:
            raise ContextError(
                f"device {self.number} cannot use memory of device {other.number}",
                hint="`nvidia-smi topo -p2p r` shows which devices can",
            )
        with self.current():
            self._call("cuCtxEnablePeerAccess", other._context, 0, also=_PEER_ACCESS_IS_ON)

    def active_clusters(self, function: int, cluster: Sequence[int], threads: int, shared: int) -> int:
        """How many clusters of a loaded kernel run at a time, by their blocks along each axis and what a block takes.

        ``shared``: bytes of dynamic shared memory.
        """
        launch = _launch_of_clusters(cluster, cluster, threads, shared)
        count = ctypes.c_int()
        with self.current():
            self._call(
                "cuOccupancyMaxActiveClusters", ctypes.byref(count), ctypes.c_void_p(function), ctypes.byref(launch)
            )
        return count.value

    @cached_property
    def most_shared(self) -> int:
        """Bytes of shared memory that a block can have."""
        most = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(most), _MOST_SHARED_OF_A_BLOCK, self._handle)
        return most.value

    def load(self, ptx: str, kernel: str) -> int:
        """The handle of a kernel, which stays loaded; its blocks may have all of the shared memory."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        with self.current():
            self._call("cuModuleLoadData", ctypes.byref(module), ptx.encode())
            self._call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
            self._call("cuFuncSetAttribute", function, _DYNAMIC_SHARED, self.most_shared)
        return int(function.value or 0)

    def launch_clusters(
        self, function: int, blocks: int, cluster: int, threads: int, shared: int, arguments: Sequence[Any]
    ) -> None:
        """So many blocks, in clusters along one axis. ``arguments``: numbers of ctypes, as the kernel has them."""
        launch = _launch_of_clusters((blocks, 1, 1), (cluster, 1, 1), threads, shared)
        places = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        with self.current():
            self._call("cuLaunchKernelEx", ctypes.byref(launch), ctypes.c_void_p(function), places, None)

    @contextmanager
    def current(self) -> Iterator[None]:
        """What is called within is for this device."""
        before = ctypes.c_void_p()
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(before))

    def _call(self, function: str, *arguments: Any, also: int = 0) -> None:
        code = getattr(self._library, function)(*arguments)
        if code not in (0, also):
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            said = text.value.decode() if text.value else str(code)
            raise ContextError(f"the CUDA driver refuses {function}: {said}")


def _launch_of_clusters(grid: Sequence[int], cluster: Sequence[int], threads: int, shared: int) -> _Launch:
    attribute = _Attribute(_CLUSTER_DIMENSION, 0, (ctypes.c_uint32 * 16)(*cluster))
    return _Launch(tuple(grid), (threads, 1, 1), shared, None, ctypes.pointer(attribute), 1)


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as missing:
        raise ToolchainError(
            "contexts of GPUs need NVIDIA's driver, which is not installed",
            hint="tle_raw.distributed.simulate makes contexts on this machine's CPU",
        ) from missing
    if library.cuInit(0):
        raise ToolchainError("NVIDIA's driver finds no GPU", hint="nvidia-smi shows what it finds")
    return library
