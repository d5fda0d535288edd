"""NVSHMEM's host library: it starts, gives memory that all processes have, and knows of each module that calls it.

https://docs.nvidia.com/nvshmem/api/ has what its functions do; structures are those of version 3's headers.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

from tle_raw.distributed.exchange import Exchange
from tle_raw.errors import ContextError, LibraryError, Row, ToolchainError
from tle_raw.linker.tools.nvshmem import HOST_LIBRARY, INSTALL, find_nvshmem

IS_STARTED = 2  # nvshmemx_init_status: the device side is initialised, too
_ALIGNMENT = 512  # of a context's region
_BY_UNIQUE_ID = 1 << 3
_VERSION = 1 << 16  # of a structure, to which its size is added


class _UniqueId(ctypes.Structure):
    _fields_ = (("version", ctypes.c_int), ("internal", ctypes.c_char * 124))


class _UniqueIdArguments(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int),
        ("id", ctypes.c_void_p),
        ("rank", ctypes.c_int),
        ("world", ctypes.c_int),
    )


class _Arguments(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_int),
        ("unique_id", _UniqueIdArguments),
        ("content", ctypes.c_char * 96),
    )


class _Attributes(ctypes.Structure):
    _fields_ = (("version", ctypes.c_int), ("communicator", ctypes.c_void_p), ("arguments", _Arguments))


def start(exchange: Exchange, heap_bytes: int) -> None:
    """Start NVSHMEM on this process's current GPU, or see that it was started for the same processes.

    NVLink's multicast is left off, unless ``NVSHMEM_DISABLE_NVLS`` says otherwise.

    Parameters
    ----------
    heap_bytes : what its heap takes where its size is fixed, unless ``NVSHMEM_SYMMETRIC_SIZE`` says otherwise.

    Raises
    ------
    ToolchainError : it is not installed. ContextError : it cannot start, or runs with other processes.
    """
    host = host_library()
    if host.nvshmemx_init_status() < IS_STARTED:
        os.environ.setdefault("NVSHMEM_DISABLE_NVLS", "1")
        os.environ.setdefault("NVSHMEM_SYMMETRIC_SIZE", str(heap_bytes))
        _start(host, exchange)
    found = (host.nvshmem_my_pe(), host.nvshmem_n_pes())
    if found != (exchange.rank, exchange.world):
        raise ContextError(
            "NVSHMEM runs with other processes than the context's group",
            table=[
                Row("process", str(exchange.rank), str(found[0])),
                Row("processes", str(exchange.world), str(found[1])),
            ],
            hint="a context by NVSHMEM is for all processes that NVSHMEM was started with, numbered as there",
        )


def _start(host: Any, exchange: Exchange) -> None:
    unique = _UniqueId(_VERSION + ctypes.sizeof(_UniqueId))
    if exchange.rank == 0:
        _check("nvshmemx_get_uniqueid", host.nvshmemx_get_uniqueid(ctypes.byref(unique)))
    first = exchange.all_gather(ctypes.string_at(ctypes.byref(unique), ctypes.sizeof(unique)))[0]
    unique = _UniqueId.from_buffer_copy(first)
    attributes = _Attributes(
        _VERSION + ctypes.sizeof(_Attributes),
        None,
        _Arguments(
            _VERSION + ctypes.sizeof(_Arguments),
            _UniqueIdArguments(_VERSION + ctypes.sizeof(_UniqueIdArguments), None, -1, -1),
        ),
    )
    status = host.nvshmemx_set_attr_uniqueid_args(
        exchange.rank, exchange.world, ctypes.byref(unique), ctypes.byref(attributes)
    )
    _check("nvshmemx_set_attr_uniqueid_args", status)
    _check("nvshmemx_hostlib_init_attr", host.nvshmemx_hostlib_init_attr(_BY_UNIQUE_ID, ctypes.byref(attributes)))
    if host.nvshmemx_init_status() < IS_STARTED:
        raise ContextError("NVSHMEM has not started", hint="NVSHMEM_DEBUG=INFO shows why")


def allocate(size: int) -> int:
    """The address of memory that all processes have; all of them ask for it. Raises ContextError where none is left."""
    address = int(host_library().nvshmem_align(_ALIGNMENT, size) or 0)
    if not address:
        raise ContextError(
            f"NVSHMEM has no {size} bytes left",
            hint="NVSHMEM_SYMMETRIC_SIZE says how much its heap has, in bytes, before it starts",
        )
    return address


def free(address: int) -> None:
    """Give it back; all processes do."""
    host_library().nvshmem_free(address)


def address_on(address: int, rank: int) -> int:
    """Where a process's memory lies for kernels of this one; 0 where no pointer reaches it."""
    return int(host_library().nvshmem_ptr(address, rank) or 0)


def meet() -> None:
    """Wait for all processes."""
    host_library().nvshmem_barrier_all()


def set_up(module: int) -> None:
    """Tell a loaded module where the memory of the other GPUs is.

    Raises
    ------
    LibraryError : NVSHMEM is not installed, not started, or refuses the module.
    """
    host = _host_for_modules()
    if host.nvshmemx_init_status() < IS_STARTED:
        raise LibraryError(
            "a kernel that calls NVSHMEM was loaded, and NVSHMEM is not started in this process",
            hint='tle_raw.distributed.context(..., memory="nvshmem") starts it on the current GPU, '
            "and so do nvshmem.core.init, and nvshmemx_init_attr in C",
        )
    _call_for_module(host.nvshmemx_cumodule_init, module)


def tear_down(module: int) -> None:
    """Let NVSHMEM forget the module; nothing where NVSHMEM has ended before."""
    host = _host_for_modules()
    if host.nvshmemx_init_status() >= IS_STARTED:
        _call_for_module(host.nvshmemx_cumodule_finalize, module)


def _host_for_modules() -> Any:
    try:
        return host_library()
    except ToolchainError as error:
        raise LibraryError(
            f"a kernel that calls NVSHMEM was loaded, and its host library is not there: {error.message}", hint=INSTALL
        ) from None


def _call_for_module(function: Any, module: int) -> None:
    status = function(module)
    if status:
        raise LibraryError(
            f"{function.__name__} refuses a kernel's module: status {status}",
            hint="link the device library of the NVSHMEM that runs",
        )


def _check(function: str, status: int) -> None:
    if status:
        raise ContextError(f"{function} fails with status {status}", hint="NVSHMEM_DEBUG=INFO shows why")


@cache
def host_library() -> Any:
    """The one that the process has loaded, or that of NVIDIA's wheel.

    Raises
    ------
    ToolchainError : it is not installed.
    """
    names = [HOST_LIBRARY]
    try:
        names.append(str(find_nvshmem().host_library))
    except ToolchainError as missing:
        refused = missing.message
    for name in names:
        try:
            found = ctypes.CDLL(name)
            break
        except OSError as error:
            refused = str(error)
    else:
        raise ToolchainError(f"NVSHMEM's host library is not there: {refused}", hint=INSTALL)
    found.nvshmem_align.argtypes, found.nvshmem_align.restype = [ctypes.c_size_t, ctypes.c_size_t], ctypes.c_void_p
    found.nvshmem_free.argtypes, found.nvshmem_free.restype = [ctypes.c_void_p], None
    found.nvshmem_ptr.argtypes, found.nvshmem_ptr.restype = [ctypes.c_void_p, ctypes.c_int], ctypes.c_void_p
    found.nvshmem_barrier_all.restype = None
    for function in (found.nvshmemx_cumodule_init, found.nvshmemx_cumodule_finalize):
        function.argtypes = [ctypes.c_void_p]
    return found
