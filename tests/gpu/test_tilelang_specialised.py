"""TileLang loops whose copies are a warp's own, with products in the background: right numbers, launch after launch."""

from __future__ import annotations

import pytest
import torch

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU, check_norm, numbers

pytest.importorskip("tilelang")

from samples.benchmarks.tilelang_kernels import attention, gemm, mla_decode

pytestmark = pytest.mark.gpu
LAUNCHES = 3  # a race may win once


def halves(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).half().to(DEVICE)


def launched(prim_func, *arguments):
    """The last argument, which each launch fills anew."""
    kernel = tle_raw.fragment(prim_func, route="traced", specialise=True).as_kernel()
    for _ in range(1 if COMPILE_ONLY or ON_CPU else LAUNCHES):
        arguments[-1].fill_(float("nan"))
        compiled = kernel(*arguments)
    assert ON_CPU or "setmaxnreg" in compiled.asm["ptx"]
    return arguments[-1]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "length, dim, tile, threads, stages",
    [
        (640, 128, (128, 128), 256, 2),
        (512, 64, (128, 64), 256, 3),
        (320, 64, (64, 64), 128, 2),
        (128, 128, (128, 128), 256, 2),
        (384, 128, (64, 128), 256, 1),
    ],
)
def test_attention(causal, length, dim, tile, threads, stages):
    q, k, v = (halves(2, length, 3, dim, seed=seed) for seed in (4, 5, 6))
    out = launched(attention(2, 3, length, dim, causal, tile, threads, stages), q, k, v, torch.empty_like(q))
    query, key, value = (x.double().transpose(1, 2) for x in (q, k, v))
    scores = query @ key.transpose(2, 3) / dim**0.5
    if causal:
        scores.masked_fill_(~torch.ones(length, length, device=q.device).tril().bool(), float("-inf"))
    check_norm(out, numbers((torch.softmax(scores, -1) @ value).transpose(1, 2)), 2e-3)


@pytest.mark.parametrize("dim, extra, stages", [(512, 64, 2), (256, 64, 3), (128, 32, 2)])
def test_latent_attention(dim, extra, stages):
    queries, places = halves(3, 128, dim, seed=1), halves(3, 128, extra, seed=2)
    latent, positions = halves(3, 448, 1, dim, seed=3), halves(3, 448, 1, extra, seed=4)
    prim_func = mla_decode(3, 128, 448, dim, extra, 1, (64, 64), 256, stages)
    out = launched(prim_func, queries, places, latent, positions, torch.empty_like(queries))
    keys, values = torch.cat([latent, positions], 3)[:, :, 0].double(), latent[:, :, 0].double()
    scores = torch.cat([queries, places], 2).double() @ keys.transpose(1, 2) / (dim + extra) ** 0.5
    check_norm(out, numbers(torch.softmax(scores, -1) @ values), 2e-3)


@pytest.mark.parametrize("tile, threads", [((128, 128, 64), 128), ((128, 256, 64), 256), ((64, 128, 32), 128)])
def test_a_product(tile, threads):
    a, b = halves(500, 320, seed=1), halves(320, 696, seed=2)
    c = launched(gemm(500, b.shape[1], 320, tile, threads), a, b, halves(500, b.shape[1], seed=3))
    check_norm(c, numbers(a) @ numbers(b), 1e-3)
