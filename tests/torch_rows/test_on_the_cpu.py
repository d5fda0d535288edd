"""The rows on a machine without a GPU: by the CPU's target, which torch finds by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import chosen_names

pytestmark = pytest.mark.every_triton(3)

pytest.importorskip("torch")
pytest.importorskip("llvmlite")

from tests.torch_rows.rows import ROWS, needs_gpu  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name for name in ROWS if not needs_gpu(name)]


@pytest.fixture(scope="module")
def output(request, tmp_path_factory):
    """What all rows say: one process, because most of its time is imports and C++ compilers."""
    folder = tmp_path_factory.mktemp("torch")
    command = [sys.executable, "-W", "ignore", "-m", "tests.torch_rows.run", "cpu", str(folder)]
    command += chosen_names(request)
    # A C++ compiler is asked for one kernel alone: what it needs for many, and its vectors, are not looked at before.
    quick = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0", "TORCHINDUCTOR_VEC_ISA_OK": "1"}
    environment = os.environ | quick
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)


@pytest.mark.parametrize("name", NAMES)
def test_a_row(output, name):
    assert f"right {name} " in output.stdout, output.stdout + output.stderr[-3000:]
