"""Random ``__global__`` functions compute in the code that a GPU gets what a C++ compiler makes of their source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.conftest import CI_WHOLE

pytest.importorskip("llvmlite")

ROOT = Path(__file__).parents[2]
# What the first kernels are so different for. The rarest shapes are in the linker's tests alone.
USUAL = {"choose-values", "constant-factors", "constant-offsets", "join-offsets", "launched-structs", "plain-loops"}


def swept(first: int, count: int) -> dict[int, list[str]]:
    """The passes that changed each kernel; the process ends by an assertion here if any is wrong."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.whole_kernels.process", str(first), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 + 30 * count)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{lines[-1:]}: {done.stderr[-2000:]}"
    kernels = [line for line in lines if "seed" in line]
    assert len(kernels) == count and [line for line in kernels if line["wrong"]] == []
    return {line["seed"]: line["passes"] for line in kernels}


def test_random_kernels_are_right(whole_kernels: int, first_whole_kernel: int):
    passes = swept(first_whole_kernel, whole_kernels)
    changed = {name for names in passes.values() for name in names}
    assert whole_kernels > CI_WHOLE or changed >= USUAL
