"""NVRTC and nvJitLink, of NVIDIA's wheels, which torch brings, or of a CUDA toolkit; called in a child process."""

from __future__ import annotations

import base64
import ctypes.util
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tle_raw.errors import LinkError, ToolchainError
from tle_raw.linker.processes.child_process import CHILD_STACK, Limits, default_memory
from tle_raw.linker.processes.run_python import run_python
from tle_raw.linker.tools.wheels import package_folders

CHILD = Path(__file__).with_name("nvidia_child.py")
NVRTC, NVJITLINK = "nvrtc", "nvJitLink"
_WHEELS = {NVRTC: "nvidia-cuda-nvrtc", NVJITLINK: "nvidia-nvjitlink"}


@dataclass(frozen=True)
class NvrtcOutput:
    """What NVRTC made: ``data`` is PTX text or LTO-IR, empty where it refused; ``log`` is what it said."""

    data: bytes
    log: str


@cache
def find_library(name: str) -> Path | None:
    """The newest shared library of the name that this machine has, or None."""
    found = [file for folder in _folders() for file in folder.glob(f"lib{name}.so*")]
    if found:
        return max(found, key=lambda file: ([int(n) for n in re.findall(r"\d+", file.name)], str(file)))
    plain = ctypes.util.find_library(name)
    return Path(plain) if plain else None


def _folders() -> list[Path]:
    folders = []
    for package in package_folders("nvidia"):
        folders += [*package.glob("*/lib"), *package.glob("*/lib64")]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            folders += [Path(os.environ[variable], "lib64"), Path(os.environ[variable], "lib")]
    folders += [Path(part) for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    return [*folders, Path("/usr/local/cuda/lib64")]


def require_library(name: str, why: str) -> Path:
    """The library's file.

    Raises
    ------
    ToolchainError : there is none; the message says what it is wanted for.
    """
    found = find_library(name)
    if found is None:
        raise ToolchainError(f"{why} needs lib{name}, which was not found", hint=f"pip install {_WHEELS[name]}")
    return found


def library_identity(name: str) -> str:
    """The library's version, as its wheel or its file tells it."""
    for wheel in (_WHEELS[name], f"{_WHEELS[name]}-cu12", f"{_WHEELS[name]}-cu13"):
        try:
            return f"{name} {version(wheel)}"
        except PackageNotFoundError:
            continue
    found = find_library(name)
    if found is None:
        return ""
    file = found.resolve()
    size = file.stat().st_size if file.is_file() else 0
    return f"{name} {file.name} {size}"


def run_nvrtc(source: str, options: Sequence[str], *, lto: bool = False, timeout: float = 600.0) -> NvrtcOutput:
    """Compile CUDA C++ to PTX, or to LTO-IR.

    Raises
    ------
    ToolchainError : NVRTC is missing, crashed or took too long.
    """
    library = require_library(NVRTC, "CUDA without clang")
    asked = {"library": str(library), "source": source, "options": list(options), "lto": lto}
    answer = _ask(asked, timeout)
    return NvrtcOutput(base64.b64decode(answer["data"]), answer["log"])


def link_lto(modules: Sequence[bytes], arch: str, *, timeout: float = 600.0) -> str:
    """The PTX that nvJitLink makes of LTO-IR modules, optimised as a whole.

    Raises
    ------
    ToolchainError : nvJitLink is missing, crashed or took too long. LinkError : it refuses a module.
    """
    library = require_library(NVJITLINK, "LTO-IR")
    given = [base64.b64encode(module).decode() for module in modules]
    answer = _ask({"library": str(library), "modules": given, "options": [f"-arch={arch}", "-lto", "-ptx"]}, timeout)
    if not answer["data"]:
        raise LinkError(
            "nvJitLink refuses the LTO-IR", log=answer["log"][-1000:],
            hint="LTO-IR of a newer CUDA than nvJitLink's cannot be read; nor can a file that was cut",
        )  # fmt: skip
    return base64.b64decode(answer["data"]).decode("utf-8", "replace").rstrip("\0")


def _ask(asked: dict[str, Any], timeout: float) -> dict[str, Any]:
    limits = Limits(timeout, default_memory(), stack=CHILD_STACK)
    done = run_python(CHILD, data=json.dumps(asked).encode(), limits=limits)
    if done.how or not done.output:
        raise ToolchainError(f"{Path(asked['library']).name} {done.how or 'gave no answer'}", log=done.messages[-1000:])
    answer: dict[str, Any] = json.loads(done.output)
    return answer
