"""The contracts of every dialect (``tests/contracts``), launched on the device: numbers, and no call in the kernel."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tle_raw
from tests.contracts.running import SEED, check_numbers, dialect, pairs
from tests.contracts.subjects import PROGRAMS, SUBJECTS
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name, subject", pairs())
def test_a_subject_crosses_and_comes_back(name, subject):
    case = SUBJECTS[subject]
    data = case.data(np.random.default_rng(SEED))
    arguments = {k: torch.from_numpy(v).to(DEVICE) if isinstance(v, np.ndarray) else v for k, v in data.items()}
    kernel = case.kernel[(PROGRAMS,)](**arguments, FRAGMENT=dialect(name).SUBJECTS[subject], **case.constants)
    if not COMPILE_ONLY:
        check_numbers(subject, {k: v.cpu().numpy() if torch.is_tensor(v) else v for k, v in arguments.items()})
    report = tle_raw.report(kernel)
    assert report.one_kernel and len(report.regions) == 1
    if not ON_CPU:
        assert report.regions[0].inlined and report.ptx_calls == () and not report.sass_calls
