"""printf and assertions of fragments in LLVM IR, in MLIR and in Python: what a device prints, and how it stops."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.device import COMPILE_ONLY
from tests.gpu.test_mlir import needs_bindings

pytestmark = pytest.mark.gpu

DIALECTS = ["llvm", "mlir", pytest.param("upstream", marks=needs_bindings), "edsl"]


def speak(what: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "tests.gpu.speaking", what],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=140,
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_thread_prints(dialect):
    done = speak(f"{dialect}-print")
    assert done.returncode == 0, done.stderr[-3000:]
    lines = ["the end"] if COMPILE_ONLY else ["the end", "thread 37 has 9.25"]
    assert sorted(done.stdout.splitlines()) == lines


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_assertion_that_fails_stops_the_kernel(dialect):
    done = speak(f"{dialect}-stop")
    if COMPILE_ONLY:
        assert done.returncode == 0, done.stderr[-3000:]
        return
    assert done.returncode != 0 and "the end" not in done.stdout
    assert "x < limit" in done.stderr + done.stdout
