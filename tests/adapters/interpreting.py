"""Runs a module of kernels in Triton's interpreter, which is chosen when Triton is imported: in another process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def names_of(file: Path) -> list[str]:
    return re.findall(r"^def (test_\w+)", file.read_text(), re.M)


def interpret(module: str, names: Sequence[str]) -> str:
    """What it says; "ok" and a name for each test that passes."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", module, *names], capture_output=True, text=True, timeout=300, env=environment, cwd=ROOT
    )
    return done.stdout + done.stderr
