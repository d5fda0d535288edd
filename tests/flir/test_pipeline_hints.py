"""Regions that are called with ``hint="pipeline"`` run an iteration ahead of what uses their tiles."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.frontends.raw.meeting_kernels import (
    SOURCE,
    filled_in_place,
    number_tile,
    unpack,
    unpacked_in_place,
    unpacked_product,
)
from tests.support import compile_kernel, report_of
from tle_raw import AnyLayout, Buffer, InOut, Scalar, Tile
from tle_raw.errors import PipelineHintWarning

PRODUCT = {"a": "*i8", "b": "*fp16", "c": "*fp32", "K": "i32"}
SIZES = {"M": 64, "N": 64, "BK": 32}


def carried_tiles(ttgir):
    """Of the loop in pipelined TritonGPU text: how many values of the region's branch go to the next iteration."""
    loop = ttgir[ttgir.index("scf.for") :]
    branch = re.search(r"(%[\w]+)(?::\d+)? = scf\.if .*?tt\.extern_elementwise", loop, re.DOTALL)
    assert branch, "the region's call stands in no branch of the loop"
    (yielded,) = re.findall(r"^    +scf\.yield (.*?) : ", loop, re.MULTILINE)[-1:]
    return sum(name.split("#")[0] == branch[1] for name in yielded.split(", "))


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("stages, capability", [(2, 90), (3, 80), (3, 90), (4, 90)])
def test_the_call_stands_a_stage_ahead_of_the_product(stages, capability):
    kernel = compile_kernel(unpacked_product, PRODUCT, {**SIZES, "S": stages, "HINT": "pipeline"}, capability)
    report = report_of(kernel, machine_code=stages == 3)
    assert report.one_kernel and not report.sass_calls and all(region.inlined for region in report.regions)
    ttgir = kernel.asm["ttgir"]
    assert ttgir.count("tt.extern_elementwise") == 2  # one in front of the loop, for the first iteration, and one in it
    assert carried_tiles(ttgir) == 1
    plain = compile_kernel(unpacked_product, PRODUCT, {**SIZES, "S": stages, "HINT": ""}, capability)
    assert plain.asm["ttgir"].count("tt.extern_elementwise") == 1


def test_loads_of_later_iterations_are_under_way_too():
    found = compile_kernel(unpacked_product, PRODUCT, {**SIZES, "S": 4, "HINT": "pipeline"})
    assert found.asm["ttgir"].count("ttg.async_copy_global_to_local") == 4  # B's: three in front of the loop, one in it


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("stages", [2, 4])
def test_a_buffer_that_the_region_fills_has_two_slots(stages):
    kernel = compile_kernel(unpacked_in_place, PRODUCT, {**SIZES, "S": stages, "HINT": "pipeline"})
    assert report_of(kernel, machine_code=stages == 2).one_kernel
    ttgir = kernel.asm["ttgir"]
    assert ttgir.count("tt.extern_elementwise") == 2
    loop = ttgir[ttgir.index("scf.for") :]
    (filled,) = re.findall(r"(%\w+) = ttg\.memdesc_index .*?: !ttg\.memdesc<2x64x32xf16", loop)
    # The product reads what the iteration before has filled, and the region's address is this iteration's slot.
    assert re.search(rf"scf\.yield .*{filled}", loop)
    assert re.search(rf"tti\.experimental_memdesc_to_i\d+ {filled}\b", loop)
    (read,) = re.findall(r"ttg\.local_load (%\w+) : !ttg\.memdesc<64x32xf16", loop)
    assert re.search(rf"iter_args\(.*{read} = ", loop) and loop.index("ttg.local_load") < loop.index("scf.if")


def test_slots_of_a_loop_that_begins_anywhere():
    numbers = {"FIRST": 3, "STEP": 5, "M": 16, "N": 32, "S": 3}
    kernel = compile_kernel(filled_in_place, {"y": "*fp32", "n": "i32"}, numbers)
    assert kernel.asm["ttgir"].count("tt.extern_elementwise") == 2
    y = np.zeros((16, 16, 32), np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", True
        filled_in_place[(1,)](y, 3 + 8 * 5, **numbers)
    expected = np.arange(8)[:, None, None] * 5 + 3 + np.arange(512).reshape(16, 32)
    assert np.array_equal(y, [*expected, *expected])


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_the_numbers_are_the_same_with_the_hint_and_without(length):
    rng = np.random.default_rng(length)
    a, b = rng.integers(-8, 8, (64, 32 * length)).astype(np.int8), rng.standard_normal((32 * length, 64)).astype("f2")
    found = []
    for hint, product in (("pipeline", unpacked_product), ("", unpacked_product), ("pipeline", unpacked_in_place)):
        c = np.full((64, 64), np.nan, np.float32)
        with tle_raw.knobs.scope() as knobs:
            knobs.target = "cpu"
            product[(1,)](a, b, c, 32 * length, **SIZES, S=3, HINT=hint)
        np.testing.assert_allclose(c, a.astype("d") / 4 @ b.astype("d"), rtol=1e-3, atol=1e-3)
        found.append(c)
    assert np.array_equal(found[0], found[1])


# --- hints without effect --------------------------------------------------------------------------------------------


@tle_raw.dialect(
    "cuda",
    source=SOURCE
    + "template <int M, int N, class L> __device__ void add(tle::buffer<float, L, M, N> t, int k)"
    + " { for (int i : t.indices()) t[i] += k; }",
)
def add(t: InOut[Buffer["f32", "M", "N", AnyLayout]], k: Scalar["i32"]): ...


@triton.jit
def outside(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, depth = tl.arange(0, M), tl.arange(0, BK)
    tile = tle.call(unpack, [tl.load(a + rows[:, None] * K + depth[None, :])], hint="pipeline")
    tl.store(b + rows[:, None] * K + depth[None, :], tile)


@triton.jit
def in_branch(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
    for k in tl.range(0, K, BK, num_stages=3):
        if k > 5:
            tl.store(b + at + k, tle.call(unpack, [tl.load(a + at + k)], hint="pipeline"))


@triton.jit
def unused(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
    tile = tl.zeros((M, BK), tl.float16)
    for k in tl.range(0, K, BK, num_stages=3):
        tile = tle.call(unpack, [tl.load(a + at + k)], hint="pipeline")
    tl.store(b + at, tile)


@triton.jit
def added_to(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
    buffer = tle.gpu.alloc([M, BK], tl.float32, init_value=0)
    for k in tl.range(0, K, BK, num_stages=3):
        tle.call_smem(add, [buffer, k], hint="pipeline")
        tl.store(c + at + k, buffer.load())


@triton.jit
def read_behind(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
    buffer = tle.gpu.alloc([M, BK], tl.float32)
    for k in tl.range(0, K, BK, num_stages=3):
        tle.call_smem(number_tile, [buffer, k], hint="pipeline")
        tl.store(c + at + k, buffer.load())
    tl.store(c + at, buffer.load())


@triton.jit
def read_before(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
    buffer = tle.gpu.alloc([M, BK], tl.float32, init_value=0)
    for k in tl.range(0, K, BK, num_stages=3):
        tl.store(c + at + k, buffer.load())
        tle.call_smem(number_tile, [buffer, k], hint="pipeline")


@triton.jit
def one_stage(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
    for k in tl.range(0, K, BK, num_stages=1):
        tl.store(b + at + k, tle.call(unpack, [tl.load(a + at + k)], hint="pipeline"))


@triton.jit
def behind_another(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
    for k in tl.range(0, K, BK, num_stages=3):
        tl.store(c + at + k, unpack(tl.load(a + at + k)).to(tl.float32))
        tl.store(b + at + k, tle.call(unpack, [tl.load(a + at + k + 1)], hint="pipeline"))


@pytest.mark.every_triton(3)
@pytest.mark.parametrize(
    "kernel, why",
    [
        (outside, "in no loop, or in a branch"),
        (in_branch, "in no loop, or in a branch"),
        (unused, "nothing in the loop uses"),
        (added_to, "reads or counts in the kernel's shared memory: `t`"),
        (read_behind, "it is used outside of the loop"),
        (read_before, "it is used outside of the loop"),
        (one_stage, "its loop has one stage"),
        (behind_another, "regions keep their order"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_hint_that_cannot_be_followed_says_why(kernel, why):
    with pytest.warns(PipelineHintWarning) as said:
        compiled = compile_kernel(kernel, PRODUCT, {"M": 32, "N": 32, "BK": 32})
    (text,) = [str(each.message) for each in said if each.category is PipelineHintWarning]
    assert why in text and 'hint="pipeline" has no effect' in text and "test_pipeline_hints.py:" in text
    assert report_of(compiled, machine_code=False).one_kernel


def test_groups_of_the_kernels_own_are_followed_without_a_word():
    @triton.jit
    def grouped(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
        at = tl.arange(0, M)[:, None] * K + tl.arange(0, BK)[None, :]
        for k in tle.range(0, K, BK, pipe_stages=[0, 1]):
            with tle.pipeline_group(0):
                tile = tle.call(unpack, [tl.load(a + at + k)], hint="pipeline")
            with tle.pipeline_group(1):
                tl.store(b + at + k, tile)

    with warnings.catch_warnings():
        warnings.simplefilter("error", PipelineHintWarning)
        kernel = compile_kernel(grouped, PRODUCT, {"M": 32, "N": 32, "BK": 32})
    assert kernel.asm["ttgir"].count("tt.extern_elementwise") == 2


def test_other_hints_mean_nothing():
    @tle_raw.dialect("cuda", source="template <int N> __device__ void same(float* t) {}")
    def same(t: InOut[Tile["f32", "N"]]): ...

    @triton.jit
    def kernel(x, HINT: tl.constexpr):
        tl.store(x + tl.arange(0, 64), tle.call(same, [tl.load(x + tl.arange(0, 64))], output_indices=[0], hint=HINT))

    texts = [compile_kernel(kernel, {"x": "*fp32"}, {"HINT": hint}).asm["ptx"] for hint in ("", "unroll")]
    assert len({re.sub(r"//.*|\.loc.*", "", text) for text in texts}) == 1
