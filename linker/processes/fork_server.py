"""Processes that run Python files and have imported what these need: a fork takes 10 ms, the imports up to 0.6 s.

A server is a child of this process, by the program and the path it looks for packages on. It ends with this process,
or after some time without work. What a run does harms neither the server nor other runs.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tle_raw.linker.processes.child_process import python_command
from tle_raw.linker.processes.no_fork import no_fork

SERVER = Path(__file__).with_name("serve_forks.py")
# Seconds without work after which a server ends: the memory of its imports is the user's again.
IDLE = 60.0
# These are read when a program is loaded, and never again.
_AT_START = ("LD_LIBRARY_PATH", "LD_PRELOAD")


@dataclass(frozen=True)
class Run:
    """What a server is asked for. ``limits`` are pairs of a resource's number and its amount."""

    program: str
    arguments: Sequence[str]
    folder: str
    environment: dict[str, str]
    limits: Sequence[tuple[int, int]]


class NoServer(Exception):
    """There is no server for this; the program has not begun."""


class _Server:
    def __init__(self, path: Sequence[str], modules: Sequence[str], environment: dict[str, str]) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        given = {"control": theirs.fileno(), "path": path, "modules": modules, "idle": IDLE}
        command = python_command(SERVER, given)
        with theirs, no_fork():
            self.process = subprocess.Popen(
                command, cwd="/", env=environment,
                pass_fds=[theirs.fileno()], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def begin(self, descriptors: Sequence[int]) -> None:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        self.control.sendmsg([b"r"], [rights], socket.MSG_NOSIGNAL)  # socket.send_fds drops its flags

    def end(self) -> None:
        """Its runs go on until those who asked for them are gone."""
        self.control.close()
        self.process.kill()
        self.process.wait()


_SERVERS: dict[tuple[object, ...], _Server] = {}
# Those that ended before a run had begun, twice: a module that ends the process while it is imported, say.
_USELESS: set[tuple[object, ...]] = set()
_LOCK = threading.Lock()


def run_forked(
    run: Run, path: Sequence[str], modules: Sequence[str], files: Sequence[int], seconds: float
) -> int | None:
    """Run a Python file in a fork of a process that has imported ``modules``; None where the time is over.

    ``files`` are the descriptors of its standard input, output and messages.

    Raises
    ------
    NoServer : there is none, and the file has not begun to run.
    """
    until = time.monotonic() + min(seconds, 1e6)
    started = tuple(run.environment.get(name, "") for name in _AT_START)
    key = (sys.executable, run.program, tuple(path), tuple(modules), started)
    if key in _USELESS:
        raise NoServer
    for _ in range(2):  # a server may end for want of work just when it is asked
        server = _server(key, path, modules, run.environment)
        words = _asked(server, run, files, until)
        if words:
            return _returncode(words)
        _drop(key, server)
        if time.monotonic() >= until:
            return None
    _USELESS.add(key)
    raise NoServer


def _server(
    key: tuple[object, ...], path: Sequence[str], modules: Sequence[str], environment: dict[str, str]
) -> _Server:
    with _LOCK:
        if key not in _SERVERS:
            try:
                _SERVERS[key] = _Server(path, modules, environment)
            except OSError:
                raise NoServer from None
        return _SERVERS[key]


def _drop(key: tuple[object, ...], server: _Server) -> None:
    with _LOCK:
        if _SERVERS.get(key) is server:
            del _SERVERS[key]
            server.end()


def _asked(server: _Server, run: Run, files: Sequence[int], until: float) -> list[bytes]:
    """What was said of the run: nothing where it has not begun, its return code last where it came to its end."""
    ours, theirs = socket.socketpair()
    with ours:  # that it is closed ends the run, whatever happens here
        with theirs, contextlib.suppress(OSError):
            server.begin([theirs.fileno(), *files])
        with contextlib.suppress(OSError):
            ours.sendall(json.dumps(asdict(run)).encode() + b"\n")
        return _read(ours, until).split()


def _read(connection: socket.socket, until: float) -> bytes:
    """All that comes until the other end is closed, or the time is over."""
    poll, said = select.poll(), b""
    poll.register(connection, select.POLLIN)
    while poll.poll(max(until - time.monotonic(), 0) * 1000):
        try:
            part = connection.recv(64)
        except ConnectionResetError:
            break
        if not part:
            break
        said += part
    return said


def _returncode(words: list[bytes]) -> int | None:
    return int(words[1]) if len(words) > 1 else None


def _end_all() -> None:
    while _SERVERS:
        _SERVERS.popitem()[1].end()


def _forget_all() -> None:
    """A forked process asks servers of its own: two that share a socket would take each other's places."""
    global _LOCK
    _LOCK = threading.Lock()
    for server in _SERVERS.values():
        server.control.close()
        server.process.returncode = 0  # it is no child of this process
    _SERVERS.clear()


atexit.register(_end_all)
os.register_at_fork(after_in_child=_forget_all)
