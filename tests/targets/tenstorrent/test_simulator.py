"""Programs written by hand run in the simulator with the numbers of NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tle_raw.targets.tenstorrent.simulator import build_program, run_program

pytestmark = pytest.mark.one_triton
PROGRAMS = Path(__file__).parent / "programs"


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, against the largest number."""
    return float(np.abs(got.astype(np.float64) - expected).max() / np.abs(expected).max())


def test_a_gemm_of_odd_sizes_on_six_cores(tmp_path):
    random = np.random.default_rng(24)
    a = random.standard_normal((80, 112)).astype(np.float16)
    b = random.standard_normal((112, 100)).astype(np.float16)
    a.tofile(tmp_path / "a.bin")
    b.tofile(tmp_path / "b.bin")
    program = build_program(PROGRAMS / "gemm", tmp_path / "main")

    ran = run_program(program, [tmp_path / name for name in ("a.bin", "b.bin", "c.bin")], folder=PROGRAMS / "gemm")

    c = np.fromfile(tmp_path / "c.bin", np.float16).reshape(80, 100)
    assert ran.messages == ""
    assert relative_error(c, a.astype(np.float64) @ b.astype(np.float64)) < 6e-4
