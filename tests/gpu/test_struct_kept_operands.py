"""Products that read an operand where it lies behind arrivals at other barriers: sums of integers, exact."""

from __future__ import annotations

import pytest
import torch

from tests.frontends.gpu import kept_operand_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not HOPPER, reason="what is tested is for sm_90")]

B, COUNT, PROGRAMS = 64, 100, 64


def same(o, expected):
    assert COMPILE_ONLY or all(torch.equal(each.double(), expected) for each in o)


@pytest.mark.parametrize("slots, how", [(1, ""), (1, "given back before"), (2, "")])
def test_a_pipe_keeps_the_operand(slots, how):
    x = torch.randint(-4, 5, (COUNT, B, B), device=DEVICE)
    given, o = x.half(), torch.empty(B, B, device=DEVICE)
    expected = (x.amax(2, keepdim=True).expand(-1, B, B).double() @ x.double()).sum(0)
    for _ in range(50):
        kernels.kept[(PROGRAMS,)](given, o, COUNT, SLOTS=slots, HOW=how, B=B)
        same([o], expected)


@pytest.mark.parametrize("how", ["", "where the kernel says"])
def test_the_other_half_is_filled_meanwhile(how):
    x = torch.randint(-2, 3, (COUNT, 2, B, B), device=DEVICE)
    given, o = x.half(), torch.empty(B, B, device=DEVICE)
    expected = (x[:, 0].sum(2, keepdim=True).expand(-1, B, B).double() @ x[:, 1].double()).sum(0)
    for _ in range(50):
        kernels.halves[(PROGRAMS,)](given, o, COUNT, HOW=how, B=B)
        same([o], expected)
