"""The samples for several GPUs: numbers on two of them."""

from pathlib import Path

import pytest
import torch

from tests.samples.programs import loaded

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
FOLDER = Path(__file__).resolve().parents[3] / "samples" / "tle_struct"
NAMES = ["21_all_gather_gemm", "22_gemm_reduce_scatter", "23_ring_attention", "24_moe_dispatch_combine"]


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_sample_are_right(name):
    with loaded(FOLDER / f"{name}.py") as module:
        compared = [comparison for _, comparison in module.check()]
    assert compared and all(one.is_right for one in compared), "\n".join(map(str, compared))
