"""Waits and arrivals without phases: bar.sync and bar.arrive, each barrier with a number of its own."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import our_error
from tests.frontends.gpu import barrier_kernels as kernels
from tests.support import cause_of, compile_kernel
from tle_raw import InOut, Tile
from tle_raw.errors import ArgumentTypeError, KernelFailed

pytestmark = pytest.mark.every_triton(4)


def instructions(kernel, name):
    """The operands of an instruction, each time that it stands in the PTX."""
    return re.findall(rf"^\s*{re.escape(name)}\s+(.*);", kernel.asm["ptx"], re.MULTILINE)


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_each_barrier_has_a_number_and_its_threads(capability):
    kernel = compile_kernel(kernels.named, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"T": 128, "N": 256}, capability)
    syncs = instructions(kernel, "bar.sync")
    assert sorted(s for s in syncs if not s.startswith("0")) == ["14, 256", "15, 128"]
    assert instructions(kernel, "bar.arrive") == ["14, 256"]
    assert kernel.asm["ptx"].count("mbarrier.init") == 1  # of the barrier with phases alone
    assert kernel.metadata.shared <= 256 * 4 + 32


def run(kernel, *arguments, debug=False, **constants):
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", debug
        kernel[(2,)](*arguments, **constants)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("warps", [1, 4])
def test_the_block_meets_on_the_cpu(warps, debug):
    x = np.random.default_rng(1).standard_normal((7, 128)).astype(np.float32)
    y = np.zeros_like(x)
    run(kernels.named, x, y, 7, 32 * warps, 128, num_warps=warps, debug=debug)
    assert np.array_equal(y, x + 1)


def test_threads_that_never_come_are_an_error_on_the_cpu():
    @triton.jit
    def alone(x):
        both = tle.gpu.alloc_barrier(256)
        tle.gpu.barrier_wait(both)

    with pytest.raises(KernelFailed, match="a wait for threads that never come to a barrier") as caught:
        run(alone, np.zeros(1, np.float32), num_warps=4)
    assert "tle.gpu.barrier_wait(both)" in str(caught.value) and "128" in str(caught.value)


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ void twice(float* t) {
  asm volatile("bar.sync 15, 128;" ::: "memory");
  asm volatile("barrier.cta.sync %0, %1;" :: "n"(13), "r"(128) : "memory");
  for (int i = threadIdx.x; i < N; i += blockDim.x) t[i] *= 2;
}
""",
)
def twice(t: InOut[Tile["f32", "N"]]): ...


def test_the_numbers_of_regions_are_theirs():
    @triton.jit
    def beside(x, N: tl.constexpr):
        at = x + tl.arange(0, N)
        first, second = tle.gpu.alloc_barrier(128), tle.gpu.alloc_barrier(128)
        value = twice(tl.load(at))
        tle.gpu.barrier_wait(first)
        tle.gpu.barrier_wait(second)
        tl.store(at, value)

    kernel = compile_kernel(beside, {"x": "*fp32"}, {"N": 256})
    assert tle_raw.report(kernel).one_kernel
    numbers = [s.split(",")[0] for s in instructions(kernel, "bar.sync") if "," in s]
    assert sorted(numbers) == ["12", "14", "15"]


@tle_raw.dialect(
    "cuda",
    source=r"""
template <int N> __device__ void meet(float* t, int which) {
  asm volatile("barrier.cta.sync %0, 128;" :: "r"(which) : "memory");
}
""",
)
def meet(t: InOut[Tile["f32", "N"]], which: tle_raw.Scalar["i32"]): ...


def failed(kernel, types, constants):
    with pytest.raises((tle_raw.TLEError, triton.CompilationError)) as caught:
        compile_kernel(kernel, types, constants)
    return cause_of(caught.value) if not isinstance(caught.value, tle_raw.TLEError) else caught.value


@triton.jit
def wrong(x, n, WHAT: tl.constexpr):
    one, several = tle.gpu.alloc_barrier(128), tle.gpu.alloc_barriers(3, 128)
    if WHAT == "two ways":
        tle.gpu.barrier_wait(one)
        tle.gpu.barrier_wait(one, 0)
    if WHAT == "two ways, by slots":
        tle.gpu.barrier_arrive(several[1], 1, n)
        tle.gpu.barrier_arrive(several[1])
    if WHAT == "two ways, in a function":
        tle.gpu.barrier_wait(one)
        with_phase(one)
    if WHAT == "ready":
        tle.gpu.barrier_wait(tle.gpu.alloc_barrier(128, init=tle.gpu.READY))
    if WHAT == "bytes":
        tle.gpu.barrier_wait(tle.gpu.alloc_barrier(128, expect_bytes=64))
    if WHAT == "no warps":
        tle.gpu.barrier_wait(tle.gpu.alloc_barrier(33))
    if WHAT == "too many threads":
        tle.gpu.barrier_wait(tle.gpu.alloc_barrier(4096))
    if WHAT == "other arrivals":
        tle.gpu.barrier_arrive(one, 64)
    if WHAT == "copies":
        tle.gpu.barrier_arrive(one, after_copies=True)
    if WHAT == "half a block":
        tle.gpu.barrier_wait(tle.gpu.alloc_barrier(64))
    if WHAT == "chosen at run time":
        tle.gpu.barrier_wait(several[n])
    if WHAT == "too many":
        all_ = tle.gpu.alloc_barriers(16, 128)
        for i in tl.static_range(16):
            tle.gpu.barrier_wait(all_[i])
    if WHAT == "a region's choice":
        at = x + tl.arange(0, 128)
        tl.store(at, meet(tl.load(at), n))
        tle.gpu.barrier_wait(one)


@triton.jit
def with_phase(bar):
    tle.gpu.barrier_wait(bar, 0)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("two ways", "used two ways: without before, and with phases here"),
        ("two ways, by slots", "used two ways: with phases before, and without here"),
        ("two ways, in a function", "used two ways"),
        ("ready", "neither READY nor expects bytes"),
        ("bytes", "neither READY nor expects bytes"),
        ("no warps", "counts the threads of whole warps"),
        ("too many threads", "at most 4064"),
        ("other arrivals", "one arrival each"),
        ("copies", "copies arrive at barriers with phases"),
        ("half a block", "a multiple of the block's 128 threads"),
        ("chosen at run time", "must be known at compile time"),
        ("too many", "at most 15"),
        ("a region's choice", "chooses its barriers at run time"),
    ],
)
def test_what_cannot_be_is_refused_at_the_kernels_line(what, words):
    error = failed(wrong, {"x": "*fp32", "n": "i32"}, {"WHAT": what})
    assert isinstance(error, ArgumentTypeError) and words in str(error)
    assert error.context.call_site.file == __file__ and error.context.call_site.line


def test_loads_stay_behind_a_named_barrier_of_their_loop():
    """The pipeliner, which does not know it, would begin them in the iteration before."""

    @triton.jit
    def product(a, b, c, n, MEETS: tl.constexpr):
        i = tl.arange(0, 64)
        at = i[:, None] * 64 + i[None, :]
        here = tle.gpu.alloc_barrier(128)
        acc = tl.zeros([64, 64], tl.float32)
        for k in range(n):
            if MEETS:
                tle.gpu.barrier_wait(here)
            acc = tl.dot(tl.load(a + k * 4096 + at), tl.load(b + k * 4096 + at), acc)
        tle.gpu.barrier_wait(here)
        tl.store(c + at, acc)

    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32"}
    for capability in (80, 90):
        pipelined, stays = (compile_kernel(product, types, {"MEETS": meets}, capability) for meets in (False, True))
        assert "cp.async" in pipelined.asm["ptx"] and "cp.async" not in stays.asm["ptx"]


def test_errors_of_tracing_are_ours():
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(wrong, {"x": "*fp32", "n": "i32"}, {"WHAT": "two ways"})
    assert "barrier_wait(one, 0)" in our_error(caught.value).context.call_site.text


def test_a_branch_and_a_function_keep_the_barrier():
    @triton.jit
    def branches(x, n):
        one, two = tle.gpu.alloc_barrier(128), tle.gpu.alloc_barrier(128)
        if n > 3:
            meets(one)
            tl.store(x, 1.0)
        else:
            meets(two)
        meets(one)

    kernel = compile_kernel(branches, {"x": "*fp32", "n": "i32"})
    assert sorted(instructions(kernel, "bar.sync")) == ["14, 128", "15, 128", "15, 128"]


@triton.jit
def meets(bar):
    tle.gpu.barrier_wait(bar)
