"""Blocks of a cluster in CUDA code on GPUs of sm_90 and later: the cases of the CPU's tests."""

import numpy as np
import pytest
import torch
import triton

from tests.adapters.cuda import cluster_kernels as kernels

HAS_CLUSTERS = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0)
LAUNCHES = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9)
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not HAS_CLUSTERS, reason="needs a CUDA device of sm_90 or later")]
launches_clusters = pytest.mark.skipif(not LAUNCHES, reason="Triton 3.9 launches whole kernels in clusters")


def on_gpu(array):
    return torch.from_numpy(array).cuda()


@launches_clusters
@pytest.mark.parametrize("cluster", [2, 8])
def test_blocks_read_their_neighbours_shared_memory(cluster):
    x, expected = kernels.swapped(cluster)
    o = torch.zeros(x.shape, device="cuda")
    kernels.launched(kernels.SWAP, "swap", cluster, block=64)[(2 * cluster,)](o, on_gpu(x))
    np.testing.assert_array_equal(o.cpu().numpy(), expected)


@launches_clusters
@pytest.mark.parametrize("cluster, n", [(2, 1001), (4, 77)])
def test_blocks_add_into_the_memory_of_one(cluster, n):
    x, expected = kernels.summed(n)
    o = torch.zeros(3, dtype=torch.float64, device="cuda")
    kernels.launched(kernels.SUM, "total", cluster, block=96)[(3 * cluster,)](o, on_gpu(x), n)
    np.testing.assert_allclose(o.cpu().numpy(), expected, rtol=1e-12)


@launches_clusters
def test_addresses_and_registers_of_ptx():
    o = torch.zeros((6, 32), dtype=torch.int32, device="cuda")
    kernels.launched(kernels.BY_PTX, "by_ptx", 2, block=32)[(6,)](o)
    np.testing.assert_array_equal(o.cpu().numpy(), kernels.numbered())


def test_fragments_of_a_kernel_in_clusters_reach_the_other_blocks():
    x, expected = kernels.rotated(100)
    o = torch.zeros(x.shape, device="cuda")
    kernels.rotate_twice[(8,)](on_gpu(x), o, 100, N=128)
    np.testing.assert_array_equal(o.cpu().numpy(), expected)
