"""Finds a clang: the one that is asked for, the system's, or the one inside the ziglang wheel."""

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

# How a clang is called: its program, and for zig the word `clang`, which makes it the plain clang driver.
Command = tuple[str, ...]


@dataclass(frozen=True)
class ClangProgram:
    """How clang is called, and its version."""

    command: Command
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
    for command in clang_commands(asked):
        if not Path(command[0]).is_file():
            continue
        version = _version_or_nothing(command)
        if OLDEST <= int(version.partition(".")[0] or 0) <= NEWEST:
            return ClangProgram(command, version)
        refused.append(f"{' '.join(command)}: {f'version {version}' if version else 'it does not run'}")
    raise ToolchainError(
        f"no clang of version {OLDEST} to {NEWEST} was found, which compiles the runtime of fragments on the CPU",
        log="\n".join(refused),
        hint=INSTALL,
    )


def clang_commands(asked: str | None = None) -> Iterator[Command]:
    """All candidates in order of preference; the wheel's need not be there, though its package is."""
    for name in (asked,) if asked else SYSTEM_NAMES:
        found = shutil.which(name)
        if found:
            yield (found, "clang") if Path(found).name.startswith("zig") else (found,)
    folder = None if asked else package_folder("ziglang")
    if folder:
        yield str(folder / ("zig.exe" if os.name == "nt" else "zig")), "clang"


def is_zig(command: Command) -> bool:
    """Whether it is zig's, which has no resource folder and does not tell its targets."""
    return len(command) > 1


def clang_version(command: Command) -> str:
    """What ``--version`` tells, or "" where that names no clang; raises OSError where it does not run."""
    found = re.search(r"clang version (\d+\.\d+\.\d+\S*)", ask_clang(command, "--version"))
    return found[1] if found else ""


def ask_clang(command: Command, argument: str) -> str:
    """What clang prints for one argument, asked once per file content; raises OSError where it does not run."""
    stat = os.stat(command[0])
    return _answer(command, argument, stat.st_mtime_ns, stat.st_size)


@functools.cache
def _answer(command: Command, argument: str, mtime: int, size: int) -> str:
    run = run_child([*command, argument], limits=Limits(60, default_memory()))
    if run.how:
        raise OSError(f"`{' '.join(command)} {argument}` {run.how}")
    return run.output.decode("utf-8", "replace")


def _version_or_nothing(command: Command) -> str:
    try:
        return clang_version(command)
    except OSError:
        return ""
