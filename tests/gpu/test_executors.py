"""Loops whose groups have several executors, which are partitions of warps, against float64."""

from __future__ import annotations

import pytest
import torch

from tests.frontends.lite import executor_kernels as kernels
from tests.frontends.lite import executor_numbers as numbers
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("hang_guard"),
    pytest.mark.skipif(ON_CPU, reason="executors are partitions of warps on GPUs"),
]


def close(got, expected, share=1e-3):
    if not COMPILE_ONLY:
        numbers.close(got, expected, share)


@pytest.mark.parametrize("slots", [1, 2, 3, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_product_whose_loads_have_an_executor(warps, slots):
    for sizes in ((64, 64, 0), (100, 70, 1), (100, 130, 65), (200, 100, 500), (64, 64, 2048)):
        close(*numbers.product(DEVICE, sizes, slots, warps=warps))
    close(*numbers.product(DEVICE, (300, 200, 640), slots, blocks=(128, 128, 64), warps=warps))


@pytest.mark.skipif(not HOPPER, reason="the copy engine: sm_90")
@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_product_whose_copies_by_descriptors_have_an_executor(warps, slots):
    for programs, sizes in ((1, (200, 100, 64)), (3, (500, 300, 8)), (2, (130, 130, 1000))):
        close(*numbers.product_of_tiles(DEVICE, sizes, slots, programs, warps=warps))
    close(*numbers.product_of_tiles(DEVICE, (1000, 512, 1024), slots, 7, blocks=(128, 128, 64), warps=warps))


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_scalars_and_blocks_go_through_three_executors(slots):
    for rows in (0, 1, 2, 3, 77):
        (stored, total), expected = numbers.gathered(DEVICE, rows, slots)
        close(stored, expected[0], 1e-6)
        close(total, expected[1], 1e-4)


def test_what_an_executor_computes_goes_through_shared_memory():
    for k in (32, 64, 96, 1024):
        close(*numbers.dequantised(DEVICE, k))


@pytest.mark.parametrize("kernel", [kernels.guarded, kernels.piped], ids=["barriers", "a pipe"])
def test_buffers_that_the_kernel_guards_itself(kernel):
    for rows in (0, 1, 2, 100):
        close(*numbers.rows_less_their_maxima(kernel, DEVICE, rows, 3), 1e-6)


def test_two_loops_of_which_one_begins_with_what_the_other_made():
    for rows in (0, 1, 2, 5, 100):
        close(*numbers.chained(DEVICE, rows), 1e-5)


@pytest.mark.parametrize("slots", [1, 2])
def test_attention_whose_loads_have_an_executor(slots):
    for n in (64, 128, 1024):
        close(*numbers.attention(DEVICE, n, slots))


def test_the_same_bits_each_time():
    first, _ = numbers.product(DEVICE, (256, 256, 1000), 3, blocks=(128, 128, 64))
    for _ in range(TIMES // 10):
        again, _ = numbers.product(DEVICE, (256, 256, 1000), 3, blocks=(128, 128, 64))
        assert COMPILE_ONLY or torch.equal(first, again)
