"""Two GPUs that one process drives."""

import pytest
import torch

from tests.gpu.two_gpus import cases
from tle_raw.distributed import contexts
from tle_raw.errors import ContextError

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]


@pytest.fixture
def members():
    made = contexts([0, 1], bytes=256 << 20, time_limit=8.0)
    yield made
    for context in made:
        context.close()


@pytest.mark.parametrize(
    "case",
    [cases.many_rounds, cases.ring, cases.signals_that_are_set, cases.collectives, cases.two_steps_again_and_again],
)
def test_what_two_gpus_do_together(members, case):
    case(members)


def test_a_device_that_does_not_come_ends_the_wait(members):
    cases.nobody_comes_to_a_barrier(members, 0)


def test_a_signal_that_is_not_sent_ends_the_wait(members):
    cases.nobody_signals(members)


def test_a_kernel_for_another_mesh_ends(members):
    cases.another_mesh(members)


def test_members_that_ask_for_different_tensors_are_refused(members):
    members[0].empty(10, torch.float32)
    with pytest.raises(ContextError, match="different things"):
        members[1].empty(11, torch.float32)


def test_memory_is_given_back():
    torch.cuda.mem_get_info(0)
    before = [torch.cuda.mem_get_info(device)[0] for device in range(2)]
    for _ in range(4):
        for context in contexts([0, 1], bytes=1 << 30):
            context.close()
    after = [torch.cuda.mem_get_info(device)[0] for device in range(2)]
    assert all(was - now < 64 << 20 for was, now in zip(before, after))
