"""Runs a module of kernels in Triton's interpreter, which is chosen when Triton is imported: in another process."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.started import run_python

ROOT = Path(__file__).parents[1]


def names_of(file: Path) -> list[str]:
    return re.findall(r"^def (test_\w+)", file.read_text(), re.M)


def interpret(module: str, names: Sequence[str]) -> str:
    """What it says; "ok" and a name for each test that passes."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    done = run_python("-m", module, *names, timeout=300, environment=environment, folder=ROOT)
    return done.stdout + done.stderr


def run_chosen(tests: Mapping[str, Any]) -> None:
    """In the other process: run the tests that its arguments name, and say "ok" and the name of each that passes."""
    for name in sys.argv[1:]:
        try:
            tests[name]()
            print(f"ok {name}", flush=True)
        except Exception:
            traceback.print_exc()
