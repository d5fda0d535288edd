"""Run as a program by ``child_process.python_child``: takes its limits and its path, then runs a Python file.

The only argument is JSON: path, parent, program, arguments, limits. Imports nothing of the package.
"""

import ctypes
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    given = json.loads(sys.argv[1])
    end_with(given["parent"])
    sys.path[:] = given["path"]
    run(given["program"], given["arguments"], given["limits"])


def run(program: str, arguments: list[str], limits: list[list[int]]) -> None:
    """Take the limits, then run the file as if Python had been started with it."""
    for number, amount in limits:
        limit(number, amount)
    # A file that grows too long ends the program, as it ends one that is not Python.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    sys.argv[:] = [program, *arguments]
    with open(program, "rb") as file:
        code = compile(file.read(), program, "exec", dont_inherit=True)
    exec(code, {"__name__": "__main__", "__file__": program, "__builtins__": __builtins__})


def end_with(parent: int) -> None:
    """Die when the process that asked dies; it may have done so already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def limit(number: int, amount: int) -> None:
    hard = resource.getrlimit(number)[1]
    amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    resource.setrlimit(number, (amount, hard if number == resource.RLIMIT_STACK else amount))


if __name__ == "__main__":
    main()
