"""Run as a program by ``tests.started``: imports torch, then forks for each program that it is asked for.

A request is a line of JSON on the standard input: the arguments of Python, the environment, the folder, and the files
that take the output and the messages. The answer is a line with the return code.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import runpy
import sys
import tempfile
import threading
import traceback
from typing import Any, NoReturn

SEARCHED_AT_START = os.environ.get("PYTHONPATH", "")


def main() -> None:
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401
    unwanted = {name.partition(".")[0] for name in sys.modules} & {"triton", "tle_raw"}
    assert not unwanted, unwanted
    gc.freeze()  # a collection in a program would copy every page that the import has filled
    for line in sys.stdin.buffer:
        pid = os.fork()
        if pid == 0:
            _run(json.loads(line))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


def _run(asked: dict[str, Any]) -> NoReturn:
    """In its own process: run the program as if Python had been started with it, to its end."""
    code = 1
    for number, file in enumerate([os.devnull, *asked["files"]]):
        opened = os.open(file, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    try:
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        tempfile.tempdir = None
        _start(*asked["arguments"])
        code = 0
    except SystemExit as ending:
        code = _exit_code(ending)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)


def _start(first: str, *others: str) -> None:
    searched = os.environ.get("PYTHONPATH", "")
    added = searched.split(os.pathsep) if searched != SEARCHED_AT_START and searched else []
    name, *rest = (first, *others) if first not in ("-c", "-m") else others
    sys.argv[:] = [first if first == "-c" else name, *rest]
    own = {"-c": "", "-m": os.getcwd()}.get(first, os.path.dirname(os.path.abspath(name)))
    sys.path[:1] = [own, *added]
    if first == "-m":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    elif first == "-c":
        exec(compile(name, "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        runpy.run_path(name, run_name="__main__")


def _exit_code(ending: SystemExit) -> int:
    if ending.code is None or isinstance(ending.code, int):
        return (ending.code or 0) & 0xFF
    print(ending.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
