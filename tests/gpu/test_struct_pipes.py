"""Pipes: in one partition and across, each transport, several readers, closed ends, slots that are filled once.

A kernel that hangs would hold the GPU for ever: after five minutes of one test the process ends (``hang_guard``).
"""

from __future__ import annotations

import pytest
import torch

from tests.frontends.gpu import pipe_numbers as numbers
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("hang_guard")]
across_partitions = pytest.mark.skipif(ON_CPU, reason="specialised warps are for GPUs")
by_the_copy_engine = pytest.mark.skipif(not (HOPPER or ON_CPU), reason="the kernels use the copy engine: sm_90")
with_wgmma = pytest.mark.skipif(not HOPPER, reason="the kernels use the copy engine and wgmma: sm_90")
COUNTS = (0, 1, 2, 3, 4, 5, 33)


def check(pairs, share=1e-4):
    if COMPILE_ONLY:
        assert list(pairs)
    else:
        numbers.check(pairs, share)


@pytest.mark.parametrize("how", ["copy", "store", "point"])
@pytest.mark.parametrize("slots", [2, 3, 5])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_rows_that_come_ahead_in_one_loop(warps, slots, how):
    for n in COUNTS:
        for block, cut in ((512, 0), (512, 511), (64, 5)):
            check(numbers.one_loop(DEVICE, how, slots, n, block, cut, num_warps=warps))


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("warps", [1, 4])
def test_cursors_and_readers_in_turn(warps, slots):
    for n in COUNTS:
        check(numbers.by_cursor(DEVICE, slots, n, 256, num_warps=warps))
        check(numbers.two_readers_in_turn(DEVICE, slots, n, 256, num_warps=warps))
        check(numbers.by_fragment(DEVICE, slots, n, num_warps=warps))
        check(numbers.one_behind(DEVICE, slots + 1, n, 256, num_warps=warps))
        check(numbers.by_pointers(DEVICE, slots + 1, n + 1, 256, num_warps=warps))


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_slots_that_are_filled_once(slots):
    check(numbers.once(DEVICE, slots, 256, num_warps=4))


@by_the_copy_engine
@pytest.mark.usefixtures("device_allocator")
@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_tiles_of_the_copy_engine_beside_stored_numbers(warps, slots):
    for n in COUNTS:
        check(numbers.tiles_by_descriptor(DEVICE, slots, n, 32, 64, num_warps=warps))


@with_wgmma
@across_partitions
@pytest.mark.parametrize("producers", [1, 2, 4])
@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("slots, warps", [(2, 4), (3, 8), (4, 4)])
def test_a_gemm_by_a_pipe(slots, warps, ahead, producers):
    for k in COUNTS:
        check(numbers.gemm(DEVICE, k, slots, ahead, producers, num_warps=warps))


@across_partitions
@pytest.mark.parametrize("how", ["copy", "store", "both"])
@pytest.mark.parametrize("producers", [1, 2, 4, 8])
def test_a_gemm_whose_operands_come_from_pointers(producers, how):
    for k in COUNTS:
        for slots in (1, 3):
            check(numbers.gemm_by_pointers(DEVICE, k, slots, producers, how, num_warps=4))


@across_partitions
@pytest.mark.parametrize("how", ["copy", "store", "point"])
@pytest.mark.parametrize("workers", [(1, 1), (1, 8), (2, 4), (4, 2), (8, 1)])
def test_two_readers_until_the_end_is_closed(workers, how):
    for n in COUNTS:
        for slots in (1, 2, 3):
            check(numbers.rows_to_two(DEVICE, how, slots, n, workers, num_warps=4), 1e-6)


@by_the_copy_engine
@across_partitions
@pytest.mark.parametrize("producers", [1, 2, 4])
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_three_transports_in_one_slot(slots, producers):
    for n in COUNTS:
        check(numbers.mixed(DEVICE, slots, n, producers, num_warps=4))


@across_partitions
@pytest.mark.parametrize("producers", [1, 4])
@pytest.mark.parametrize("slots", [1, 3])
def test_slots_that_are_filled_once_across_partitions(slots, producers):
    check(numbers.once_across(DEVICE, slots, producers, num_warps=4))


@with_wgmma
@across_partitions
def test_thousands_of_launches_of_all_sizes():
    """No hang, and no tile that comes too late."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(max(TIMES // 4, 1)):
        k = int(torch.randint(0, 41, (1,), generator=generator))
        check(numbers.gemm(DEVICE, k, 3, 1, 1, num_warps=4))
        check(numbers.mixed(DEVICE, 3, k, 2, num_warps=4))
        check(numbers.rows_to_two(DEVICE, "copy", 3, k, (2, 4), num_warps=4))
