"""Finds NVSHMEM: the bitcode of its device library, its host library and its headers, as NVIDIA's wheels have them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.tools.wheels import package_folders

HOST_LIBRARY = "libnvshmem_host.so.3"
HOME = "NVSHMEM_HOME"
INSTALL = "pip install nvidia-nvshmem-cu13 (or nvidia-nvshmem-cu12), or set NVSHMEM_HOME"
_WHOLE = "libnvshmem_device.bc"  # up to 3.4: one file for all GPUs
_OF_ONE = re.compile(r"libnvshmem_device_sm_(\d+)\.bc")


@dataclass(frozen=True)
class Nvshmem:
    """An installation: ``folder`` holds ``lib`` and ``include``."""

    folder: Path

    @property
    def host_library(self) -> Path:
        return self.folder / "lib" / HOST_LIBRARY

    @property
    def include(self) -> Path:
        return self.folder / "include"

    def bitcode(self, arch: str) -> Path:
        """The device library for a GPU such as ``sm_90a``: of several the newest that it runs.

        Raises
        ------
        ToolchainError : there is none, or only such for newer GPUs.
        """
        whole = self.folder / "lib" / _WHOLE
        if whole.is_file():
            return whole
        wanted = int(re.sub(r"\D", "", arch))
        there = {
            int(found[1]): path
            for path in self.folder.glob("lib/*.bc")
            if (found := _OF_ONE.fullmatch(path.name)) is not None
        }
        fitting = [number for number in there if number <= wanted]
        if not fitting:
            has = ", ".join(f"sm_{number}" for number in sorted(there)) or "none"
            raise ToolchainError(f"NVSHMEM in {self.folder} has no device library for {arch}: it has {has}")
        return there[max(fitting)]


def find_nvshmem(home: str = "") -> Nvshmem:
    """The installation in the folder ``home``, or else that which ``NVSHMEM_HOME`` names, or that of NVIDIA's wheel.

    Raises
    ------
    ToolchainError : there is none.
    """
    home = home or os.environ.get(HOME, "")
    try:
        folders = [Path(home)] if home else list(package_folders("nvidia.nvshmem"))
    except ModuleNotFoundError:  # nothing of NVIDIA's is installed
        folders = []
    for folder in folders:
        if any(folder.glob("lib/libnvshmem_device*.bc")):
            return Nvshmem(folder)
    where = f"{home} has no lib/{_WHOLE}" if home else "its wheel is not installed"
    raise ToolchainError(f"NVSHMEM's device library is needed, and {where}", hint=INSTALL)
