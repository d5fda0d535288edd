"""Runs a Python file of this package apart from the user's process, which LLVM and MLIR end over what they trust."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tle_raw.linker.processes.child_path import child_path
from tle_raw.linker.processes.child_process import (
    Finished,
    Limits,
    clean_environment,
    finished,
    python_child,
    resources,
    run_child,
)
from tle_raw.linker.processes.fork_server import NoServer, Run, run_forked
from tle_raw.linker.processes.temporary_folder import temporary_folder


def run_python(
    program: Path,
    *arguments: str,
    limits: Limits,
    data: bytes = b"",
    folder: Path | None = None,
    modules: Sequence[str] = (),
) -> Finished:
    """Run a Python file to its end, isolated and bounded as ``run_child`` does, and end whatever it started.

    Parameters
    ----------
    data : its standard input.
    folder : where it runs; by default an empty one of its own.
    modules : what it imports, and needs time for: a process that has done so before is forked. What is not installed
        is left out. Where that process cannot be had, Python is started anew.

    Raises
    ------
    ToolchainError : there is no Python to start.
    OSError : it cannot be started.
    """
    with contextlib.ExitStack() as stack:
        folder = folder or Path(stack.enter_context(temporary_folder()))
        given, output, messages = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(data)
        given.seek(0)
        run = Run(str(program), arguments, str(folder), clean_environment(), resources(limits))
        files = [file.fileno() for file in (given, output, messages)]
        try:
            returncode = run_forked(run, child_path(), modules, files, limits.seconds)
        except NoServer:
            return run_child(python_child(program, *arguments, limits=limits), limits=limits, data=data, folder=folder)
        return finished(returncode, output, messages)
