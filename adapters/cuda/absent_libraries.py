"""An error over a name of NVIDIA's libraries whose header nobody has: the package that brings the header."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WHEELS = {
    "cublas": "nvidia-cublas",
    "cufft": "nvidia-cufft",
    "curand": "nvidia-curand",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "nccl": "nvidia-nccl-cu13",
    "nvshmem": "nvidia-nvshmem-cu13",
}
_NAME = re.compile(r"'(\w+)'")


def installing(header: str) -> str:
    """What to install for a header of a library of NVIDIA's; nothing for another one."""
    library = _library(header.rpartition("/")[2])
    return f"pip install {_WHEELS[library]}  (or knobs.cuda.toolkit names a CUDA toolkit)" if library else ""


def absent_library(error: str, absent: Iterable[str]) -> str:
    """Which of the absent headers would declare what a compiler's error names; that of device code, if it has one."""
    named = {_library(name.lower()) for name in _NAME.findall(error)}
    found = [header for header in absent if (library := _library(header.rpartition("/")[2])) and library in named]
    return min(found, key=lambda header: "kernel" not in header, default="")


def _library(name: str) -> str:
    return next((library for library in _WHEELS if name.startswith(library)), "")
