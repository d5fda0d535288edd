"""Regions of several languages meet the kernel's barriers, descriptors and pipelined loops, against float64."""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.raw import meeting_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device_allocator")]

needs_hopper = pytest.mark.skipif(not (ON_CPU or HOPPER), reason="the copy engine needs sm_90")

CPP = {"FETCH": kernels.fetch_block, "PUT": kernels.put_block}
MLIR = {"FETCH": kernels.fetch_block_mlir, "PUT": kernels.put_block_mlir}
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.int8]


def random(shape, dtype):
    if dtype == torch.int8:
        return torch.randint(-60, 60, shape, dtype=dtype, device=DEVICE)
    return torch.randn(shape, device=DEVICE).to(dtype)


def same(got, expected):
    assert COMPILE_ONLY or torch.equal(got, expected)


# --- barriers --------------------------------------------------------------------------------------------------------


@needs_hopper
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_rings_of_mlir_functions(slots, warps):
    x = torch.randn(50, 32, 64, device=DEVICE)
    for _ in range(3):
        y = torch.empty_like(x)
        made = (kernels.fetch_mlir, kernels.double_mlir, 1)
        kernels.ring[(1,)](x, y, 50, *made, 32, 64, slots, num_warps=warps)
        same(y, 2 * x)


@needs_hopper
@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("route", ["linked", "traced"])
@pytest.mark.parametrize(
    "name, arrivals",
    [("every_thread_arrives", 128), ("one_thread_arrives", 1), ("own_barrier_too", 128), ("wait_in_loop", 128)],
)
def test_rings_of_tilelang_kernels(name, arrivals, route, slots):
    pytest.importorskip("tilelang")
    from tests.adapters.tilelang import barrier_kernels

    if name == "own_barrier_too" and route == "traced":
        pytest.skip("barriers of its own are for the linked route")
    double = getattr(barrier_kernels, name)(route)
    x = torch.randn(50, 16, 32, device=DEVICE)
    for _ in range(3):
        y = torch.empty_like(x)
        kernels.ring[(1,)](x, y, 50, kernels.fetch_mlir, double, arrivals, 16, 32, slots)
        same(y, 2 * x)


def test_copies_of_a_tilelang_kernel_are_counted():
    pytest.importorskip("tilelang")
    from tests.adapters.tilelang.barrier_kernels import copies_are_counted

    x = torch.randn(16, 32, device=DEVICE)
    y = torch.zeros_like(x)
    kernels.counted[(1,)](x, y, copies_are_counted())
    same(y, x)


# --- descriptors -----------------------------------------------------------------------------------------------------


def copied(x, block, factor):
    """What the kernels leave: the blocks of full columns."""
    expected = factor * x
    expected[:, x.shape[1] // block * block :] = 0
    return expected


@needs_hopper
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("m, n", [(64, 64), (128, 128), (16, 32), (8, 256), (256, 64)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_blocks(dtype, m, n, warps):
    slots = 2 if m * n >= 128 * 128 else 3
    rows, columns = 5 * m - 11, 2 * n + 16
    x = random((rows, columns), dtype)
    y = torch.zeros_like(x)
    kernels.blocks_of_kernel[(2,)](x, y, rows, columns, 5, **CPP, M=m, N=n, S=slots, num_warps=warps)
    same(y, copied(x, n, 2))
    z = torch.zeros_like(x)
    x_desc, z_desc = (TensorDescriptor.from_tensor(each, [m, n]) for each in (x, z))
    kernels.blocks_of_host[(2,)](x_desc, z_desc, 5, **CPP, M=m, N=n, S=slots, num_warps=warps)
    same(z, copied(x, n, 2))


@needs_hopper
@pytest.mark.parametrize("m, n", [(64, 128), (16, 32)])
def test_blocks_of_mlir_functions(m, n):
    rows, columns = 5 * m - 11, 2 * n + 16
    x = random((rows, columns), torch.float16)
    y = torch.zeros_like(x)
    kernels.blocks_of_kernel[(2,)](x, y, rows, columns, 5, **MLIR, M=m, N=n, S=3)
    same(y, copied(x, n, 1))


@needs_hopper
@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_padding(padding):
    x = torch.randn(10, 16, device=DEVICE)
    y = torch.ones(16, 32, device=DEVICE)
    kernels.padded[(1,)](TensorDescriptor(x, [10, 16], [16, 1], [16, 32], padding), y, M=16, N=32)
    expected = torch.full((16, 32), float("nan") if padding == "nan" else 0.0, device=DEVICE)
    expected[3:13, :8] = x[:, 8:]
    if not COMPILE_ONLY:
        torch.testing.assert_close(y, expected, rtol=0, atol=0, equal_nan=True)


@needs_hopper
def test_blocks_of_rank_3():
    x = random((6, 8, 64), torch.float16)
    y = torch.ones(8, 8, 64, dtype=torch.float16, device=DEVICE)
    kernels.cubes[(1,)](TensorDescriptor.from_tensor(x, [4, 8, 64]), y, 2, A=4, M=8, N=64)
    same(y, torch.cat([x, torch.zeros_like(x[:2])]))


# --- hints -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 40])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_products_of_unpacked_tiles(stages, length, warps):
    k = 32 * length
    a, b = random((64, k), torch.int8), random((k, 64), torch.float16)
    expected = a.double() / 4 @ b.double()
    for product in (kernels.unpacked_product, kernels.unpacked_in_place):
        for hint in ("pipeline", "") if stages > 1 else ("",):
            c = torch.full((64, 64), float("nan"), device=DEVICE)
            product[(1,)](a, b, c, k, M=64, N=64, BK=32, S=stages, HINT=hint, num_warps=warps)
            if not COMPILE_ONLY:
                torch.testing.assert_close(c.double(), expected, rtol=1e-3, atol=5e-2)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 8])
def test_slots_of_a_loop_that_begins_anywhere(count, warps):
    y = torch.zeros(16, 16, 32, device=DEVICE)
    sizes = {"FIRST": 3, "STEP": 5, "M": 16, "N": 32, "S": 3}
    kernels.filled_in_place[(1,)](y, 3 + count * 5, **sizes, num_warps=warps)
    numbers = 3 + 5 * torch.arange(count, device=DEVICE)[:, None, None] + torch.arange(512, device=DEVICE).view(16, 32)
    expected = torch.zeros_like(y)
    expected[:count] = expected[8 : 8 + count] = numbers.float()
    same(y, expected)


def test_every_run_gives_the_same_bits():
    """A producer that writes too early, or a wait too short, shows now and then."""
    a, b = random((64, 2048), torch.int8), random((2048, 64), torch.float16)
    for product in (kernels.unpacked_product, kernels.unpacked_in_place):
        first = None
        for _ in range(TIMES):
            c = torch.empty(64, 64, device=DEVICE)
            product[(1,)](a, b, c, 2048, M=64, N=64, BK=32, S=3, HINT="pipeline")
            first = c if first is None else first
            same(c, first)
