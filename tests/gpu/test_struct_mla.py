"""Latent attention by specialised warps (samples 15 and 16), against double precision: odd tails, pages, few keys."""

from __future__ import annotations

import pytest
import torch

from samples import common
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("hang_guard"),
    pytest.mark.skipif(ON_CPU, reason="the samples' own checks run there, with sizes for it"),
    pytest.mark.skipif(not HOPPER, reason="the kernels use the copy engine and wgmma: sm_90"),
]
DTYPES = [torch.float16, torch.bfloat16]
WIDTH = 576


@pytest.fixture(scope="module")
def decode():
    return common.load("tle_struct/15_mla_decode.py")


@pytest.fixture(scope="module")
def sparse():
    return common.load("tle_struct/16_sparse_mla.py")


def random(dtype, *shape):
    return torch.randn(shape, device=DEVICE).to(dtype)


def is_right(sample, o, lse, wanted):
    if not COMPILE_ONLY:
        assert [str(each) for each in sample.compare("", o, lse, wanted) if not each.is_right] == []


def decoded(sample, q, kv, lengths, **options):
    _, o, lse = sample.launch(q, kv, torch.tensor(lengths, device=DEVICE, dtype=torch.int32), **options)
    return o, lse


def check_decode(sample, q, kv, lengths, **options):
    o, lse = decoded(sample, q, kv, lengths, **options)
    is_right(sample, o, lse, [sample.expected(q[b], kv[b, : lengths[b]]) for b in range(len(lengths))])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("splits", [1, None])
@pytest.mark.parametrize(
    "heads, keys, lengths",
    [
        (128, 1, [1]),
        (64, 64, [64, 1, 0]),
        (16, 129, [129, 128, 127, 65]),
        (128, 1000, [1000, 999, 3]),
        (70, 4161, [4161, 2000]),
    ],
)
def test_lengths_of_their_own(decode, heads, keys, lengths, splits, dtype):
    batch = len(lengths)
    check_decode(decode, random(dtype, batch, heads, WIDTH), random(dtype, batch, keys, WIDTH), lengths, splits=splits)


@pytest.mark.parametrize("page", [64, 192])
@pytest.mark.parametrize("splits", [1, 3])
def test_pages_that_lie_anywhere(decode, splits, page):
    lengths = [1500, 64, 777]
    q, kv = random(torch.bfloat16, 3, 128, WIDTH), random(torch.bfloat16, 3, 1500, WIDTH)
    cache, table = decode.in_pages(kv, page)
    found = decoded(decode, q, cache, lengths, table=table, page=page, splits=splits)
    is_right(decode, *found, [decode.expected(q[b], kv[b, : lengths[b]]) for b in range(3)])


@pytest.mark.parametrize("programs", [1, 3, 132])
@pytest.mark.parametrize("splits", [2, 5, 16])
def test_programs_that_share_keys(decode, splits, programs):
    q, kv = random(torch.float16, 2, 128, WIDTH), random(torch.float16, 2, 3000, WIDTH)
    check_decode(decode, q, kv, [3000, 700], splits=splits, programs=programs)


def test_large_scores(decode):
    """The largest of a row grows from tile to tile, and sums shrink to nothing."""
    q, kv = random(torch.float16, 1, 64, WIDTH), random(torch.float16, 1, 1280, WIDTH)
    for way in (torch.linspace(0.1, 20, 1280), torch.linspace(20, 0.1, 1280)):
        scaled = kv.clone()
        scaled[..., 512:] *= way.to(DEVICE)[:, None].half()
        check_decode(decode, q, scaled, [1280])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("programs", [2, 10**6])
@pytest.mark.parametrize(
    "tokens, heads, keys, count",
    [(1, 128, 64, 64), (3, 64, 1000, 128), (5, 128, 777, 65), (2, 16, 300, 300), (40, 70, 5000, 1030)],
)
def test_chosen_keys(sparse, tokens, heads, keys, count, programs, dtype):
    q, kv = random(dtype, tokens, heads, WIDTH), random(dtype, keys, WIDTH)
    chosen = torch.rand(tokens, keys).topk(count).indices
    chosen[torch.rand(chosen.shape) < 0.2] = -1
    chosen[0, : count // 2] = -1  # whole tiles without a key
    chosen[-1, 1:] = -1  # one key, or none
    _, o, lse = sparse.launch(q, kv, chosen.to(DEVICE, torch.int32), programs)
    rows = [kv[chosen[t][chosen[t] >= 0].to(DEVICE)] for t in range(tokens)]
    is_right(sparse.decode, o, lse, [sparse.decode.expected(q[t], rows[t]) for t in range(tokens)])


def test_many_launches_give_the_same_bits(decode, sparse):
    q, kv = random(torch.float16, 60, 128, WIDTH), random(torch.float16, 60, 2500, WIDTH)
    lengths = torch.randint(1, 2501, (60,), device=DEVICE, dtype=torch.int32)
    chosen = torch.randint(-1, 2500, (60, 1000), device=DEVICE, dtype=torch.int32)

    def both():
        return decode.launch(q, kv, lengths, splits=3)[1], sparse.launch(q, kv[0], chosen)[1]

    first = both()
    for _ in range(TIMES // 5):
        assert COMPILE_ONLY or all(map(torch.equal, first, both()))
