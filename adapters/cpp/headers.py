"""Finds the headers that CUDA code needs: a toolkit's or Triton's own, CCCL, and host C++ headers."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tle_raw
from tle_raw.errors import ToolchainError
from tle_raw.knobs import knobs
from tle_raw.linker.tools.wheels import package_folder, wheel_files, wheel_version
from tle_raw.store import LinkFolders

OLDEST_CUDA = 12000  # the first with all fp8 types
NEEDED = (
    "include/cuda.h",
    "include/cuda_runtime.h",
    "include/cuda_fp16.h",
    "nvvm/libdevice/libdevice.10.bc",
    "bin",
)
# What NVIDIA's libraries of numbers for hosts include themselves stands for their headers where nobody has them.
_NUMBERS = re.compile(r"cublas|cufft|cusolver|cusparse|magma")
_OWN = Path(tle_raw.__file__).parent / "include" / "tle_raw"
_OF_NUMBERS = _OWN / "absent_library.h"
# Classes of host code hold its locks.
_OF_OPENMP = _OWN / "absent_omp.h"
# Clang's wrapper includes both; Triton's headers and CUDA 13 lack one or the other.
STUBS = ("curand_mtgp32_kernel.h", "texture_fetch_functions.h")

# Defines that zig's own libc++ wants when the host has no C++ headers.
LIBCXX_DEFINES = [
    "_LIBCPP_ABI_NAMESPACE=__1", "_LIBCPP_ABI_VERSION=1", "_LIBCPP_HAS_THREADS=1",
    "_LIBCPP_HAS_MONOTONIC_CLOCK", "_LIBCPP_HAS_MUSL_LIBC=0",
    "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0", "_LIBCPP_HAS_FILESYSTEM=1",
    "_LIBCPP_HAS_RANDOM_DEVICE", "_LIBCPP_HAS_LOCALIZATION", "_LIBCPP_HAS_UNICODE",
    "_LIBCPP_HAS_WIDE_CHARACTERS", "_LIBCPP_HAS_TIME_ZONE_DATABASE", "_LIBCPP_PSTL_BACKEND_SERIAL",
    "_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE", "__GLIBC_MINOR__=31",
    "_ALLOW_UNSUPPORTED_LIBCPP",
]  # fmt: skip


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit folder, or Triton's headers laid out as one."""

    root: Path
    version: str
    origin: str


@dataclass(frozen=True)
class HostHeaders:
    """C++ headers of the host, as clang options; none when clang finds them alone."""

    name: str
    options: tuple[str, ...] = ()


def find_toolkit(asked: str | None) -> Toolkit | None:
    """The knob's toolkit, an installed one, or Triton's own headers.

    Raises
    ------
    ToolchainError : the folder that the knob names is no toolkit that can be used.
    """
    if asked:
        toolkit = toolkit_at(Path(asked), "knobs.cuda.toolkit")
        if toolkit is None:
            raise ToolchainError(
                f"knobs.cuda.toolkit = {asked!r} is no CUDA 12 or 13 toolkit",
                hint="it must hold " + ", ".join(NEEDED),
            )
        return toolkit
    for origin in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(origin):
            toolkit = toolkit_at(Path(os.environ[origin]), origin)
            if toolkit:
                return toolkit
    return toolkit_at(Path("/usr/local/cuda"), "installed") or triton_toolkit()


def toolkit_at(root: Path, origin: str) -> Toolkit | None:
    """The toolkit in a folder, or None when files are missing or it is too old."""
    if not all((root / path).exists() for path in NEEDED):
        return None
    number = cuda_version(root / "include")
    if number < OLDEST_CUDA:
        return None
    return Toolkit(root.resolve(), f"{number // 1000}.{number % 1000 // 10}", origin)


def triton_toolkit() -> Toolkit | None:
    """The headers and libdevice inside Triton's wheel, behind links that look like a toolkit."""
    triton = package_folder("triton")
    if triton is None:
        return None
    nvidia = triton / "backends" / "nvidia"
    links = {
        "include": nvidia / "include",
        "bin": nvidia / "bin",
        "nvvm/libdevice/libdevice.10.bc": nvidia / "lib" / "libdevice.10.bc",
    }
    if not all(target.exists() for target in links.values()):
        return None
    return toolkit_at(_links().folder_of("triton-headers", links), f"Triton {wheel_version('triton')}")


def cuda_version(include: Path) -> int:
    """CUDA_VERSION of cuda.h, such as 13010; 0 when it cannot be read."""
    return _number(str(include / "cuda.h"), "CUDA_VERSION")


def find_cccl(asked: str | None, toolkit: Toolkit | None) -> Path | None:
    """The folder above ``nv/target``: the knob's, the one that came with the toolkit, or the wheel's."""
    if asked:
        folder = Path(asked)
        if not (folder / "nv" / "target").is_file():
            raise ToolchainError(
                f"knobs.cuda.cccl = {asked!r} holds no nv/target",
                hint="name the folder above nv, cub and cuda",
            )
        return folder.resolve()
    if toolkit:
        for folder in (toolkit.root / "include" / "cccl", toolkit.root / "include"):
            if (folder / "nv" / "target").is_file():
                return folder
    # the wheel has nv/target twice; the folder that also holds cub is the whole of CCCL
    folders = [file.parent.parent for file in wheel_files("nvidia-cuda-cccl", "nv/target") if file.is_file()]
    return next((folder for folder in folders if (folder / "cub").is_dir()), folders[0] if folders else None)


def cccl_release(folder: Path) -> tuple[int, ...]:
    """The three numbers of CCCL's release; () for headers that do not tell it."""
    number = _number(str(folder / "cuda" / "std" / "__cccl" / "version.h"), "CCCL_VERSION")
    return (number // 1000000, number // 1000 % 1000, number % 1000) if number else ()


def cccl_version(folder: Path) -> str:
    return ".".join(map(str, cccl_release(folder))) or "of unknown version"


def _links() -> LinkFolders:
    return LinkFolders(knobs.cache.dir)


def stub_folder() -> Path:
    """Empty headers that clang's CUDA wrapper wants and that CUDA no longer has."""
    return _links().folder_of("stubs", dict.fromkeys(STUBS))


def absent_headers(names: Sequence[str]) -> Path:
    """A folder in which headers that nobody has are empty; those of numbers' libraries lead to what they include.

    That of OpenMP, which compilers have of their own, leads to its declarations.
    """
    return _links().folder_of("absent-headers", {name: _in_place_of(name.rpartition("/")[2]) for name in names})


def _in_place_of(header: str) -> Path | None:
    if header == "omp.h":
        return _OF_OPENMP
    return _OF_NUMBERS if _NUMBERS.match(header) else None


def replaced_headers(headers: Mapping[str, Path]) -> Path:
    """A folder in which each header is another file."""
    return _links().folder_of("replaced-headers", headers)


def host_headers() -> HostHeaders | None:
    """The system's C++ headers when clang can find them, else zig's; None when there are none."""
    version = system_libstdcxx()
    if version:
        return HostHeaders(f"libstdc++ {version}")
    zig = package_folder("ziglang")
    if zig is None:
        return None
    machine = platform.machine().replace("amd64", "x86_64").replace("arm64", "aarch64").lower()
    any_machine = "x86" if machine == "x86_64" else machine
    folders = (
        "libcxx/include",
        "libcxxabi/include",
        f"libc/include/{any_machine if machine == 'x86_64' else machine}-linux-gnu",
        "libc/include/generic-glibc",
        f"libc/include/{any_machine}-linux-any",
        "libc/include/any-linux-any",
    )
    options = ["-nostdinc++", "-nostdlibinc", *(f"-D{define}" for define in LIBCXX_DEFINES)]
    for folder in folders:
        options += ["-isystem", str(zig / "lib" / folder)]
    return HostHeaders(f"libc++ of ziglang {wheel_version('ziglang')}", tuple(options))


def system_libstdcxx(root: Path = Path("/")) -> str:
    """Version of the libstdc++ that clang will pick, or "".

    Clang takes the newest GCC that is installed, and fails when that one came without C++ headers.
    """
    compilers = [path.name for path in root.glob("usr/lib/gcc/*/*") if re.fullmatch(r"\d+(\.\d+)*", path.name)]
    if not compilers or not any((root / path).is_file() for path in ("usr/include/stdlib.h",)):
        return ""
    newest = max(compilers, key=lambda name: [int(part) for part in name.split(".")])
    return newest if (root / "usr/include/c++" / newest / "climits").is_file() else ""


def _number(path: str, macro: str) -> int:
    try:
        return _define(path, os.stat(path).st_mtime_ns, macro)
    except OSError:
        return 0


@functools.cache
def _define(path: str, mtime: int, macro: str) -> int:
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    found = re.search(rf"^\s*#\s*define\s+{macro}\s+(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0
