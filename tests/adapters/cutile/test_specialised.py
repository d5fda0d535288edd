"""Whole kernels whose loops over tiles get a warp that copies: right numbers, the structure, and what is left alone."""

from __future__ import annotations

import re

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
from samples.benchmarks import cutile_kernels
from tests.adapters.cutile import specialised_kernels as kernels
from tests.support import report_of
from tle_raw.adapters.cutile.host_types import host_types
from tle_raw.adapters.cutile.options import read_options
from tle_raw.adapters.cutile.parameters import read_parameters
from tle_raw.adapters.cutile.specialise.facts import Facts, Unfit
from tle_raw.adapters.cutile.specialise.plan import find_plan
from tle_raw.adapters.cutile.tile_descriptors import adjacent_dims
from tle_raw.adapters.cutile.typed_ir import type_function
from tle_raw.errors import DialectError, UntraceableError

pytestmark = pytest.mark.every_triton(1)
BYTES = torch.float8_e4m3fn


def numbers(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def unwritten(*shape: int) -> torch.Tensor:
    return torch.full(shape, float("nan"))


def launched(kernel, grid, *arguments, **options):
    """By a warp that copies alone; the report."""
    whole = tle_raw.fragment(kernel, specialise=True).as_kernel()
    report = str(tle_raw.report(whole[grid](*arguments, **options)))
    assert "one warp copies alone" in report and whole.unspecialised == ""
    return report


def close(got, wanted, most=1e-4):
    torch.testing.assert_close(got.double(), wanted, atol=most, rtol=most)


# --- numbers, where the partitions take turns ------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["rows", "columns", "of_turned", "bytes"])
def test_a_product_of_ragged_tiles(how):
    """Operands whose rows or whose columns lie in one piece, turned by the load, by the kernel, or not at all."""
    a, b, c = numbers(100, 80, dtype=torch.bfloat16), numbers(80, 136, dtype=torch.bfloat16), unwritten(100, 136)
    kernel, fast = kernels.product, False
    if how == "columns":
        a, b, c = numbers(80, 104).T, numbers(136, 80).T, unwritten(104, 136)
    elif how == "of_turned":
        a, b, c, kernel = numbers(80, 104), numbers(136, 80), unwritten(104, 136), kernels.of_turned
    elif how == "bytes":
        a, b, fast = numbers(100, 96).to(BYTES), numbers(136, 96).to(BYTES).T, True
    report = launched(kernel, (2, 3), a, b, c, 64, 64, 32, fast)
    assert "it adds to a sum that the loop does not read" in report
    wanted = a.double().T @ b.double().T if how == "of_turned" else a.double() @ b.double()
    close(c, wanted)


@pytest.mark.one_triton
def test_arrays_that_are_tensor_descriptors():
    """They keep their blocks for the store."""
    a, b, c = numbers(100, 80), numbers(80, 136), unwritten(100, 136)
    blocks = (64, 32), (32, 64), (64, 64)
    described = [TensorDescriptor.from_tensor(x, list(block)) for x, block in zip((a, b, c), blocks)]
    launched(kernels.product, (2, 3), *described, 64, 64, 32, False)
    close(c, a.double() @ b.double())


@pytest.mark.one_triton
def test_a_batch_of_products():
    a, b, c = numbers(3, 100, 80, dtype=torch.bfloat16), numbers(3, 80, 72, dtype=torch.bfloat16), unwritten(3, 100, 72)
    launched(kernels.batched, (3, 2, 2), a, b, c, 64, 64, 32)
    close(c, a.double() @ b.double())


@pytest.mark.one_triton
def test_blocks_that_take_several_tiles():
    a, b, c = numbers(300, 80), numbers(80, 136), unwritten(300, 136)
    launched(kernels.persistent, (4,), a, b, c, 64, 64, 32)
    close(c, a.double() @ b.double())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_as_many_turns_as_the_call_says(count):
    """Two sums, one of which two products of a turn add to."""
    a, b, d, c = numbers(100, 200), numbers(200, 64), numbers(200, 64) + 1, unwritten(100, 64)
    launched(kernels.two_sums, (2,), a, b, d, c, 64, 64, 32, count)
    one, two = torch.ones(100, 64).double(), torch.zeros(100, 64).double()
    for k in range(0, 64 * count, 64):
        one += a[:, k : k + 64].double() @ b[k : k + 64].double()
        two += a[:, k : k + 32].double() @ d[k : k + 32].double()
    close(c, one * two)


def softmax_product(q, k, v, causal, scale):
    scores = q.double() @ k.double().transpose(-1, -2) * scale
    if causal:
        scores.masked_fill_(~torch.ones(scores.shape[-2:]).tril().bool(), float("-inf"))
    return torch.softmax(scores, -1) @ v.double()


@pytest.mark.parametrize(
    "causal, length, tm, warps, way",
    [
        (True, 330, 128, 4, "it is put off"),
        (False, 200, 64, 4, "it is put off"),
        (True, 130, 64, 8, "it is waited for in its own turn"),
    ],
)
def test_attention(causal, length, tm, warps, way):
    """Loops of many turns, of few, and of none, one behind the other."""
    q, k, v = (numbers(2, length, 64) + n for n in (0, 0.1, 0.2))
    out = torch.full_like(q, float("nan"))
    arguments = (q, k, v, out, 0.125, tm, 64, 64, causal)
    report = launched(cutile_kernels.attention, (-(-length // tm), 2), *arguments, num_warps=warps, num_stages=2)
    assert way in report
    close(out, softmax_product(q, k, v, causal, 0.125), 2e-3)


@pytest.mark.one_triton
def test_attention_of_all_rows_by_one_block():
    q, k, v = (numbers(2, 150, 3, 64) + n for n in (0, 0.1, 0.2))
    out = unwritten(*q.shape)
    launched(kernels.attention_by_rows, (2, 3), q, k, v, out, 0.125, 64, 64, 64)
    close(out.transpose(1, 2), softmax_product(*(x.transpose(1, 2) for x in (q, k, v)), False, 0.125), 2e-3)


# --- machine code ----------------------------------------------------------------------------------------------------


def compiled(kernel, arguments, capability=90, num_warps=8, num_stages=3, **options):
    whole = tle_raw.fragment(kernel, **options).as_kernel()
    return whole, whole.compile(arguments, f"cuda:{capability}", num_warps=num_warps, num_stages=num_stages)


def big_product(tile=(128, 256, 64), **options):
    return compiled(cutile_kernels.matmul, (*(torch.empty(512, 512).half() for _ in range(3)), *tile, 8), **options)


def big_attention(keys=128, **options):
    arrays = (torch.empty(4, 512, 128).half() for _ in range(4))
    arguments = (*arrays, 0.1, 128, keys, 128, True)
    return compiled(cutile_kernels.attention, arguments, num_stages=2, **options)


def attention_of_two_widths():
    return big_attention(keys=64, specialise=True)


@pytest.mark.parametrize("make", [big_product, big_attention, attention_of_two_widths])
def test_warps_of_a_group_meet_nowhere_in_the_loop(make):
    whole, kernel = make()
    ptx = kernel.asm["ptx"]
    assert whole.unspecialised == "" and "one warp copies alone" in str(tle_raw.report(kernel))
    assert ptx.count(".entry") == 1 and "call" not in ptx
    loops = [part for part in re.split(r"^\$L__BB", ptx, flags=re.M) if "wait_group.sync.aligned 1" in part]
    assert loops and not any("bar.sync" in loop for loop in loops)
    assert "cp.async.bulk.tensor" in ptx and "cp.async.cg" not in ptx
    assert "setmaxnreg.inc.sync.aligned.u32 \t240" in ptx and "setmaxnreg.dec" in ptx


def test_arrays_of_three_dims_are_copied_as_such():
    """A tile behind the end of one matrix is zeros, not the next one's rows."""
    arrays = (torch.empty(2, 512, 512).half() for _ in range(3))
    ptx = compiled(kernels.batched, (*arrays, 128, 256, 64))[1].asm["ptx"]
    assert "cp.async.bulk.tensor.3d" in ptx and "cp.async.bulk.tensor.2d" not in ptx


@pytest.mark.parametrize("columns, by_engine", [(512, True), (509, False)])
def test_a_matrix_is_stored_by_the_copy_engine_where_its_rows_are_what_it_takes(columns, by_engine):
    a, b, c = torch.empty(512, 512).half(), torch.empty(512, 512).half(), torch.empty(512, columns).half()
    ptx = compiled(kernels.product, (a, b, c, 128, 256, 64, False))[1].asm["ptx"]
    assert ("cp.async.bulk.tensor.2d.global.shared" in ptx) is by_engine
    assert ("st.global" in ptx) is not by_engine


@pytest.mark.one_triton
def test_bytes_are_multiplied_by_tensor_cores():
    a, b = (torch.empty(512, 512).to(BYTES) for _ in range(2))
    ptx = compiled(kernels.product, (a, b.T, torch.empty(512, 512), 128, 256, 128, True), specialise=True)[1].asm["ptx"]
    assert "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3" in ptx and "setmaxnreg" in ptx


@pytest.mark.parametrize("capability, options", [(90, {"specialise": False}), (80, {})])
def test_elsewhere_the_code_is_what_it_was(capability, options):
    ptx = big_product(capability=capability, **options)[1].asm["ptx"]
    assert "setmaxnreg" not in ptx and "cp.async.bulk.tensor" not in ptx


# --- what has not the form -------------------------------------------------------------------------------------------


def without_form(what, a=None, tm=64, dtype=torch.float16, b=None):
    a = a if a is not None else torch.empty(128, 64, dtype=dtype)
    b = b if b is not None else torch.empty(64, 64, dtype=a.dtype)
    return a, b, torch.empty(128, 64), torch.empty(2, dtype=torch.int32), tm, what


def planned(kernel, arguments, **facts):
    """The plan for a launch with these arguments, whose arrays the copy engine takes."""
    function = kernel._annotated_function.pyfunc
    parameters = read_parameters(function, read_options({}))
    types = host_types(parameters, arguments)
    arrays = {p.name: a for p, a in zip(parameters, arguments) if hasattr(a, "shape")}
    return find_plan(type_function(function, types), Facts(adjacent_dims(arrays), **facts))


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (without_form("", tm=32), "none of the tensor cores'"),
        (without_form("nan"), "pads with zeros, and `A` with NAN"),
        (without_form("no tma"), "`B` has allow_tma=False"),
        (without_form("read"), "`C` is loaded in a loop for something else than products"),
        (without_form("scaled"), "the right operand of a product is computed"),
        (without_form("places"), "`P` is loaded in a loop"),
        (without_form("left"), "run to their ends"),
        (without_form("written"), "`B` is written, too"),
    ],
)
def test_what_has_not_the_form_is_not_planned(arguments, reason):
    with pytest.raises(Unfit, match=reason):
        planned(kernels.changed, arguments)


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (without_form("", dtype=torch.float32), "float32"),
        (without_form("branch"), "elsewhere than in the bodies of loops"),
        (without_form("", a=torch.empty(129, 64).half().flatten()[1:8193].view(128, 64)), "does not take `A`"),
        (without_form("", a=torch.empty(128, 65).half()[:, :64]), "does not take `A`"),
        (without_form("", a=torch.empty(128, 64).to(BYTES)), "without use_fast_acc=True"),
    ],
)
def test_what_has_not_the_form_goes_the_other_way_and_the_report_says_why(arguments, reason):
    whole = tle_raw.fragment(kernels.changed).as_kernel()
    kernel = whole.compile(arguments)
    assert re.search(reason, whole.unspecialised)
    assert f"no warp copies alone: {whole.unspecialised}" in str(report_of(kernel, machine_code=False))
    assert "setmaxnreg" not in kernel.asm["ptx"]


@pytest.mark.one_triton
def test_who_asks_for_it_is_told_what_stands_in_the_way():
    with pytest.raises(UntraceableError, match="the right operand of a product is computed"):
        tle_raw.fragment(kernels.changed, specialise=True).as_kernel().compile(without_form("scaled"))
    with pytest.raises(DialectError, match="specialise="):
        tle_raw.fragment(kernels.changed, specialise="yes")


def of_product(tile, **facts):
    arrays = (torch.empty(512, 512).half() for _ in range(3))
    return planned(kernels.product, (*arrays, *tile, False), **facts)


@pytest.mark.parametrize(
    "tile, facts, pays",
    [
        ((128, 256, 64), {}, True),
        ((128, 128, 64), {}, False),
        ((128, 128, 64), {"blocks": 1}, True),
        ((128, 256, 32), {"blocks": 2}, False),
    ],
)
def test_it_pays_where_one_block_fills_a_multiprocessor(tile, facts, pays):
    """By its sums, by its tiles, or as the kernel's hint ``occupancy`` says."""
    assert (of_product(tile, warps=8, **facts).against == "") is pays


@pytest.mark.parametrize(
    "tile, facts, slots",
    [
        ((128, 128, 64), {"stages": 2}, [4, 3]),
        ((128, 256, 64), {"stages": 3}, [4, 3]),
        ((128, 256, 64), {"stages": 7}, [4, 5]),
        ((128, 256, 32), {"stages": 7, "blocks": 2}, [4, 5]),
    ],
)
def test_a_load_has_as_many_tiles_as_its_latency_or_the_launch_says_and_as_there_is_room_for(tile, facts, slots):
    """The left operand's load says ``latency=4``."""
    assert [ring.slots for ring in of_product(tile, **facts).rings] == slots


@pytest.mark.one_triton
def test_attention_whose_results_are_of_two_widths_is_left_alone_by_default():
    whole, kernel = big_attention(keys=64)
    assert whole.unspecialised == "the results of its products are not of one width"
    assert "setmaxnreg" not in kernel.asm["ptx"]


@pytest.mark.one_triton
def test_a_hint_decides_where_two_blocks_are_to_share_a_multiprocessor():
    kernel = cutile_kernels.matmul.replace_hints(occupancy=2)
    whole = tle_raw.fragment(kernel).as_kernel()
    whole.compile((*(torch.empty(512, 512).half() for _ in range(3)), 128, 256, 64, 8), num_warps=8)
    assert "several blocks of its size share a multiprocessor" in whole.unspecialised
