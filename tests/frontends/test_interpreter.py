"""Regions run in Triton's interpreter, as in a compiled kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.documents import examples
from tests.started import run_python
from tests.support import chosen_names

pytestmark = pytest.mark.every_triton(3)

pytest.importorskip("torch")
pytest.importorskip("llvmlite")

KERNELS = Path(__file__).with_name("interpreted_kernels.py")
TESTS = re.findall(r"^def (test_\w+)", KERNELS.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def output(request):
    """What all tests of the file say: one process, because most of its time is imports."""
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    found = {}
    run = run_python(KERNELS, *chosen_names(request), environment=environment, timeout=600)
    found = dict.fromkeys(re.findall(r"^passed (\w+)", run.stdout, re.MULTILINE), True)
    return found, run.stderr


@pytest.mark.parametrize("name", TESTS)
def test_interpreted(output, name):
    passed, errors = output
    assert name in passed, errors[-3000:]


def test_the_readmes_own_example_runs(tmp_path):
    example = tmp_path / "scale.py"
    example.write_text(examples("README.md")["scale.py"])
    run = run_python(example, environment=os.environ | {"TRITON_INTERPRET": "1"}, timeout=600)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "kernel `kernel` in Triton's interpreter: 1 region" in run.stdout
    assert re.search(r"tile_scale +scale.py:26 +a team of 128 threads +4 ", run.stdout), run.stdout
