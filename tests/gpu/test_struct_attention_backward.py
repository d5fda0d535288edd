"""Gradients of attention by specialised warps (sample 14), against double precision: odd lengths, all the sizes."""

from __future__ import annotations

import random

import pytest
import torch

from samples import common
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("hang_guard"),
    pytest.mark.skipif(ON_CPU, reason="tests/samples has the numbers of small sizes on the CPU"),
    pytest.mark.skipif(not HOPPER, reason="the kernel uses the copy engine and wgmma: sm_90"),
]
DTYPES = [torch.float16, torch.bfloat16]


@pytest.fixture(scope="module")
def sample():
    return common.load("tle_struct/14_attention_backward.py")


def operands(batch, heads, queries, keys, dtype, dim=128):
    """q, k, v and the result's gradients."""
    lengths = (queries, keys, keys, queries)
    return [torch.randn(batch, heads, length, dim, device=DEVICE).to(dtype) for length in lengths]


def check(sample, q, k, v, do, causal, **changed):
    o, lse, *wanted = sample.expected(q, k, v, do, causal)
    blocks = sample.BLOCKS[q.shape[-1]] | changed
    _, *found = sample.launch(q, k, v, o.to(q.dtype), lse.float(), do, causal, blocks)
    if COMPILE_ONLY:
        return
    unit = 2**-10 if q.dtype == torch.float16 else 2**-7
    for name, got, want in zip(("dq", "dk", "dv"), found, wanted):
        error = (got.double() - want).abs()
        assert (error <= 2 * unit * want.abs().max() + 1e-5).all(), (name, error.max().item())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "batch, heads, queries, keys",
    [(1, 1, 1, 1), (1, 1, 128, 128), (2, 3, 129, 257), (1, 5, 1000, 1000), (3, 7, 77, 1025), (1, 2, 700, 130)],
)
def test_gradients_of_odd_lengths(sample, batch, heads, queries, keys, causal, dim, dtype):
    check(sample, *operands(batch, heads, queries, keys, dtype, dim), causal)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_random_sizes(sample, causal):
    choose = random.Random(14)
    for _ in range(12):
        batch, heads, queries, keys = (choose.randint(1, most) for most in (3, 6, 700, 700))
        check(sample, *operands(batch, heads, queries, keys, choose.choice(DTYPES)), causal)


@pytest.mark.parametrize("section", [1, 3, 64])
def test_sections_of_heads(sample, section):
    check(sample, *operands(2, 5, 300, 500, torch.float16), True, SECTION=section)


def test_operands_whose_rows_do_not_follow_each_other(sample):
    """As a model has them: [batch, length, heads, dim]."""
    q, k, v, do = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in operands(2, 3, 200, 260, torch.float16))
    assert not do.is_contiguous()
    check(sample, q, k, v, do, False)


def test_large_scores(sample):
    """Weights of 1 and of nothing: the gradients of scores are small differences."""
    q, k, v, do = operands(1, 4, 640, 640, torch.float16)
    k = k * torch.linspace(10, 0.1, 640, device=DEVICE)[:, None].to(k.dtype)
    check(sample, q, k, v, do, False)
    check(sample, q, k, v, do, True)


@pytest.mark.parametrize("causal", [False, True])
def test_many_launches_give_the_same_bits_of_keys_and_values(sample, causal):
    """Those of queries are sums in an open order."""
    q, k, v, do = operands(1, 16, 1111, 1111, torch.float16)
    o, lse = sample.expected(q, k, v, do, causal)[:2]
    given = q, k, v, o.to(q.dtype), lse.float(), do, causal
    first = sample.launch(*given)[1:]
    for _ in range(TIMES // 5):
        again = sample.launch(*given)[1:]
        if not COMPILE_ONLY:
            assert torch.equal(first[1], again[1]) and torch.equal(first[2], again[2])
            assert (first[0].double() - again[0].double()).abs().max() <= 2**-9 * first[0].abs().max()
