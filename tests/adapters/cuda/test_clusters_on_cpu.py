"""Blocks of a cluster in CUDA code, on the CPU: they run together and reach each other's shared memory."""

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")

import tle_raw
from tests.adapters.cuda import cluster_kernels as kernels
from tle_raw.errors import DeadlockError, KernelFailed

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


@pytest.mark.parametrize("cluster, debug", [(2, True), (8, False)])
def test_blocks_read_their_neighbours_shared_memory(cluster, debug):
    tle_raw.knobs.debug = debug
    x, expected = kernels.swapped(cluster)
    o = np.zeros_like(x)
    kernels.launched(kernels.SWAP, "swap", cluster, block=64)[(2 * cluster,)](o, x)
    np.testing.assert_array_equal(o, expected)


@pytest.mark.one_triton
@pytest.mark.parametrize("cluster, n", [(2, 1001), (4, 77)])
def test_blocks_add_into_the_memory_of_one(cluster, n):
    x, expected = kernels.summed(n)
    o = np.zeros(3)
    kernels.launched(kernels.SUM, "total", cluster, block=96)[(3 * cluster,)](o, x, n)
    np.testing.assert_allclose(o, expected, rtol=1e-12)


def test_addresses_and_registers_of_ptx():
    o = np.zeros((6, 32), np.int32)
    kernels.launched(kernels.BY_PTX, "by_ptx", 2, block=32)[(6,)](o)
    np.testing.assert_array_equal(o, kernels.numbered())


@pytest.mark.one_triton
@pytest.mark.parametrize("cluster, threads", [(2, 64), (4, 33)])
def test_threads_arrive_at_the_barriers_of_all_blocks(cluster, threads):
    """Each block has a thread of the process to itself: arrivals that are no atomic operations get lost."""
    rounds = 100
    counts = np.zeros((cluster, rounds), np.int32)
    kernels.launched(kernels.ARRIVE, "arrive", cluster, block=threads)[(cluster,)](counts, rounds)
    assert counts.all()


def test_a_launch_without_clusters_is_clusters_of_one():
    o = np.zeros((3, 32), np.int32)
    tle_raw.fragment(kernels.BY_PTX, dialect="cuda", symbol="by_ptx").as_kernel(block=32)[(3,)](o)
    np.testing.assert_array_equal(o, np.arange(3)[:, None] * 100 + 3 * 10000 + np.arange(32))


def test_fragments_of_a_kernel_in_clusters_reach_the_other_blocks():
    x, expected = kernels.rotated(100)
    o = np.zeros_like(x)
    kernels.rotate_twice[(8,)](x, o, 100, N=128)
    np.testing.assert_array_equal(o, expected)


def test_a_block_that_the_cluster_has_not_is_told_of():
    with pytest.raises(KernelFailed, match="reaches for block 5 of a cluster of 2"):
        kernels.launched(kernels.BEYOND, "beyond", 2, block=32)[(2,)](np.zeros(32, np.float32))


def test_blocks_that_wait_for_each_other_in_vain_are_told_of():
    with pytest.raises((DeadlockError, KernelFailed)):
        kernels.launched(kernels.NEVER, "never", 2, block=32)[(2,)](np.zeros(32, np.float32))
