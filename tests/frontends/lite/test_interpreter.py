"""TLE-Lite in Triton's interpreter gives the numbers of a compiled kernel."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import chosen_names

pytest.importorskip("torch")

KERNELS = Path(__file__).with_name("interpreted_kernels.py")
TESTS = re.findall(r"^def (test_\w+)", KERNELS.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def said(request):
    """What all of them say: one process, because most of its time is imports."""
    root = str(Path(__file__).parents[3])
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": root}
    command = [sys.executable, str(KERNELS), *chosen_names(request)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("name", TESTS)
def test_interpreted(said, name):
    assert f"passed {name}\n" in said.stdout, said.stderr[-3000:]
