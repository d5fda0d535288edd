"""Kernels with regions under torch.compile, on a machine without a GPU."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import chosen_names

pytestmark = pytest.mark.every_triton(2)

pytest.importorskip("torch")
pytest.importorskip("llvmlite")

PROGRAMS = Path(__file__).with_name("torch_programs.py")
TESTS = re.findall(r"^def (test_\w+)", PROGRAMS.read_text(), re.MULTILINE)
FIRST = TESTS[0]


def run(folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", str(PROGRAMS), str(folder), *tests]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("torch")


@pytest.fixture(scope="module")
def output(request, folder):
    """What all tests say: one process, because most of its time is imports."""
    return run(folder, *chosen_names(request))


@pytest.mark.parametrize("name", TESTS)
def test_under_torch_compile(output, name):
    assert f"passed {name}\n" in output.stdout, output.stderr[-3000:]


@pytest.mark.one_triton
def test_another_process_takes_the_graph_from_torchs_cache(output, folder):
    again = run(folder, FIRST)
    assert f"passed {FIRST}\n" in again.stdout, again.stderr[-3000:]
    assert "from the cache: 0" not in again.stdout
