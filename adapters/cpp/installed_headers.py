"""Headers of installed packages that CUDA programs include: NVIDIA's libraries, torch, Python itself."""

from __future__ import annotations

import functools
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tle_raw.linker.tools.wheels import package_folder, package_folders

PYTHON = "Python.h"
# Without them there is no device code, so that nothing stands in for them.
_NEEDED = re.compile(
    r"(?:nv|cub|cuda|thrust|cute|cutlass|cooperative_groups|crt|cupy)/|pycuda-|cuda_|mma\.h$|vector_types\.h$|tle_raw/"
)
# Quoted, a name is a file of the user's, unless a library is known by its folder or its name.
_LIBRARY = re.compile(
    r"(?:torch|ATen|c10|pybind11|tvm|dlpack|nvtx3|nccl|catch2|gtest|boost|fmt|spdlog|glog|gflags)/"
    r"|(?:Python|mpi|omp|nccl|nvml|numa|mkl\w*|cblas|lapacke)\.h$"
    r"|(?:cublas|curand|cusparse|cusolver|cufft|cudnn|nvrtc|nvToolsExt)\w*\.h$"
)


def folder_with(header: str) -> Path | None:
    """The folder of an installed package below which a header lies."""
    return next((folder for folder in package_folders_of_headers() if (folder / header).is_file()), None)


def may_be_skipped(header: str, is_quoted: bool) -> bool:
    """Whether a header that nobody has may be one that only host code needs."""
    parts = Path(header).parts
    if not header or header.startswith("/") or ".." in parts or _NEEDED.match(header):
        return False
    return not is_quoted or is_librarys(header)


def is_librarys(header: str) -> bool:
    """Whether the name is that of a library for hosts."""
    return bool(_LIBRARY.match(header))


@functools.cache
def package_folders_of_headers() -> tuple[Path, ...]:
    """Where installed packages have their headers, in the order in which they are looked through."""
    return tuple(folder for folder in _candidates() if folder.is_dir())


def _candidates() -> Iterator[Path]:
    for nvidia in package_folders("nvidia"):
        yield from sorted(nvidia.glob("*/include"))
    for tvm in package_folders("tvm_ffi"):
        yield tvm / "include"
    torch = package_folder("torch")
    if torch:
        yield torch / "include"
        yield torch / "include" / "torch" / "csrc" / "api" / "include"
    yield Path(sysconfig.get_path("include"))
