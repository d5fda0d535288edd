"""cuTile's loops over tiles whose copies are a warp's own: right numbers, launch after launch."""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, check_norm, numbers

pytest.importorskip("cuda.tile")

from samples.benchmarks.cutile_kernels import attention
from tests.adapters.cutile import specialised_kernels as kernels

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (HOPPER or ON_CPU), reason="needs the copy engine and wgmma"),
]
LAUNCHES = 1 if COMPILE_ONLY or ON_CPU else 3  # a race may win once
BYTES = torch.float8_e4m3fn


def random(*shape: int, seed: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype).to(DEVICE)


def unwritten(*shape: int) -> torch.Tensor:
    return torch.full(shape, float("nan"), device=DEVICE)


def check(kernel, grid, arguments, out, expected, **options):
    """Each launch fills ``out`` anew."""
    whole = tle_raw.fragment(kernel, specialise=True).as_kernel()
    for _ in range(LAUNCHES):
        out.fill_(float("nan"))
        compiled = whole[grid](*arguments, **options)
        check_norm(out, numbers(expected), 2e-3)
    assert whole.unspecialised == ""
    assert ON_CPU or "setmaxnreg" in compiled.asm["ptx"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("tile, warps", [((128, 256, 64), 8), ((128, 128, 64), 4), ((64, 128, 32), 4)])
@pytest.mark.parametrize("sizes", [(500, 328, 200), (256, 256, 64)])
def test_a_product(dtype, tile, warps, sizes):
    (m, n, k), (tm, tn, _) = sizes, tile
    a, b, c = random(m, k, seed=1, dtype=dtype), random(k, n, seed=2, dtype=dtype), unwritten(m, n)
    grid = -(-m // tm), -(-n // tn)
    check(kernels.product, grid, (a, b, c, *tile, False), c, a.double() @ b.double(), num_warps=warps)


def test_operands_that_lie_in_columns():
    a, b, c = random(512, 304, seed=1), random(696, 512, seed=2), unwritten(304, 696)
    expected = a.double().T @ b.double().T
    check(kernels.product, (3, 3), (a.T, b.T, c, 128, 256, 64, False), c, expected, num_warps=8)
    check(kernels.of_turned, (3, 3), (a, b, c, 128, 256, 64, False), c, expected, num_warps=8)


def test_arrays_that_are_tensor_descriptors():
    a, b, c = random(500, 200, seed=1), random(200, 328, seed=2), unwritten(500, 328)
    blocks = [128, 64], [64, 128], [128, 128]
    described = [TensorDescriptor.from_tensor(x, block) for x, block in zip((a, b, c), blocks)]
    arguments = (*described, 128, 128, 64, False)
    check(kernels.product, (4, 3), arguments, c, a.double() @ b.double(), num_warps=8)


def test_a_product_of_bytes():
    a, b, c = random(400, 512, seed=1).to(BYTES), random(504, 512, seed=2).to(BYTES), unwritten(400, 504)
    arguments = (a, b.T, c, 128, 256, 128, True)
    check(kernels.product, (4, 2), arguments, c, a.double() @ b.double().T, num_warps=8)


def test_a_batch_of_products():
    a, b, c = random(3, 500, 200, seed=1), random(3, 200, 328, seed=2), unwritten(3, 500, 328)
    check(kernels.batched, (3, 4, 2), (a, b, c, 128, 256, 64), c, a.double() @ b.double(), num_warps=8)


def test_blocks_that_take_several_tiles():
    a, b, c = random(3000, 320, seed=1), random(320, 1336, seed=2), unwritten(3000, 1336)
    check(kernels.persistent, (37,), (a, b, c, 128, 256, 64), c, a.double() @ b.double(), num_warps=8)


@pytest.mark.parametrize("count", [1, 3])
def test_two_sums_in_one_loop(count):
    a, b, d = random(500, 400, seed=1), random(400, 128, seed=2), random(400, 128, seed=3)
    c, one, two = unwritten(500, 128), torch.ones(500, 128, device=DEVICE).double(), 0.0
    for k in range(0, 128 * count, 128):
        one = one + a[:, k : k + 128].double() @ b[k : k + 128].double()
        two = two + a[:, k : k + 64].double() @ d[k : k + 64].double()
    arguments = (a, b, d, c, 128, 128, 64, count)
    check(kernels.two_sums, (4,), arguments, c, one * two, num_warps=8, num_stages=2)


def softmax_product(q, k, v, causal):
    scores = q.double() @ k.double().transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores.masked_fill_(~torch.ones(scores.shape[-2:], device=DEVICE).tril().bool(), float("-inf"))
    return torch.softmax(scores, -1) @ v.double()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "length, width, tile, warps",
    [
        *((1000, 128, (128, 64), 8), (1000, 64, (128, 128), 8), (700, 64, (64, 64), 4)),
        *((64, 128, (128, 64), 8), (333, 128, (64, 64), 8)),
    ],
)
def test_attention(causal, length, width, tile, warps):
    q, k, v = (random(5, length, width, seed=seed) for seed in (4, 5, 6))
    out = torch.empty_like(q)
    arguments = (q, k, v, out, width**-0.5, *tile, width, causal)
    grid = -(-length // tile[0]), 5
    check(attention, grid, arguments, out, softmax_product(q, k, v, causal), num_warps=warps, num_stages=2)


def test_attention_of_all_rows_by_one_block():
    q, k, v = (random(2, 1000, 3, 128, seed=seed) for seed in (4, 5, 6))
    expected = softmax_product(*(x.transpose(1, 2) for x in (q, k, v)), False).transpose(1, 2)
    out = unwritten(*q.shape)
    arguments = (q, k, v, out, 128**-0.5, 128, 64, 128)
    check(kernels.attention_by_rows, (2, 3), arguments, out, expected, num_warps=8, num_stages=2)
