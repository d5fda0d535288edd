"""One run of a compiler that writes LLVM IR text."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from tle_raw.linker.processes.child_process import Limits, default_memory, run_child
from tle_raw.linker.processes.temporary_folder import temporary_folder


@dataclass(frozen=True)
class Run:
    """What one run of the compiler gave. ``returncode`` is None after a timeout."""

    returncode: int | None
    text: str
    log: str
    files: tuple[Path, ...]
    seconds: float
    command: tuple[str, ...]


def run_compiler(command: tuple[str, ...], unit: str, timeout: float, output: tuple[str, ...] = ()) -> Run:
    """Compile ``unit`` to LLVM IR text in an empty folder, and learn which files were read.

    ``output`` are flags that ask for something else, which the compiler prints.
    """
    with temporary_folder() as temporary:
        folder = Path(temporary)
        written, dependencies = folder / "out.ll", folder / "files.d"
        asked = output or ("-S", "-emit-llvm", "-MD", "-MF", str(dependencies), "-o", str(written))
        start = time.perf_counter()
        # surrogateescape: paths come from the file system as they are
        done = run_child(
            (*command, *asked, "-"),
            data=unit.encode("utf-8", "surrogateescape"),
            folder=folder,
            limits=Limits(timeout, default_memory()),
        )
        seconds = time.perf_counter() - start
        text = done.output.decode("utf-8", "surrogateescape") if output else _read(written)
        files = dependency_files(_read(dependencies))
        return Run(done.returncode, text, done.messages, files, seconds, (*command, "-S", "-emit-llvm", "-o", "-", "-"))


def _read(file: Path) -> str:
    """What the compiler wrote, or nothing: some flags make it do something else."""
    return file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""


def dependency_files(text: str) -> tuple[Path, ...]:
    """Files of a Makefile rule as compilers write it; a backslash or a dollar protects odd characters, no tab."""
    _, _, files = text.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\[ #\\]|\$\$|[^ \n])+", files)
    return tuple(Path(re.sub(r"\\([ #])", r"\1", word).replace("$$", "$")) for word in words if word != "-")
