"""Block tensors of a cluster: resharded and multiplied, in numbers on the CPU and as code for GPUs."""

import numpy as np
import pytest

pytest.importorskip("torch_mlir.ir")

import tle_raw
from tests.frontends.distributed import cluster_product_kernels as kernels
from tests.frontends.distributed.reshard_cases import Case, shardings_of_two_dims
from tests.support import cause_of, compile_kernel, ptx_calls
from tle_raw.distributed import device_mesh, largest_part, sharding
from tle_raw.errors import MeshError

pytestmark = pytest.mark.every_triton(1)


@pytest.fixture
def on_the_cpu():
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        yield


def cluster(**sizes):
    return device_mesh({"block_cluster": list(sizes.items())})


@pytest.mark.parametrize("mesh,step", [(cluster(x=2), 1), (cluster(x=2, y=2), 31)], ids=["2", "2x2"])
def test_blocks_change_their_sharding(on_the_cpu, mesh, step):
    shardings = shardings_of_two_dims(mesh)
    for number, (before, after) in enumerate([(b, a) for b in shardings for a in shardings][::step]):
        case = Case(before, after, (32, 16), "float32", number)
        x = np.stack([case.part(block) for block in range(mesh.size)])
        out = np.full((mesh.size, *largest_part(after, case.shape)), 77, np.float32)
        kernels.reshard_blocks[(mesh.size,)](x, out, before, after, *x.shape[1:], *out.shape[1:])
        for block in range(mesh.size):
            case.check(block, out[block])


def arguments(mesh):
    return {"MESH": mesh, "A": sharding(mesh, ["x", "y"]), "B": sharding(mesh, ["x", "y"])}


@pytest.mark.parametrize("x,y,dtype", [(2, 1, "int8"), (1, 2, "float32"), (2, 2, "float16"), (4, 2, "float16")])
def test_a_cluster_multiplies(on_the_cpu, x, y, dtype):
    M, N, K, size = 70, 50, 100, 16
    random, mesh = np.random.default_rng(x), cluster(x=x, y=y)
    a, b = (random.integers(-4, 5, shape).astype(dtype) for shape in ((M, K), (K, N)))
    c = np.zeros((M, N), "int32" if dtype == "int8" else "float32")
    grid = -(-M // (x * size)) * -(-N // (y * size)) * x * y
    kernels.multiply[(grid,)](a, b, c, M, N, K, **arguments(mesh), BM=size, BN=size, BK=64, PRECISION=None)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


def test_operands_may_be_buffers(on_the_cpu):
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 128), (128, 32)))
    c = np.zeros((64, 32), np.float32)
    kernels.multiply_buffers[(8,)](a, b, c, 128, **arguments(cluster(x=4, y=2)), N=16, BK=64)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


def test_a_product_of_a_cluster_is_tensor_cores_code_without_calls():
    signature = {"a_ptr": "*bf16", "b_ptr": "*bf16", "c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    constants = arguments(cluster(x=2, y=2)) | {"BM": 64, "BN": 64, "BK": 64, "PRECISION": None}
    kernel = compile_kernel(kernels.multiply, signature, constants, multiples=("M", "N", "K"))
    ptx = kernel.asm["ptx"]
    assert not ptx_calls(kernel) and "mapa" in ptx and "barrier.cluster" in ptx and "wgmma.mma_async" in ptx


def test_an_axis_that_splits_rows_and_columns_is_refused():
    mesh = cluster(x=2, y=2)
    signature = {"a_ptr": "*bf16", "b_ptr": "*bf16", "c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    constants = arguments(mesh) | {"B": sharding(mesh, ["y", "x"]), "BM": 64, "BN": 64, "BK": 64, "PRECISION": None}
    with pytest.raises(Exception) as caught:
        compile_kernel(kernels.multiply, signature, constants)
    error = cause_of(caught.value)
    assert isinstance(error, MeshError) and "axis `x` splits the rows of `a` and the columns of `b`" in str(error)
