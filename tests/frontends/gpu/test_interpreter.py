"""TLE-Struct in Triton's interpreter: buffers are arrays."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

KERNELS = Path(__file__).with_name("interpreted_kernels.py")
TESTS = re.findall(r"^def (test_\w+)", KERNELS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", TESTS)
def test_interpreted(name):
    root = str(Path(__file__).parents[3])
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": root}
    run = subprocess.run(
        [sys.executable, str(KERNELS), name], env=environment, capture_output=True, text=True, timeout=600
    )
    assert f"passed {name}" in run.stdout, run.stderr[-3000:]
