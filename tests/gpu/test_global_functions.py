"""__global__ functions as regions on the device: shared memory of both kinds, blocks of two dims, block indices."""

import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.adapters.cuda.test_global_functions import KERNELS
from tests.adapters.cuda.test_variables import SOURCE as VARIABLES
from tests.gpu.device import COMPILE_ONLY, DEVICE

pytestmark = pytest.mark.gpu


def of(symbol, **options):
    return tle_raw.fragment(KERNELS, dialect="cuda", symbol=symbol, **options)


saxpy = of("saxpy")
types = of("types")
transpose = of("transpose", block=(16, 16))
reverse = of("reverse", shared=1024)
large = of("reverse", shared=100_000)
row_of = of("block_of", grid={"x": "row", "gridDim.x": "rows"})


@triton.jit
def saxpy_kernel(a, x, y, n):
    saxpy(a, x, y, n)
    tl.store(y + n, 7.0)


@triton.jit
def types_kernel(h: "fp16", hs, d, n: "i64", c: "u8", v, s: "i16"):
    types(h, hs, d, n, c, v, s)


@triton.jit
def transpose_kernel(out, x, rows, columns):
    transpose(out, x, rows, columns)


@triton.jit
def reverse_kernel(x):
    reverse(x)


@triton.jit
def large_kernel(x):
    large(x)


@triton.jit
def rows_kernel(out, extent):
    for row in range(3):
        row_of(out, extent, row, 55)


def test_an_early_return_ends_the_region_and_not_the_kernel():
    x, y = torch.rand(1001, device=DEVICE), torch.rand(1001, device=DEVICE)
    expected = 2.5 * x.double() + y.double()
    saxpy_kernel[(8,)](2.5, x, y, 1000)
    if not COMPILE_ONLY:
        torch.testing.assert_close(y[:1000].double(), expected[:1000], rtol=1e-6, atol=1e-6)
        assert y[1000] == 7


def test_numbers_of_every_kind_cross():
    hs = torch.tensor([0, 1.5], dtype=torch.float16, device=DEVICE)
    d = torch.zeros(1, dtype=torch.float64, device=DEVICE)
    v = torch.arange(8, dtype=torch.float32, device=DEVICE)
    types_kernel[(1,)](0.25, hs, d, 2**40, 200, v, -3)
    if not COMPILE_ONLY:
        assert d.item() == 0.25 + 1.5 + 2**40 + 200 + 5 - 3


@pytest.mark.parametrize("shape", [(16, 16), (1000, 777)])
def test_a_block_of_two_dims_with_static_shared_memory(shape):
    x = torch.rand(shape, device=DEVICE)
    out = torch.zeros(shape[::-1], device=DEVICE)
    transpose_kernel[(triton.cdiv(shape[1], 16), triton.cdiv(shape[0], 16))](out, x, *shape, num_warps=8)
    if not COMPILE_ONLY:
        torch.testing.assert_close(out, x.T.contiguous())


@pytest.mark.parametrize("kernel", [reverse_kernel, large_kernel])
def test_dynamic_shared_memory_of_any_size(kernel):
    x = torch.rand(512, device=DEVICE)
    expected = x.reshape(4, 128).flip(1) + 3
    kernel[(4,)](x)
    if not COMPILE_ONLY:
        torch.testing.assert_close(x.reshape(4, 128), expected)


def test_block_indices_come_from_the_call():
    out = torch.zeros(400, dtype=torch.int32, device=DEVICE)
    extent = torch.zeros(1, dtype=torch.int32, device=DEVICE)
    rows_kernel[(1, 2)](out, extent)
    if not COMPILE_ONLY:
        assert torch.nonzero(out).flatten().tolist() == [0, 1, 100, 101, 200, 201]
        assert extent.item() == 55


@pytest.mark.skipif(COMPILE_ONLY, reason="nothing is loaded")
def test_variables_are_set_from_the_host():
    kernel = tle_raw.fragment(VARIABLES, dialect="cuda", symbol="convolve").as_kernel(block=128)
    x = torch.rand(200, device=DEVICE)
    y = torch.zeros_like(x)
    compiled = kernel.warmup(x, y, 200)
    weights, launches = tle_raw.variable(compiled, "filter::weights"), tle_raw.variable(compiled, "launches")
    assert weights.get("float32").tolist() == [1, 2, 3] and launches.get("int32").tolist() == [5]
    weights.set(torch.tensor([-1, 0.5, 4]))
    assert kernel[(2,)](x, y, 200) is compiled
    expected = -x[:-2] + 0.5 * x[1:-1] + 4 * x[2:]
    torch.testing.assert_close(y[1:-1], expected, rtol=1e-5, atol=1e-5)
    assert launches.get("int32").tolist() == [6]
