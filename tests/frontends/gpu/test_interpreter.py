"""TLE-Struct in Triton's interpreter: buffers are arrays."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

FILES = [Path(__file__).with_name(f"interpreted_{what}.py") for what in ("kernels", "pointers")]
TESTS = [(file, name) for file in FILES for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("file, name", TESTS, ids=lambda part: part if isinstance(part, str) else part.stem)
def test_interpreted(file, name):
    root = str(Path(__file__).parents[3])
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": root}
    run = subprocess.run(
        [sys.executable, str(file), name], env=environment, capture_output=True, text=True, timeout=600
    )
    assert f"passed {name}" in run.stdout, run.stderr[-3000:]
