"""Shared buffers: their content after copies, views and rings, against torch."""

from __future__ import annotations

import pytest
import torch

from tests.frontends.gpu import buffer_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE

pytestmark = pytest.mark.gpu

B = 64


def tiles(count, size=B, dtype=torch.float32):
    return torch.randn(count, size, size, device=DEVICE).to(dtype)


def run(name, x, o, n=0, grid=1, **constants):
    getattr(kernels, name)[(grid,)](x, o, n, **{"B": B, **constants})
    return o


def same(got, expected):
    assert COMPILE_ONLY or torch.equal(got, expected)


def close(got, expected):
    difference = (got.double() - expected).abs().max().item()
    assert COMPILE_ONLY or difference <= 1e-5 * expected.abs().max().item(), difference


@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("name", ["ring", "while_ring"])
def test_rings_that_a_loop_carries(name, warps, size):
    if size == 128 and warps == 1:
        pytest.skip("a tile for one warp fills all registers")
    x = tiles(34, size)
    o = torch.empty(size, size, device=DEVICE)
    close(run(name, x, o, 33, B=size, num_warps=warps), x[:33].double().sum(0))


def test_fifty_runs_agree_bit_for_bit():
    x = tiles(51)
    first = run("ring", x, torch.empty(B, B, device=DEVICE), 50)
    for _ in range(49):
        same(run("ring", x, torch.empty(B, B, device=DEVICE), 50), first)


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("count", [1, 4, 31])
def test_groups_of_copies(count, stages):
    x = tiles(count)
    o = torch.empty(B, B, device=DEVICE)
    weights = torch.arange(1, count + 1, device=DEVICE).double()[:, None, None]
    close(run("groups", x, o, count, S=stages), (x.double() * weights).sum(0))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_branch_gives_a_buffer(n):
    x = tiles(3)
    same(run("chosen", x, torch.empty(B, B, device=DEVICE), n), x[n if n > 1 else 0])


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64]
)
@pytest.mark.parametrize("size", [16, 64])
def test_copies_in_and_out(dtype, size):
    x = tiles(1, size).mul(8).to(dtype)[0]
    same(run("copied", x, torch.empty_like(x), B=size), x.T)
    for n in (0, 5, 16, size):
        o = torch.full_like(x, 7)
        run("masked", x, o, n, B=size)
        expected = torch.full_like(x, 7)
        expected[:n] = 0
        expected[:n, :n] = x[:n, :n]
        same(o, expected)


def test_views():
    x, half = tiles(1)[0], B // 2
    same(run("parts", x, torch.empty(B, B, device=DEVICE)), x.roll((half, half), (0, 1)))
    o = run("reshaped", x, torch.empty(B, B, device=DEVICE), 3)
    same(o[1:], x[1:] * 2)
    same(o[0], x[3])
    o = run("aliased", x, torch.empty(2 * B, device=DEVICE))
    same(o[:B], x[0])
    same(o[B:], torch.ones(B, device=DEVICE))
    o = run("uneven", x, torch.empty(2 * B * B, device=DEVICE))
    same(o[: B * B].reshape(B, B), x)
    same(o[B * B : B * B * 3 // 2], torch.ones(B * B // 2, device=DEVICE))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("layout", ["swizzled", "columns", "padded", "mma columns", "default"])
@pytest.mark.parametrize("size", [32, 64])
def test_layouts_change_no_value(layout, dtype, size):
    x = tiles(1, size, dtype)[0]
    same(run("laid_out", x, torch.empty_like(x), B=size, LAYOUT=layout), x + x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int64", "float16", "bfloat16", "float64", "float8_e5m2"])
@pytest.mark.parametrize("size", [16, 2048])
def test_every_dtype(dtype, size):
    bits = torch.randint(0, 2, (size,), device=DEVICE)
    x = bits.to(getattr(torch, dtype))
    o = run("dtypes", x, torch.zeros_like(x), B=size)
    same(o.view(torch.uint8), x.view(torch.uint8))
