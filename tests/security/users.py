"""Programs run as other users of the machine, who may read everything and write only what is theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

ATTACKER, ORDINARY, ROOT = 65533, 65534, 0
_ALLOWED = "-all,+dac_read_search"  # the interpreter and the package may lie in a home that is not theirs

needs_two_users = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can run programs as other users"
)


def run_as(user: int, program: str, *arguments: object, **environment: object) -> str:
    """What the Python program prints."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    if user:
        command = [
            "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", f"--inh-caps={_ALLOWED}",
            "--ambient-caps=+dac_read_search", f"--bounding-set={_ALLOWED}", *command,
        ]  # fmt: skip
    names = {name: value for name, value in os.environ.items() if not name.startswith(("TLE_RAW_", "XDG_"))}
    names |= {"PYTHONDONTWRITEBYTECODE": "1"} | {name: str(value) for name, value in environment.items()}
    done = subprocess.run(command, env=names, capture_output=True, text=True, cwd="/", umask=0)
    assert done.returncode == 0, done.stderr
    return done.stdout
