"""cuTile regions in Triton's interpreter; the kernels stand in interpreted.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("interpreted.py")
NAMES = re.findall(r"^def (test_\w+)", FILE.read_text(), re.M)


@pytest.fixture(scope="module")
def output():
    root = Path(__file__).parents[3]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "tests.adapters.cutile.interpreted"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=root)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_interpreted(output, name):
    assert f"ok {name}\n" in output, output[-3000:]
