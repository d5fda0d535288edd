"""Whole kernels whose pipelined loop gets a warp that copies: right numbers, the structure, and what is left alone."""

from __future__ import annotations

import re

import pytest
import torch
from triton.compiler.errors import CompilationError

import tle_raw
from samples.benchmarks.tilelang_kernels import attention, gemm, mla_decode
from tests.adapters.tilelang.specialised_kernels import changed, product
from tle_raw.adapters.tilelang.program import read_program
from tle_raw.adapters.tilelang.traced.pipelined_body import Unfit
from tle_raw.adapters.tilelang.traced.product_meetings import Meeting
from tle_raw.adapters.tilelang.traced.warp_plan import find_plan
from tle_raw.errors import DialectError, UntraceableError

pytestmark = pytest.mark.every_triton(2)


def halves(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def softmax_product(q, k, v, causal):
    query, key, value = (x.double().transpose(1, 2) for x in (q, k, v))
    scores = query @ key.transpose(2, 3) / q.shape[-1] ** 0.5
    if causal:
        scores.masked_fill_(~torch.ones(scores.shape[-2:]).tril().bool(), float("-inf"))
    return (torch.softmax(scores, -1) @ value).transpose(1, 2)


# --- numbers, where the partitions take turns ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "causal, stages, length, tile", [(False, 2, 256, (64, 64)), (True, 3, 128, (128, 64)), (False, 1, 64, (64, 64))]
)
def test_attention(on_cpu, causal, stages, length, tile):
    """Many turns, two of several programs, and a single one, where nothing is put off."""
    q, k, v = (halves(2, length, 2, 64) + n for n in (0, 0.1, 0.2))
    out = torch.full_like(q, float("nan"))
    prim_func = attention(2, 2, length, 64, causal, tile, 128, stages)
    tle_raw.fragment(prim_func, specialise=True).as_kernel()(q, k, v, out)
    torch.testing.assert_close(out.double(), softmax_product(q, k, v, causal), atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("stages", [2, 3])
def test_two_products_that_make_one_sum(on_cpu, stages):
    """Latent attention; with two stages the last product begins in its turn, with three in the next."""
    queries, places, latent, positions = (
        halves(2, 64, 64),
        halves(2, 64, 32),
        halves(2, 192, 1, 64),
        halves(2, 192, 1, 32),
    )
    out = torch.full_like(queries, float("nan"))
    prim_func = mla_decode(2, 64, 192, 64, 32, 1, (64, 64), 256, stages)
    tle_raw.fragment(prim_func, specialise=True).as_kernel()(queries, places, latent, positions, out)
    keys, values = torch.cat([latent, positions], 3)[:, :, 0].double(), latent[:, :, 0].double()
    scores = torch.cat([queries, places], 2).double() @ keys.transpose(1, 2) / 96**0.5
    torch.testing.assert_close(out.double(), torch.softmax(scores, -1) @ values, atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_as_many_turns_as_the_call_says_and_zeros_beyond_the_arrays(on_cpu, count):
    a, b = halves(100, 80, dtype=torch.bfloat16), halves(80, 96, dtype=torch.bfloat16)
    c = torch.full((100, 96), float("nan"))
    tle_raw.fragment(product(), specialise=True).as_kernel()(a, b, count, c)
    expected = a[:, : 32 * count].double() @ b[: 32 * count].double()
    torch.testing.assert_close(c.double(), expected, atol=1e-4, rtol=1e-4)


def test_arrays_that_the_copy_engine_does_not_take_go_the_other_way(on_cpu):
    a, b = halves(100 * 80 + 1, dtype=torch.bfloat16)[1:].view(100, 80), halves(80, 96, dtype=torch.bfloat16)
    c = torch.full((100, 96), float("nan"))
    tle_raw.fragment(product(), specialise=True).as_kernel()(a, b, 3, c)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), atol=1e-4, rtol=1e-4)


# --- machine code ----------------------------------------------------------------------------------------------------


def attention_on_gpu(capability=90, **options):
    prim_func = attention(1, 2, 512, 128, False, (128, 128), 256)
    return tle_raw.fragment(prim_func, route="traced", **options).as_kernel().compile(f"cuda:{capability}")


def test_warps_of_a_group_meet_nowhere_in_the_loop():
    kernel = attention_on_gpu()
    ptx = kernel.asm["ptx"]
    loop = next(part for part in re.split(r"^\$L__BB", ptx, flags=re.M) if "wait_group.sync.aligned 1" in part)
    assert "bar.sync" not in loop and loop.count("wgmma.commit_group") == 2
    assert "it is put off, and begins in front of the first ones" in str(tle_raw.report(kernel))
    assert "cp.async.bulk.tensor" in ptx and "cp.async.cg" not in ptx
    assert "setmaxnreg.inc.sync.aligned.u32 \t240" in ptx


@pytest.mark.parametrize("capability, options", [(90, {"specialise": False}), (90, {"tma": False}), (80, {})])
def test_elsewhere_the_code_is_what_it_was(capability, options):
    ptx = attention_on_gpu(capability, **options).asm["ptx"]
    assert "setmaxnreg" not in ptx and "cp.async.bulk.tensor" not in ptx


def test_sums_leave_the_partition_without_shared_memory():
    kernel = attention_on_gpu()
    tiles = (128 * 128 + 2 * 2 * 128 * 128) * 2
    assert tiles < kernel.metadata.shared < tiles + 1024


# --- what has not the form -------------------------------------------------------------------------------------------


@pytest.mark.one_triton  # these plans and the ones below know nothing of Triton
@pytest.mark.parametrize(
    "what, reason",
    [
        ({"dtype": "float32"}, "sixteen bits"),
        ({"rows": 32}, "none of the tensor cores'"),
        ({"scaled": True}, "`a` is used by something else than products"),
        ({"read": True}, "`C` is touched in the pipelined loop"),
        ({"places": True}, "is read from memory"),
        ({"idle": True}, "`idle` is used by something else than products"),
        ({"threads": 96}, "no groups of 128"),
    ],
)
def test_what_has_not_the_form_is_not_planned(what, reason):
    with pytest.raises(Unfit, match=reason):
        find_plan(read_program(changed(**what)))
    assert find_plan(read_program(changed())).slots == 2


@pytest.mark.one_triton
@pytest.mark.parametrize(
    "make, arguments, pays",
    [
        (attention, (1, 1, 256, 128, False, (128, 128), 256), True),
        (attention, (1, 1, 256, 128, False, (64, 128), 128), True),  # by its shared memory
        (attention, (1, 1, 256, 64, False, (64, 64), 128), False),
        (gemm, (512, 512, 512, (128, 256, 64), 256), True),
        (gemm, (512, 512, 512, (128, 128, 32), 256), False),
    ],
)
def test_it_pays_where_one_block_fills_a_multiprocessor(make, arguments, pays):
    assert find_plan(read_program(make(*arguments))).pays is pays


def test_who_asks_for_it_is_told_what_stands_in_the_way():
    kernel = tle_raw.fragment(changed(scaled=True), specialise=True).as_kernel()
    with pytest.raises(UntraceableError, match="`a` is used by something else"):
        kernel.compile("cuda:90")
    with pytest.raises(CompilationError, match="may begin between multiples of 16 bytes"):
        tle_raw.fragment(changed(shift=4), specialise=True).as_kernel().compile("cuda:90")
    with pytest.raises(DialectError, match="specialise="):
        tle_raw.fragment(changed(), specialise="yes")


@pytest.mark.one_triton
@pytest.mark.parametrize(
    "make, arguments, meeting",
    [
        (attention, (1, 1, 256, 64, False, (128, 64), 256), Meeting.BEFORE),
        (attention, (1, 1, 256, 64, False, (64, 64), 256), Meeting.BEHIND),
        (mla_decode, (1, 64, 128, 64, 32, 1, (64, 64), 256, 3), Meeting.BEHIND),
        (mla_decode, (1, 64, 128, 64, 32, 1, (64, 64), 256, 2), Meeting.NONE),
        (mla_decode, (1, 64, 128, 64, 32, 1, (64, 64), 128, 2), Meeting.BEFORE),
        (changed, (), Meeting.SUM),
    ],
)
def test_how_the_last_product_of_a_turn_meets_the_next_ones(make, arguments, meeting):
    assert find_plan(read_program(make(*arguments))).meeting is meeting


@pytest.mark.one_triton
def test_the_report_says_why_no_warp_copies_alone():
    kernel = tle_raw.fragment(changed(scaled=True), route="traced").as_kernel()
    assert "no warp copies alone: `a` is used by something else than products" in str(
        tle_raw.report(kernel.compile("cuda:90"))
    )
