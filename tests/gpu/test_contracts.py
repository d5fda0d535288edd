"""The contracts of every dialect (``tests/contracts``), launched on the device: numbers, and no call in the kernel."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

import tle_raw
from tests.contracts.running import SEED, check_numbers, dialect, pairs
from tests.contracts.subjects import PROGRAMS, SUBJECTS
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU
from tle_raw.adapters.numba.installed import load
from tle_raw.errors import CompilationFailed, ToolchainError

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name, subject", pairs())
def test_a_subject_crosses_and_comes_back(name, subject):
    case = SUBJECTS[subject]
    fragment = _subjects(name)[subject]
    data = case.data(np.random.default_rng(SEED))
    arguments = {k: torch.from_numpy(v).to(DEVICE) if isinstance(v, np.ndarray) else v for k, v in data.items()}
    kernel = case.kernel[(PROGRAMS,)](**arguments, FRAGMENT=fragment, **case.constants)
    if not COMPILE_ONLY:
        check_numbers(subject, {k: v.cpu().numpy() if torch.is_tensor(v) else v for k, v in arguments.items()})
    report = tle_raw.report(kernel)
    assert report.one_kernel and len(report.regions) == 1
    if not ON_CPU:
        assert report.regions[0].inlined and report.ptx_calls == () and not report.sass_calls


def _subjects(name):
    """Numba may be older than the NumPy beside it: then it cannot be loaded (as in test_numba.py)."""
    if name == "numba":
        pytest.importorskip("numba_cuda", exc_type=ImportError)
        try:
            load()
            importlib.import_module("tests.adapters.numba.programs")  # compiles
        except (ToolchainError, CompilationFailed) as missing:
            pytest.skip(str(missing))
    return dialect(name).SUBJECTS
