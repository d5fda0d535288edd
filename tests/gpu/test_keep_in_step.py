"""Programs that keep in step on a GPU: who goes on has seen all come, and launches that are too large end as well."""

from __future__ import annotations

import os

import pytest
import torch

from tests.frontends.gpu import step_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU

pytestmark = pytest.mark.gpu
TURNS = 40
# Under a sanitizer programs are so slow that they go on without each other.
WATCHED = bool(os.environ.get("GPU_TESTS_WATCHED"))


def walked(programs: int, counter: torch.Tensor, turns: int = TURNS):
    o = torch.zeros(programs, turns, device=DEVICE, dtype=torch.int32)
    came = torch.zeros(turns, device=DEVICE, dtype=torch.int32)
    kernels.walk[(programs,)](o, came, counter, turns)
    return o, came


def turns_of(programs: int) -> torch.Tensor:
    own = TURNS - torch.arange(programs, device=DEVICE) % 3
    return own[:, None] > torch.arange(TURNS, device=DEVICE)


@pytest.mark.parametrize("programs", [1, 2, 100, 132])
def test_who_goes_on_has_seen_all_come(programs):
    counter = torch.zeros(1, device=DEVICE, dtype=torch.int64)
    for _ in range(1 if ON_CPU or COMPILE_ONLY else 50):
        o, came = walked(programs, counter)
        if COMPILE_ONLY:
            continue
        has = turns_of(programs)
        assert torch.equal(came, has.sum(0).int()) and counter.item() == 0
        if not ON_CPU and not WATCHED:
            # In the last turns some have left already: of the others, all have come.
            assert ((o >= came) | ~has).all()


@pytest.mark.skipif(ON_CPU, reason="programs do not wait there")
def test_more_programs_than_run_at_a_time_go_on_without_each_other():
    counter = torch.zeros(1, device=DEVICE, dtype=torch.int64)
    for programs in (100_000, 132, 50_000):
        o, came = walked(programs, counter)
        if not COMPILE_ONLY:
            has = turns_of(programs)
            assert torch.equal(came, has.sum(0).int()) and counter.item() == 0
            assert ((o > 0) == has).all()
