"""One run of a compiler that writes LLVM IR text."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Variables that add includes or flags behind the cache key's back.
_HIDDEN_INPUTS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS")


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
    """Compile ``unit`` to LLVM IR text in an empty folder, and learn which files were read."""
    with tempfile.TemporaryDirectory(prefix="tle_raw-") as temporary:
        folder = Path(temporary)
        dependencies = folder / "files.d"
        if output:
            full = (*command, *output, "-")
        else:
            full = (
                *command,
                "-S",
                "-emit-llvm",
                "-MD",
                "-MF",
                str(dependencies),
                "-o",
                str(folder / "out.ll"),
                "-",
            )
        start = time.perf_counter()
        returncode, text, log = _run(full, unit, timeout, folder)
        seconds = time.perf_counter() - start
        if not output and returncode == 0:
            text = (folder / "out.ll").read_text(encoding="utf-8", errors="surrogateescape")
        files = dependency_files(dependencies.read_text(encoding="utf-8")) if dependencies.is_file() else ()
        return Run(returncode, text, log, files, seconds, (*command, "-S", "-emit-llvm", "-o", "-", "-"))


def dependency_files(text: str) -> tuple[Path, ...]:
    """Files of a Makefile rule as compilers write it; a backslash or a dollar protects odd characters."""
    _, _, files = text.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\[ #\\]|\$\$|[^\s])+", files)
    return tuple(Path(re.sub(r"\\([ #])", r"\1", word).replace("$$", "$")) for word in words if word != "-")


def _run(command: Iterable[str], unit: str, timeout: float, folder: Path) -> tuple[int | None, str, str]:
    environment = {key: value for key, value in os.environ.items() if key not in _HIDDEN_INPUTS}
    # surrogateescape: paths come from the file system as they are
    with subprocess.Popen(
        [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
        env=environment, encoding="utf-8", errors="surrogateescape", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            text, log = process.communicate(unit, timeout=timeout)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                return None, "", ""
            raise
        return process.returncode, text, log


def _end(process: subprocess.Popen[str]) -> None:
    """End the compiler and the programs that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):
        process.kill()
