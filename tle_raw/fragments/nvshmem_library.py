"""NVSHMEM's device library as one that fragments link: whole, or as some of its functions, cut once and kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tle_raw.fragments.libraries import kept_cuts
from tle_raw.fragments.module_hooks import call_for_modules_of
from tle_raw.identity import digest
from tle_raw.knobs import knobs
from tle_raw.linker.inputs.library import open_library
from tle_raw.linker.tools.nvshmem import find_nvshmem

NAME = "nvshmem"  # what reports, and records of kernels, call it
# What NVSHMEM's host library looks up in each loaded module; which of them there are depends on its release.
HOST_VARIABLES = (
    "nvshmemi_device_state_d",
    "nvshmemi_device_lib_version_d",
    "nvshmemi_ibgda_device_state_d",
    "nvshmemi_gpunetio_device_state_d",
)
# Declares the functions for CUDA code, as ``nvshmem.h`` and ``nvshmemx.h``.
HEADERS = Path(__file__).parents[1] / "include" / "nvshmem"
_HOST = "tle_raw.distributed.nvshmem_host"


def set_up_modules() -> None:
    """From now on NVSHMEM's host library is told of each loaded kernel that holds its device code. Idempotent."""
    call_for_modules_of(NAME, f"{_HOST}:set_up", f"{_HOST}:tear_down")


@dataclass(frozen=True)
class NvshmemLibrary:
    """One of ``libraries=``, for code that declares NVSHMEM's device functions and calls them.

    Attributes
    ----------
    functions : all that is used; with several fragments the file of 30 MB and more is read once for them. Empty is the
        whole library.
    home : the folder that holds NVSHMEM's ``lib``; "" is where ``NVSHMEM_HOME`` says, or its wheel.
    """

    functions: tuple[str, ...] = ()
    home: str = ""

    def require(self) -> None:
        """Raises ToolchainError where NVSHMEM is not installed."""
        find_nvshmem(self.home)

    @property
    def name(self) -> str:
        return NAME

    @property
    def host_variables(self) -> tuple[str, ...]:
        return HOST_VARIABLES

    @property
    def digest(self) -> str:
        """Of the installed files' names, sizes and times: they are large, and read when something is compiled.

        Raises
        ------
        ToolchainError : NVSHMEM is not installed.
        """
        files = sorted(find_nvshmem(self.home).folder.glob("lib/libnvshmem_device*.bc"))
        stamps = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return digest("nvshmem", self.functions, stamps)

    def library_for(self, arch: str) -> Path | bytes:
        """The bitcode for a GPU, or the text of the functions.

        Raises
        ------
        ToolchainError : NVSHMEM is not installed, or has nothing for this GPU; or nobody here reads bitcode.
        LinkError : the file is damaged, or lacks a function.
        """
        file = find_nvshmem(self.home).bitcode(arch)
        if not self.functions:
            return file
        (library,) = open_library(NAME, file.read_bytes(), arch, knobs.compile_timeout, kept_cuts())
        return library.text(dict.fromkeys((*self.functions, *HOST_VARIABLES))).encode()
