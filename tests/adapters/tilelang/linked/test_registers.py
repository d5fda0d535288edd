"""Registers that warps hand to each other: what fits a block that Triton can launch."""

import pytest

from tle_raw.adapters.common.launched_kernel import launched_threads
from tle_raw.adapters.tilelang.linked.register_budgets import FILE, fit_budgets

pytestmark = pytest.mark.one_triton


@pytest.mark.parametrize("threads, block", [(32, 32), (96, 128), (128, 128), (256, 256), (384, 512), (1, 32)])
def test_triton_launches_powers_of_two(threads, block):
    assert launched_threads(threads) == block


def test_two_groups_that_compute_and_one_that_loads():
    found = fit_budgets([24], [240], 384, 512)
    assert found.launch == 128 and found.fitted == {24: 24, 240: 232}
    assert FILE >= 256 * 232 + (128 + 128) * 24  # the computing, the loading and the idle


def test_three_groups_that_compute():
    found = fit_budgets([24], [160], 512, 512)
    assert found.fitted == {24: 24, 160: 160} and FILE >= 384 * 160 + 128 * 24


@pytest.mark.parametrize(
    "gives, takes, threads, block",
    [
        ([24], [240], 256, 256),  # each thread may have 255 anyway
        ([24], [], 384, 512),  # nobody takes
        ([24, 24, 24], [240], 384, 512),  # nobody is left to take
        ([24], [240], 320, 512),  # half a group
    ],
)
def test_where_budgets_gain_nothing_there_are_none(gives, takes, threads, block):
    assert fit_budgets(gives, takes, threads, block) is None
