"""TileLang regions wait for barriers of the Triton kernel and arrive at them, linked and traced."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import our_error
from tests.support import compile_kernel
from tle_raw.errors import ArgumentTypeError, DialectError, SignatureError

T = pytest.importorskip("tilelang.language")

from tests.adapters.tilelang import barrier_kernels as doublers  # noqa: E402 - it needs TileLang
from tests.frontends.raw import meeting_kernels as kernels  # noqa: E402

RING = {"x": "*fp32", "y": "*fp32", "n": "i32"}
EVERY, ONE = doublers.every_thread_arrives, doublers.one_thread_arrives


def constants(double, arrivals):
    return {"FETCH": kernels.fetch_mlir, "DOUBLE": double, "ARRIVALS": arrivals, "M": 16, "N": 32, "S": 3}


def count(kernel, pattern):
    return len(re.findall(rf"^\s*(?:@%\w+ )?{pattern}", kernel.asm["ptx"], re.MULTILINE))


@pytest.mark.parametrize(
    "make, arrivals, route",
    [(EVERY, 128, "linked"), (EVERY, 128, "traced"), (ONE, 1, "traced"), (doublers.own_barrier_too, 128, None)],
)
def test_the_words_are_the_kernels(make, arrivals, route):
    kernel = compile_kernel(kernels.ring, RING, constants(make(route), arrivals))
    report = tle_raw.report(kernel)
    assert report.one_kernel and not report.sass_calls
    own = 8 if make is doublers.own_barrier_too else 0
    assert 0 <= kernel.metadata.shared - 3 * 16 * 32 * 4 - 6 * 8 < 16
    assert count(kernel, r"mbarrier\.init") == 6 + bool(own)  # the kernel's, and none for the region's parameters
    assert count(kernel, r"mbarrier\.inval") == bool(own)
    assert count(kernel, r"mbarrier\.arrive\.shared(::cta)?\.b64") == 1 + bool(own)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("make, arrivals", [(ONE, 1), (doublers.wait_in_loop, 128)])
def test_rings_on_the_cpu(make, arrivals, debug):
    x = np.random.default_rng(arrivals).standard_normal((7, 16, 32)).astype(np.float32)
    y = np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", debug
        kernels.ring[(1,)](x, y, 7, kernels.fetch_mlir, make(), arrivals, 16, 32, 3)
    np.testing.assert_allclose(y, 2 * x.astype(np.float64))


def test_a_barrier_that_counts_other_arrivals_is_refused():
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(kernels.ring, RING, constants(EVERY(), 1))
    error = our_error(caught.value)
    assert type(error) is ArgumentTypeError and "`empty` counts other arrivals" in str(error)
    assert "DOUBLE(" in error.context.call_site.text and "alloc_barrier(128)" in error.hint


def test_a_name_without_a_barrier_is_refused():
    @T.prim_func
    def plain(b: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=128) as _:
            pair = T.alloc_barrier([1, 1])
            T.barrier_wait(pair[0], 0)
            b[0, 0] = 1.0

    with pytest.raises(SignatureError, match="names `full`, which is no barrier"):
        _ = tle_raw.dialect("tilelang", barriers=["full"])(plain).signature
    with pytest.raises(SignatureError, match="several barriers in one buffer"):
        _ = tle_raw.dialect("tilelang", barriers=["pair"])(plain).signature


def test_copies_of_its_threads_are_counted():
    kernel = compile_kernel(kernels.counted, {"x": "*fp32", "y": "*fp32"}, {"COPY": doublers.copies_are_counted()})
    assert tle_raw.report(kernel).one_kernel
    assert count(kernel, r"cp\.async\.mbarrier\.arrive\.noinc") == 1 and count(kernel, r"mbarrier\.init") == 1


def test_copies_that_are_counted_bring_what_was_asked():
    """Also that each address is a multiple of the bytes: the CPU refuses others, as a GPU does."""
    x = np.random.default_rng(4).standard_normal((16, 32), dtype=np.float32)
    y = np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        kernels.counted[(1,)](x, y, doublers.copies_are_counted())
    np.testing.assert_array_equal(y, x)


def test_it_is_no_kernel_of_its_own():
    with pytest.raises(DialectError, match="takes barriers of a Triton kernel"):
        EVERY().as_kernel()


@triton.jit
def waits_only(x, y, WAIT: tl.constexpr):
    buffer = tle.gpu.alloc([16, 32], tl.float32, nv_mma_shared_layout=False)
    full = tle.gpu.alloc_barrier()
    kernels.fetch_mlir(buffer, x, full)
    WAIT(buffer, full=full)
    tl.store(y + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :], buffer.load())


def test_a_kernel_that_only_waits_says_so():
    @tle_raw.dialect("tilelang", tiles=["b"], barriers=["full"])
    @T.prim_func
    def add(b: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=128) as _:
            full = T.alloc_barrier(1)
            T.barrier_wait(full, 0)
            for i, j in T.Parallel(16, 32):
                b[i, j] = b[i, j] + 1.0

    assert str(add.signature).endswith("full: Barrier)")
    x = np.random.default_rng(1).standard_normal((16, 32)).astype(np.float32)
    y = np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", True
        waits_only[(1,)](x, y, add)
    np.testing.assert_allclose(y, x + 1.0)
