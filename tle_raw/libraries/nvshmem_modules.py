"""The host's part of kernels that call NVSHMEM's device library: its host library fills each loaded module's variables.

A manifest names these functions (``samples/libraries/nvshmem.toml``). The process starts NVSHMEM itself, by
nvshmem4py, by torch or in C, before it launches such a kernel.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tle_raw.errors import LibraryError

LIBRARY = "libnvshmem_host.so.3"
STARTED = 2  # nvshmemx_init_status: the device side is initialised, too


def set_up(module: int) -> None:
    """Tell the module where the memory of the other GPUs is.

    Raises
    ------
    LibraryError : NVSHMEM is not installed, not started, or refuses the module.
    """
    host = _host_library()
    if host.nvshmemx_init_status() < STARTED:
        raise LibraryError(
            "a kernel that calls NVSHMEM was loaded, and NVSHMEM is not started in this process",
            hint="initialise it on the current GPU first: nvshmem.core.init, or nvshmemx_init_attr in C",
        )
    _call(host.nvshmemx_cumodule_init, module)


def tear_down(module: int) -> None:
    """Let NVSHMEM forget the module; nothing where NVSHMEM has ended before."""
    host = _host_library()
    if host.nvshmemx_init_status() >= STARTED:
        _call(host.nvshmemx_cumodule_finalize, module)


def _call(function: ctypes._NamedFuncPointer, module: int) -> None:
    function.argtypes = [ctypes.c_void_p]
    status = function(module)
    if status:
        raise LibraryError(
            f"{function.__name__} refuses a kernel's module: status {status}",
            hint="pack the library from the bitcode of the NVSHMEM that runs",
        )


@cache
def _host_library() -> ctypes.CDLL:
    """The one that the process has loaded, or that of NVIDIA's wheel."""
    spec = find_spec("nvidia.nvshmem") if find_spec("nvidia") else None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    refused = ""
    for name in (LIBRARY, *(str(Path(folder, "lib", LIBRARY)) for folder in folders)):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            refused = str(error)
    raise LibraryError(
        f"a kernel that calls NVSHMEM was loaded, and its host library is not there: {refused}",
        hint="pip install nvidia-nvshmem-cu13",
    )
