"""Python programs in processes of their own that find torch imported: that import is 1.5 s of processor time for each.

A process that has imported torch, and neither Triton nor anything of ours, forks one for each program. A program whose
start is what a test is about (its flags, its hash seed, what it imports first) is started by ``subprocess``.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("start_programs.py")
_servers: dict[int, subprocess.Popen[bytes]] = {}  # by the process that asks: a fork has one of its own


def run_python(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 240,
) -> subprocess.CompletedProcess[str]:
    """What ``subprocess.run([sys.executable, *arguments], …)`` gives; ``arguments`` begin with a file, -m or -c.

    Raises
    ------
    subprocess.TimeoutExpired : the program took longer, and is ended.
    """
    words = [str(argument) for argument in arguments]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        status = _asked(
            {
                "arguments": words,
                "environment": dict(os.environ if environment is None else environment),
                "folder": str(folder or os.getcwd()),
                "files": [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (output, messages)],
            },
            timeout,
        )
        said = [file.seek(0) or file.read().decode() for file in (output, messages)]
    if status is None:
        raise subprocess.TimeoutExpired(words, timeout, *said)
    return subprocess.CompletedProcess([sys.executable, *words], status, *said)


def _asked(run: dict[str, Any], timeout: float) -> int | None:
    """The program's return code; None where it took too long."""
    server = _server()
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps(run).encode() + b"\n")
    server.stdin.flush()
    answer = b""
    if select.select([server.stdout], [], [], timeout)[0]:
        answer = server.stdout.readline()
    if not answer:
        _end()
    return int(answer) if answer else None


def _server() -> subprocess.Popen[bytes]:
    server = _servers.get(os.getpid())
    if server is None or server.poll() is not None:
        server = subprocess.Popen(
            [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        _servers[os.getpid()] = server
    return server


def _end() -> None:
    """End the server, and the program that it waits for."""
    server = _servers.pop(os.getpid(), None)
    if server is not None:
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate()


atexit.register(_end)
