"""Finds a C++ compiler for programs of this machine: the clang of CUDA fragments, with what standard library it has.

The clang inside the ziglang wheel takes the system's libstdc++ where there is one. Where there is none, zig's own C++
driver makes libc++ on its first use, which takes 40 s of processor time and is kept in zig's cache.
"""

from __future__ import annotations

import functools
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.child_process import Limits, default_memory, run_child
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.linker.tools.clang import INSTALL, Command, clang_commands, is_zig

# zig makes libc++ at its first use.
FIRST_USE = 300.0
PROBE = "#include <string>\n#include <thread>\nint main() { std::thread([] {}).join(); return std::string().size(); }\n"


@dataclass(frozen=True)
class HostCompiler:
    """A C++ compiler that makes programs which run here, and the flags that it always needs."""

    command: Command

    @property
    def is_clang(self) -> bool:
        """Whether it reads precompiled headers as clang does."""
        return "--driver-mode=g++" in self.command

    @property
    def is_zig_driver(self) -> bool:
        """Whether it is ``zig c++``, which brings headers and libraries of its own."""
        return self.command[1:2] == ("c++",)

    @property
    def sanitized(self) -> bool:
        return self.command[-1].startswith("-fsanitize=")

    def run(self, *arguments: str, folder: Path | None = None, seconds: float = 120.0) -> str:
        """Compile or link; gives what it says, which is empty without a warning.

        Raises
        ------
        ToolchainError : it fails; the log has what it says.
        """
        run = run_child(
            (*self.command, *arguments), limits=Limits(seconds, default_memory()), folder=folder, merged=True
        )
        said = run.output.decode("utf-8", "replace")
        if run.how:
            raise ToolchainError(f"the C++ compiler {run.how}", log=said)
        return said


@functools.cache
def host_compiler(sanitizer: str = "") -> HostCompiler:
    """The first compiler here whose programs run, with a sanitizer where one is asked for ("thread").

    Raises
    ------
    ToolchainError : there is none.
    """
    refused = []
    for command in _candidates(sanitizer):
        compiler = HostCompiler((*command, *([f"-fsanitize={sanitizer}"] if sanitizer else [])))
        trouble = _trouble(compiler)
        if not trouble:
            return compiler
        refused.append(f"{' '.join(compiler.command)}: {trouble}")
    wanted = f" with -fsanitize={sanitizer}" if sanitizer else ""
    raise ToolchainError(
        f"no C++ compiler was found whose programs run here{wanted}",
        log="\n".join(refused),
        hint="install g++, or a clang with compiler-rt" if sanitizer else INSTALL,
    )


def _candidates(sanitizer: str) -> Iterator[Command]:
    """In order of preference: clang with the system's library, then others."""
    zig: list[str] = []
    for command in clang_commands():
        if not Path(command[0]).is_file():
            continue
        if is_zig(command):
            zig.append(command[0])
            headers = str(Path(command[0]).resolve().parent / "lib" / "include")
            target = f"--target={platform.machine()}-linux-gnu"
            yield (*command, "--driver-mode=g++", target, "-isystem", headers)
        else:
            yield (*command, "--driver-mode=g++")
            yield (*command, "--driver-mode=g++", "-stdlib=libc++")
    if sanitizer:  # zig's own driver was not tried with any
        if gcc := shutil.which("g++"):
            yield (gcc,)
        return
    for program in zig:
        yield (program, "c++", "-fno-sanitize=undefined", "-Wno-nullability-completeness")


def _trouble(compiler: HostCompiler) -> str:
    """Why its programs do not run; "" where they do."""
    with temporary_folder() as name:
        folder = Path(name)
        (folder / "probe.cpp").write_text(PROBE)
        try:
            compiler.run("-std=c++20", "probe.cpp", "-o", "probe", "-lpthread", folder=folder, seconds=FIRST_USE)
            run = run_child((str(folder / "probe"),), limits=Limits(60), folder=folder)
        except (ToolchainError, OSError) as error:
            return getattr(error, "log", "").strip().split("\n")[-1] or str(error)
        return run.how
