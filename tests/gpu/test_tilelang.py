"""TileLang kernels: each kind by each route; the linked route alone, in sequence, on tiles that the caller chooses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE, check_close, check_norm, numbers, poisoned

pytest.importorskip("tilelang")

from tests.adapters.tilelang.kinds import KINDS, ROUTES, differences
from tests.adapters.tilelang.linked import kernels

pytestmark = pytest.mark.gpu


def linked(prim_func, **grid):
    return tle_raw.fragment(prim_func, route="linked", grid=grid)


gemm = linked(kernels.gemm())
large_gemm = linked(kernels.gemm(tile=(128, 256, 64), threads=256, stages=3))
placed_gemm = linked(kernels.gemm(), bx="column", by="row")
swizzled_gemm = linked(kernels.gemm(swizzle=3), bx="column", by="row")
axpy = linked(kernels.axpy())
attention = linked(kernels.attention())
causal_attention = linked(kernels.attention(causal=True, dim=128))
transpose = linked(kernels.transpose())


@triton.jit
def with_gemm(a, b, c):
    gemm(a, b, c)


@triton.jit
def with_large_gemm(a, b, c):
    large_gemm(a, b, c)


@triton.jit
def with_placed_gemm(a, b, c):
    row = tl.program_id(0)
    for column in range(4):
        placed_gemm(a, b, c, column, row)


@triton.jit
def with_swizzled_gemm(a, b, c):
    number = tl.program_id(0)
    swizzled_gemm(a, b, c, number % 4, number // 4)


@triton.jit
def with_axpy(x, alpha, y, n):
    axpy(x, alpha, y, n)


@triton.jit
def with_attention(q, k, v, o):
    attention(q, k, v, o)


@triton.jit
def with_causal_attention(q, k, v, o):
    causal_attention(q, k, v, o)


@triton.jit
def with_transpose(x, y):
    transpose(x, y)


@triton.jit
def in_sequence(a, b, c, x, y, scale, N: tl.constexpr):
    """Triton's own tile in shared memory, a region, the tile again, another region on what the first one wrote."""
    number = tl.program_id(1) * 4 + tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(x + number * N + i)
    before = tl.cumsum(v, 0)
    gemm(a, b, c)
    tl.store(y + number * N + i, tl.cumsum(before, 0) * scale)
    gemm(a, b, c)


@pytest.mark.parametrize("kind, route", ROUTES)
def test_each_kind_of_kernel(kind, route):
    case = KINDS[kind]()
    arguments = tuple(x.to(DEVICE) if isinstance(x, torch.Tensor) else x for x in case.arguments)
    compiled = tle_raw.fragment(case.prim_func, route=route).as_kernel()(*arguments)
    report = tle_raw.report(compiled)
    assert report.one_kernel and report.regions[0].route.startswith(route)
    assert COMPILE_ONLY or differences(case, arguments) == []


def halves(*shape: int, seed: int = 0, factor: float = 1.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * factor).half().to(DEVICE)


def gemm_arguments() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, np.ndarray]:
    a, b = halves(512, 512, seed=1), halves(512, 512, seed=2)
    return a, b, poisoned(a), numbers(a) @ numbers(b)


@pytest.mark.parametrize(
    "kernel, grid, warps",
    [
        (with_gemm, (4, 4), 4),
        (with_large_gemm, (2, 4), 8),
        (with_placed_gemm, (4,), 4),
        (with_swizzled_gemm, (16,), 4),
    ],
)
def test_matrix_products(kernel, grid, warps):
    a, b, c, expected = gemm_arguments()
    kernel[grid](a, b, c, num_warps=warps)
    check_norm(c, expected, 1e-3)


@pytest.mark.parametrize("n", [1, 1023, 1024, 100_003])
def test_dynamic_sizes(n):
    x = torch.randn(n, generator=torch.Generator().manual_seed(4)).to(DEVICE)
    room = torch.full((n + 64,), 7.0, device=DEVICE)
    y = room[:n]
    before = numbers(y)
    with_axpy[(triton.cdiv(n, 1024),)](x, 2.5, y, n, num_warps=4)
    check_close(y, before + 2.5 * numbers(x), 1e-6, 1e-6)
    check_close(room[n:], np.full(64, 7.0), 0.0)


@pytest.mark.parametrize("kernel, causal, dim", [(with_attention, False, 64), (with_causal_attention, True, 128)])
def test_attention(kernel, causal, dim):
    q, k, v = (halves(2, 512, 4, dim, seed=8 + i, factor=0.5) for i in range(3))
    o = poisoned(q)
    kernel[(8, 4, 2)](q, k, v, o, num_warps=4)
    scores = np.einsum("bihd,bjhd->bhij", numbers(q), numbers(k)) / dim**0.5
    if causal:
        scores = np.where(np.tri(512, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected = np.einsum("bhij,bjhd->bihd", weights / weights.sum(axis=-1, keepdims=True), numbers(v))
    check_norm(o, expected, 2e-3)


def test_a_block_of_two_dims():
    x = torch.randn(256, 512, generator=torch.Generator().manual_seed(9)).to(DEVICE)
    y = poisoned(x, (512, 256))
    with_transpose[(16, 32)](x, y, num_warps=8)
    check_close(y, numbers(x).T, 0.0)


def test_regions_and_tritons_own_tiles_in_sequence():
    a, b, c, expected = gemm_arguments()
    x = torch.randn(16, 512, generator=torch.Generator().manual_seed(10)).to(DEVICE)
    y = poisoned(x)
    in_sequence[(4, 4)](a, b, c, x, y, 0.5, 512, num_warps=4)
    check_norm(c, expected, 1e-3)
    check_norm(y, 0.5 * numbers(x).cumsum(axis=1).cumsum(axis=1), 1e-5)
