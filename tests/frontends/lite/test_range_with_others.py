"""Groups in stages beside the rest of TLE: regions and shared buffers in the last stage, other pipelined loops."""

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.flir.ttgir_machine import Machine
from tests.support import compile_kernel, ptx_calls
from tle_raw import InOut, Tile
from tle_raw.errors import ScheduleError

SIGNATURE = {"x": "*fp32", "o": "*fp32", "n": "i32"}


@tle_raw.dialect(
    "cuda",
    source="""
template <int N> __device__ void reversed(float* t) {
  __shared__ float copy[N];
  for (int i = threadIdx.x; i < N; i += blockDim.x) copy[i] = t[i];
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += blockDim.x) t[i] = copy[N - 1 - i];
}
""",
)
def reversed_row(t: InOut[Tile["f32", "N"]]): ...


@triton.jit
def regions(x, o, n, B: tl.constexpr):
    """Two regions in groups of the last stage, whose loads are two iterations ahead."""
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n, pipe_stages=[0, 2, 2, 2]):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            first = reversed_row(value)
        with tle.pipeline_group(2):
            second = reversed_row(value * value)
        with tle.pipeline_group(3):
            acc += first * row + second
            tl.store(o + row * B + i, acc)


@triton.jit
def producer(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    """A region that runs iterations ahead of those that use what it makes."""
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            doubled = value * 2
            turned = tle.call(reversed_row, [doubled], output_indices=[0], hint="pipeline")
            both = turned + doubled
        with tle.pipeline_group(2):
            acc += both * turned
            tl.store(o + row * B + i, acc)


@triton.jit
def between(x, o, n, B: tl.constexpr):
    """Values of every kind, made between two regions that run ahead, and used later."""
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n, pipe_stages=[0, 1, 2]):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            turned = reversed_row(value)
            positive, at = turned > 0, o + row * B + i
            total = tl.sum(turned, 0)
            is_large, count = total > 0, positive.to(tl.int8)
            again = reversed_row(turned * 2)
            low, high = tl.split(tl.reshape(again, (B // 2, 2)))
        with tle.pipeline_group(2):
            acc += tl.where(positive & is_large, again, total) + tl.reshape(tl.join(high, low), (B,)) + count
            tl.store(at, acc)


@triton.jit
def handed_over(x, o, n, B: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, B)
    for row in tle.range(n, pipe_stages=STAGES):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            value = reversed_row(value)
        with tle.pipeline_group(2):
            value = reversed_row(value)
        with tle.pipeline_group(3):
            tl.store(o + row * B + i, value)


@triton.jit
def buffers(x, o, n, B: tl.constexpr):
    """A buffer of the kernel's own in the last stage, and another loop that Triton pipelines."""
    i = tl.arange(0, B)
    buffer = tle.gpu.alloc([B], tl.float32)
    acc = tl.zeros((B,), tl.float32)
    for row in tle.range(n, pipe_stages=[0, 3]):
        with tle.pipeline_group(0):
            value = tl.load(x + row * B + i)
        with tle.pipeline_group(1):
            buffer.store(value)
            acc += buffer.load() * 2
    for row in tle.range(n, pipe_stages=3):
        acc += tle.load(x + row * B + i, is_async=True)
    tl.store(o + i, acc)


def waits(kernel):
    return [int(n) for n in re.findall(r"cp\.async\.wait_group\s+(\d+)", kernel.asm["ptx"])]


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_regions_run_in_the_last_stage(capability):
    kernel = compile_kernel(regions, SIGNATURE, {"B": 1024}, capability)
    assert 1 in waits(kernel) and not ptx_calls(kernel) and "cubin" in kernel.asm
    loop = kernel.asm["ttgir"][kernel.asm["ttgir"].index("scf.for") :]
    order = re.findall(r"local_store|tle_raw_reversed|ttg\.local_load %(?:first|second)|tt\.store|async_copy", loop)
    region = ["local_store", "tle_raw_reversed", "ttg.local_load"]
    assert [word.split(" %")[0] for word in order] == [*region, *region, "tt.store", "async_copy"]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("stages", [(0, 1, 2), (0, 2, 3), (0, 0, 1), (0, 1, 1)])
@pytest.mark.every_triton(3)
def test_a_region_that_produces_runs_ahead(stages, is_late):
    kernel = compile_kernel(producer, SIGNATURE, {"B": 64, "STAGES": stages})
    loop = kernel.asm["ttgir"][kernel.asm["ttgir"].index("scf.for") :]
    assert ("scf.if" in loop) == (stages[1] < stages[2]) and not ptx_calls(kernel)
    for rows in (0, 1, 2, 7):
        x, o = np.random.default_rng(rows).standard_normal((7, 64)).astype(np.float32), np.zeros((7, 64), np.float32)
        machine = Machine([x.reshape(-1), o.reshape(-1)], is_late)
        machine.functions["tle_raw_reversed_row"] = lambda row: row[::-1]
        machine.run(kernel.asm["ttgir"], [("p", 0), ("p", 1), ("s", np.int32(rows))])
        doubled = 2 * x.astype("d")
        turned = doubled[:, ::-1]
        np.testing.assert_allclose(o[:rows], ((turned + doubled) * turned).cumsum(0)[:rows], rtol=1e-4, atol=1e-4)
        assert not o[rows:].any()


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_what_stands_between_regions_runs_ahead_with_them(capability):
    kernel = compile_kernel(between, SIGNATURE, {"B": 64}, capability)
    loop = kernel.asm["ttgir"][kernel.asm["ttgir"].index("scf.for") :]
    assert loop.count("scf.if") == 1 and loop.count("tle_raw_reversed_row") == 2 and not ptx_calls(kernel)


@pytest.mark.parametrize("stages", [(0, 1, 2, 2), (0, 1, 1, 2)])
def test_tiles_are_not_handed_from_group_to_group_where_they_lie(stages):
    with pytest.raises(ScheduleError, match="hands its tile to a region of another group") as caught:
        compile_kernel(handed_over, SIGNATURE, {"B": 64, "STAGES": stages})
    site = caught.value.context.call_site
    assert site.file == __file__ and "reversed_row(value)" in site.text


@pytest.mark.parametrize("capability", [80, 90])
def test_shared_buffers_of_the_kernel_stay_in_the_last_stage(capability):
    kernel = compile_kernel(buffers, SIGNATURE, {"B": 1024}, capability)
    assert max(waits(kernel)) == 2 and "cubin" in kernel.asm
    assert kernel.metadata.shared >= (3 + 1) * 1024 * 4


def test_their_numbers_on_the_cpu():
    pytest.importorskip("torch_mlir")
    x = np.random.default_rng(0).standard_normal((7, 64)).astype(np.float32)
    wide = x.astype("d")
    o = np.zeros_like(x)
    regions[(1,)](x, o, 7, B=64)
    each = wide[:, ::-1] * np.arange(7)[:, None] + (wide * wide)[:, ::-1]
    np.testing.assert_allclose(o, each.cumsum(0), rtol=1e-5, atol=1e-5)
    o = np.zeros_like(x)
    producer[(1,)](x, o, 7, B=64, STAGES=(0, 1, 2))
    turned = 2 * wide[:, ::-1]
    np.testing.assert_allclose(o, ((turned + 2 * wide) * turned).cumsum(0), rtol=1e-4, atol=1e-4)
    o = np.zeros_like(x)
    between[(1,)](x, o, 7, B=64)
    turned, again = wide[:, ::-1], 2 * wide
    total = turned.sum(1, keepdims=True)
    swapped = again.reshape(7, 32, 2)[:, :, ::-1].reshape(7, 64)
    each = np.where((turned > 0) & (total > 0), again, total) + swapped + (turned > 0)
    np.testing.assert_allclose(o, each.cumsum(0), rtol=1e-4, atol=1e-4)
    total = np.zeros(64, np.float32)
    buffers[(1,)](x, total, 7, B=64)
    np.testing.assert_allclose(total, 3 * wide.sum(0), rtol=1e-5, atol=1e-5)
