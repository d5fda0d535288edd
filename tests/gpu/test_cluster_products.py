"""Clusters of blocks that reshard block tensors and multiply, on a GPU, against NumPy and float64."""

import os
from itertools import product

import pytest
import torch

from tests.frontends.distributed import cluster_product_kernels as kernels
from tests.frontends.distributed.reshard_cases import Case, shardings_of_two_dims
from tle_raw.distributed import device_mesh, largest_part, sharding

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] < 9, reason="needs sm_90"
    ),
]


@pytest.mark.parametrize("sizes", [(("x", 2),), (("x", 2), ("y", 2)), (("x", 8),)], ids=["2", "2x2", "8"])
def test_blocks_change_their_sharding(sizes):
    mesh = device_mesh({"block_cluster": list(sizes)})
    shardings = shardings_of_two_dims(mesh)
    for number, (before, after) in enumerate(
        [(b, a) for b in shardings for a in shardings][:: 31 if len(sizes) > 1 else 3]
    ):
        case = Case(before, after, (64, 32), "float32", number)
        x = torch.stack([torch.from_numpy(case.part(block)) for block in range(mesh.size)]).cuda()
        out = torch.full((mesh.size, *largest_part(after, case.shape)), 77.0, device="cuda")
        kernels.reshard_blocks[(mesh.size,)](x, out, before, after, *x.shape[1:], *out.shape[1:])
        for block in range(mesh.size):
            case.check(block, out[block].cpu().numpy())


# LONG_TESTS=1 takes all clusters with all dtypes.
LONG = os.environ.get("LONG_TESTS") == "1"
SIZES = [(2, 1), (1, 2), (2, 2), (4, 2)]
ERRORS = [("float16", 1e-3), ("bfloat16", 1e-2), ("float32", 2e-3), ("int8", 0.0)]
CASES = product(SIZES, ERRORS) if LONG else zip(SIZES, ERRORS, strict=True)


@pytest.mark.parametrize("x,y,dtype,error", [(*sizes, *one) for sizes, one in CASES])
def test_a_cluster_multiplies(x, y, dtype, error):
    mesh = device_mesh({"block_cluster": [("x", x), ("y", y)]})
    spec, size = sharding(mesh, ["x", "y"]), 64
    for M, N, K in ((256, 256, 256), (300, 170, 530)):
        random = [torch.randn(shape, device="cuda") for shape in ((M, K), (K, N))]
        a, b = ((20 * one).to(torch.int8) if dtype == "int8" else one.to(getattr(torch, dtype)) for one in random)
        c = torch.full((M, N), -7, device="cuda", dtype=torch.int32 if dtype == "int8" else torch.float32)
        grid = -(-M // (x * size)) * -(-N // (y * size)) * x * y
        kernels.multiply[(grid,)](a, b, c, M, N, K, MESH=mesh, A=spec, B=spec, BM=size, BN=size, BK=256, PRECISION=None)
        want = a.double() @ b.double()
        assert (c.double() - want).abs().max() <= error * want.abs().max()


def test_operands_may_be_buffers():
    mesh = device_mesh({"block_cluster": [("x", 2), ("y", 2)]})
    spec, size, K = sharding(mesh, ["x", "y"]), 64, 768
    a, b = (torch.randn(shape, device="cuda").half() for shape in ((2 * size, K), (K, 2 * size)))
    c = torch.zeros(2 * size, 2 * size, device="cuda")
    kernels.multiply_buffers[(4,)](a, b, c, K, MESH=mesh, A=spec, B=spec, N=size, BK=256)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-3)
