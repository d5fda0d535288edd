"""TLE-Struct in Triton's interpreter: buffers are arrays."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import chosen_names

pytest.importorskip("torch")

FILES = [Path(__file__).with_name(f"interpreted_{what}.py") for what in ("kernels", "pointers")]
TESTS = [(file, name) for file in FILES for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)]


@pytest.fixture(scope="module")
def said(request):
    """What all of them say: a process for each file, because most of its time is imports."""
    root, chosen = str(Path(__file__).parents[3]), chosen_names(request)
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": root}
    found = {}
    for file in FILES:
        names = [name for of_file, name in TESTS if of_file == file and name in chosen]
        command = [sys.executable, str(file), *names]
        found[file] = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    return found


@pytest.mark.parametrize("file, name", TESTS, ids=lambda part: part if isinstance(part, str) else part.stem)
def test_interpreted(said, file, name):
    assert f"passed {name}\n" in said[file].stdout, said[file].stderr[-3000:]
