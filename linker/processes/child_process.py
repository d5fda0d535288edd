"""The one way to start another program: isolated, bounded in time, memory and output, and ended with all it started."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.child_path import child_path
from tle_raw.linker.processes.no_fork import no_fork
from tle_raw.linker.processes.temporary_folder import temporary_folder

LAUNCHER = Path(__file__).with_name("start_child.py")
MIB, GIB = 1 << 20, 1 << 30
# For LLVM on foreign code: half of the usual stack. What goes well there goes well in this process too.
CHILD_STACK = 4 * MIB
# What is not named here does not reach a child: a variable that adds includes, flags or code would do so unseen.
_KEPT = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LD_PRELOAD")
)
_KEPT_FAMILIES = ("LC_", "CUDA_", "TLE_RAW_", "TRITON_", "ZIG_", "MLIR_")
# NumPy, which MLIR's bindings import, else takes memory for each core of the machine.
_FEW_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_LONGEST_MESSAGES = 8 * MIB


@dataclass(frozen=True)
class Limits:
    """What a child may take. Of each, 0 is no limit.

    ``memory`` is what it can write to (RLIMIT_DATA: LLVM and zig reserve far more addresses than they use), ``file``
    the size of each file that it writes, its output among them, and ``stack`` that of its first thread.
    """

    seconds: float
    memory: int = 0
    file: int = 256 * MIB
    stack: int = 0


@dataclass(frozen=True)
class Finished:
    """How a child ended. ``returncode`` is None after the time limit."""

    returncode: int | None
    output: bytes
    messages: str

    @property
    def how(self) -> str:
        """How it ended, in words; empty where it ended well."""
        return how_it_ended(self.returncode)


def how_it_ended(returncode: int | None) -> str:
    """In words: "crashed (SIGSEGV)"; "" where it ended well."""
    if returncode is None:
        return "did not finish in time"
    if returncode == -signal.SIGXFSZ:
        return "wrote more than it may"
    if returncode < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"crashed ({names.get(-returncode, f'signal {-returncode}')})"
    return f"failed (return code {returncode})" if returncode else ""


def default_memory() -> int:
    """Half of the machine, at most 8 GiB: the heaviest headers of CUTLASS take 3."""
    return min(8 * GIB, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def run_child(
    command: Sequence[str],
    *,
    limits: Limits,
    data: bytes = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    merged: bool = False,
) -> Finished:
    """Run a program to its end, and end whatever it started.

    Parameters
    ----------
    data : its standard input.
    folder : where it runs; by default an empty one of its own, since what lies in the current one is not asked for.
    environment : by default ``clean_environment()``.
    merged : messages are part of the output, in order.

    Raises
    ------
    OSError : the program cannot be started.
    """
    with contextlib.ExitStack() as stack:
        folder = folder or Path(stack.enter_context(temporary_folder()))
        # Files instead of pipes: their size has a limit, and nobody has to read while the child writes.
        given, output, messages = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(data)
        given.seek(0)
        with no_fork():  # a forked child would keep open the pipe by which Python learns that the program has begun
            process = subprocess.Popen(
                [_whole(command[0]), *command[1:]], cwd=folder, start_new_session=True,
                stdin=given, stdout=output, stderr=output if merged else messages,
                env=dict(clean_environment() if environment is None else environment),
            )  # fmt: skip
        return finished(_wait(process, limits), output, messages)


def finished(returncode: int | None, output: IO[bytes], messages: IO[bytes]) -> Finished:
    """What a child that ended has left in its files."""
    said = _content(messages, _LONGEST_MESSAGES)
    return Finished(returncode, _content(output), said.decode("utf-8", "surrogateescape"))


def python_child(program: Path, *arguments: str, limits: Limits) -> list[str]:
    """The command that runs a Python file on the packages of this process, and nothing from the current folder.

    The file's own process sets its limits before it runs a line of it, and ends when this process does.
    """
    given = {
        "path": child_path(), "parent": os.getpid(), "program": str(program), "arguments": arguments,
        "limits": [[number, amount] for number, amount in resources(limits)],
    }  # fmt: skip
    return python_command(LAUNCHER, given)


def python_command(program: Path, given: Mapping[str, object]) -> list[str]:
    """The command that runs a file of this folder, whose only argument is JSON."""
    if not sys.executable:
        raise ToolchainError("a Python program is needed, and this process knows of none", hint="set sys.executable")
    # -E: no variable adds code; -P: neither the current folder nor the file's own is searched.
    flags = ["-E", "-P", *(["-s"] if sys.flags.no_user_site else [])]
    return [sys.executable, *flags, str(program), json.dumps(given)]


def clean_environment() -> dict[str, str]:
    """Of this process's variables those that a compiler or a Python child needs."""
    kept = {k: v for k, v in os.environ.items() if k in _KEPT or k.startswith(_KEPT_FAMILIES)}
    return kept | _FEW_THREADS


def _whole(program: str) -> str:
    """A relative path is meant from here, and the child runs elsewhere."""
    return os.path.abspath(program) if os.sep in program else program


def _wait(process: subprocess.Popen[bytes], limits: Limits) -> int | None:
    """The return code. Whatever happens, neither the child nor what it started lives on."""
    try:
        _restrict(process.pid, limits)
        ended = has_ended(process.pid, limits.seconds)
    except BaseException:
        ended = False
        raise
    finally:
        # Before it is waited for: its number is its own until then.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode if ended else None


def has_ended(pid: int, seconds: float) -> bool:
    """Wait for a child's end, not longer than that."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(min(seconds, 1e6) * 1000))
    finally:
        os.close(descriptor)


def _restrict(pid: int, limits: Limits) -> None:
    """Set the limits of a process that has just begun: code between fork and exec is not safe beside threads.

    It has had a moment without them; a program of Python's waits for them itself.
    """
    for number, amount in resources(limits):
        with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
            hard = resource.prlimit(pid, number)[1]
            amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
            resource.prlimit(pid, number, (amount, hard if number == resource.RLIMIT_STACK else amount))
    with contextlib.suppress(OSError):  # where the machine's memory ends all the same, the child goes first
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")


def resources(limits: Limits) -> list[tuple[int, int]]:
    """The limits as the system knows them: a resource's number, and its amount."""
    # The time of all cores: a child that lost its parent ends by this one.
    seconds = int(min(limits.seconds, 1e6) + 10) * (os.cpu_count() or 1)
    asked = [
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_STACK, limits.stack),
        (resource.RLIMIT_CPU, seconds),
    ]
    return [(resource.RLIMIT_CORE, 0), *(pair for pair in asked if pair[1])]


def _content(file: IO[bytes], most: int = -1) -> bytes:
    file.seek(0)
    return file.read(most)
