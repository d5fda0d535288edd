"""Run as a program by ``fork_server``: imports what its programs need once, then forks a process for each run.

The only argument is JSON: the descriptor of the socket that asks, the path, the modules and the seconds without work
after which it ends. A request is one message with four descriptors: the run's own socket, and its standard input,
output and messages. On the run's socket stands a line of JSON that says what is to be run; "begun" and then the return
code are written to it, and when the other end closes it, the run ends with all that it started.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from typing import Any, NoReturn

DESCRIPTORS = 4


def main() -> None:
    given = json.loads(sys.argv[1])
    control = socket.socket(fileno=given["control"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever watched a run is not waited for
    sys.path[:] = given["path"]
    for name in given["modules"]:
        with contextlib.suppress(Exception):  # the program that needs it says so itself
            importlib.import_module(name)
    gc.freeze()  # a collection in a run would copy every page that the imports have filled
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while poll.poll(given["idle"] * 1000):
        message, descriptors, _, _ = socket.recv_fds(control, 1, DESCRIPTORS)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _watch(socket.socket(fileno=descriptors[0]), descriptors[1:])
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(connection: socket.socket, files: list[int]) -> NoReturn:
    """Fork a run, and end it when it is over or nobody asks for it any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        with connection.makefile("rb") as lines:
            asked = json.loads(lines.readline())
        watcher = os.getpid()
        pid = os.fork()
        if pid == 0:
            connection.close()
            _run(asked, files, watcher)
        watched = os.pidfd_open(pid)
        with contextlib.suppress(OSError):
            connection.sendall(b"begun\n")
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        poll.register(connection, select.POLLIN)  # nothing more is sent: this is its end
        poll.poll()
        for end in (os.killpg, os.kill):  # before it is waited for: its number is its own until then
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(OSError):
            connection.sendall(f"{status}\n".encode())
    finally:
        os._exit(0)


def _run(asked: dict[str, Any], files: list[int], watcher: int) -> NoReturn:
    """In its own process: take the limits, then run the program as if Python had been started with it."""
    code = 1
    try:
        from tle_raw.linker.processes.start_child import end_with, run

        os.setsid()
        end_with(watcher)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        tempfile.tempdir = None
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
        run(asked["program"], asked["arguments"], asked["limits"])
        code = 0
    except SystemExit as ending:
        code = _exit_code(ending)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        with contextlib.suppress(Exception):
            ctypes.CDLL(None).fflush(None)
        os._exit(code)


def _exit_code(ending: SystemExit) -> int:
    if ending.code is None or isinstance(ending.code, int):
        return (ending.code or 0) & 0xFF
    print(ending.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
