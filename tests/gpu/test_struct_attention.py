"""Attention by specialised warps (sample 12), against double precision: odd lengths, few and many tiles a program."""

from __future__ import annotations

import pytest
import torch

from samples import common
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("hang_guard"),
    pytest.mark.skipif(ON_CPU, reason="specialised warps are for GPUs"),
    pytest.mark.skipif(not HOPPER, reason="the kernel uses the copy engine and wgmma: sm_90"),
]
DTYPES = [torch.float16, torch.bfloat16]


@pytest.fixture(scope="module")
def sample():
    return common.load("tle_struct/12_attention.py")


def operands(batch, heads, queries, keys, dtype, dim=128):
    lengths = (queries, keys, keys)
    return [torch.randn(batch, heads, length, dim, device=DEVICE).to(dtype) for length in lengths]


def check(sample, q, k, v, causal, programs=132, **changed):
    _, o, lse = sample.launch(q, k, v, causal, programs, sample.BLOCKS | changed)
    if COMPILE_ONLY:
        return
    want, sums = sample.expected(q, k, v, causal)
    unit = 2**-10 if q.dtype == torch.float16 else 2**-7
    error = (o.double() - want).abs()
    assert (error <= 2 * unit + unit * want.abs()).all(), error.max().item()
    assert ((lse.double() - sums).abs() <= 1e-4 + 1e-6 * sums.abs()).all(), (lse.double() - sums).abs().max().item()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "batch, heads, queries, keys",
    [(1, 1, 1, 1), (1, 1, 128, 128), (2, 3, 129, 257), (1, 5, 1000, 1000), (3, 7, 77, 1025), (1, 2, 700, 130)],
)
def test_attention_of_odd_lengths(sample, batch, heads, queries, keys, causal, dtype):
    check(sample, *operands(batch, heads, queries, keys, dtype), causal)


@pytest.mark.parametrize("order", ["static", "dynamic"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("programs", [1, 2, 7, 132, 10**6])
def test_programs_that_take_few_tiles_or_many(sample, programs, causal, order):
    """Twice: a dynamic order leaves its counter as it found it."""
    given = operands(2, 9, 500, 500, torch.float16)
    for _ in range(2):
        check(sample, *given, causal, programs, SECTION=4, ORDER=order)
    assert COMPILE_ONLY or common.counter_of(given[0].device, "int32").item() == 0


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("turns", [False, True])
def test_groups_that_take_turns_or_not(sample, turns, causal):
    check(sample, *operands(2, 8, 1500, 1500, torch.bfloat16), causal, TURNS=turns)


@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("columns, slots", [(64, 4), (64, 3), (128, 2), (128, 1)])
def test_tiles_of_other_sizes(sample, columns, slots, dim):
    check(sample, *operands(1, 6, 333, 777, torch.float16, dim), False, BLOCK_N=columns, K_SLOTS=slots, V_SLOTS=slots)


@pytest.fixture(scope="module")
def ahead():
    return common.load("benchmarks/struct_attention_ahead.py")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("programs", [1, 4, 5, 132])
def test_first_scores_beside_the_tile_before(sample, ahead, programs, causal):
    q, k, v = operands(2, 9, 500, 700, torch.float16)
    _, o, lse = ahead.launch(q, k, v, causal, programs)
    if not COMPILE_ONLY:
        want, sums = sample.expected(q, k, v, causal)
        assert ((o.double() - want).abs() <= 2**-9 + 2**-10 * want.abs()).all()
        assert ((lse.double() - sums).abs() <= 1e-4 + 1e-6 * sums.abs()).all()


def test_large_scores(sample):
    """The largest of a row grows from tile to tile, and sums shrink to nothing."""
    q, k, v = operands(1, 4, 640, 640, torch.float16)
    k = k * torch.linspace(30, 0.1, 640, device=DEVICE)[:, None].to(k.dtype)
    check(sample, q, k, v, False)
    check(sample, q, k, v, True)


def test_many_launches_give_the_same_bits(sample):
    q, k, v = operands(1, 16, 1111, 1111, torch.float16)
    first = sample.launch(q, k, v, True, 132)[1]
    for _ in range(TIMES // 5):
        again = sample.launch(q, k, v, True, 132)[1]
        assert COMPILE_ONLY or torch.equal(first, again)
