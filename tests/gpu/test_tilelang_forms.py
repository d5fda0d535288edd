"""Forms of TileLang whose numbers were seen on CPUs only, and those that only a GPU has."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU, numbers
from tests.support import TRITON

pytest.importorskip("tilelang")

from tests.adapters.tilelang.form_cases import LINKED, TRACED

CLUSTERS = False  # until they are seen to work on a GPU: `_takes_clusters`

pytestmark = pytest.mark.gpu


def run(case, **options):
    arguments = [a.to(DEVICE) if isinstance(a, torch.Tensor) else a for a in case.arguments]
    tle_raw.fragment(case.prim_func, **options).as_kernel()(*arguments)
    if not COMPILE_ONLY:
        for number, expected in case.expected.items():
            np.testing.assert_array_equal(numbers(arguments[number]), expected)


@pytest.mark.parametrize("name", TRACED)
def test_traced(name):
    run(TRACED[name](), route="traced")


@pytest.mark.parametrize("name", ["unequal boxes", "split evenly", "bits of uint32", "open sizes", "booleans", *LINKED])
def test_linked(name):
    if ON_CPU:
        pytest.skip("TileLang's own lowering is for GPUs")
    if "cluster" in name and (TRITON < (3, 9) or not CLUSTERS):
        pytest.skip("clusters are refused")
    run((TRACED | LINKED)[name](), route="linked")
