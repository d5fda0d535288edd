"""Finds a clang for this machine's own code: the system's, or the one inside the ziglang wheel."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.child_process import Limits, default_memory, run_child
from tle_raw.linker.tools.wheels import package_folder

SYSTEM_NAMES = ("clang-21", "clang-20", "clang-19", "clang")
OLDEST, NEWEST = 19, 22  # whose LLVM IR the linker reads
INSTALL = "pip install ziglang"


@dataclass(frozen=True)
class ClangProgram:
    """How clang is called, and its version."""

    command: tuple[str, ...]
    version: str


def find_clang(asked: str | None = None) -> ClangProgram:
    """A clang that writes LLVM IR for this machine; it needs no headers.

    Parameters
    ----------
    asked : the only program to try.

    Raises
    ------
    ToolchainError : there is none, or none of a version whose LLVM IR is understood.
    """
    refused = []
    for command in _commands(asked):
        version = _version(command, os.stat(command[0]).st_mtime_ns)
        if OLDEST <= int(version.partition(".")[0] or 0) <= NEWEST:
            return ClangProgram(command, version)
        refused.append(f"{' '.join(command)}: {f'version {version}' if version else 'it does not run'}")
    raise ToolchainError(
        f"no clang of version {OLDEST} to {NEWEST} was found, which compiles the runtime of fragments on the CPU",
        log="\n".join(refused),
        hint=INSTALL,
    )


def _commands(asked: str | None) -> Iterator[tuple[str, ...]]:
    for name in (asked,) if asked else SYSTEM_NAMES:
        found = shutil.which(name)
        if found:
            yield (found, "clang") if Path(found).name.startswith("zig") else (found,)
    folder = None if asked else package_folder("ziglang")
    zig = folder / ("zig.exe" if os.name == "nt" else "zig") if folder else None
    if zig and zig.is_file():
        yield str(zig), "clang"


@functools.cache
def _version(command: tuple[str, ...], mtime: int) -> str:
    """What ``--version`` tells, asked once per file; "" when it does not run."""
    try:
        run = run_child([*command, "--version"], limits=Limits(60, default_memory()))
    except OSError:
        return ""
    found = re.search(rb"clang version (\d+\.\d+\.\d+\S*)", run.output)
    return found[1].decode() if found and run.returncode == 0 else ""
