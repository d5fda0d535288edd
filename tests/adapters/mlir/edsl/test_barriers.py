"""Functions of the mlir dialect wait for the kernel's barriers, arrive at them, and begin copies that they count."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
import tle_raw.mlir as mlir
from tests.contracts.running import our_error
from tests.frontends.raw import meeting_kernels as kernels
from tests.support import TRITON, compile_kernel
from tle_raw import Barrier, In, Scalar, Tile
from tle_raw.errors import CompilationFailed

RING = {"x": "*fp32", "y": "*fp32", "n": "i32"}
MADE = {"FETCH": kernels.fetch_mlir, "DOUBLE": kernels.double_mlir, "ARRIVALS": 1}


def test_the_instructions_are_those_of_cpp():
    kernel = compile_kernel(kernels.ring, RING, MADE | {"M": 32, "N": 64, "S": 3})
    report, ptx = tle_raw.report(kernel), kernel.asm["ptx"]
    assert report.one_kernel and not report.sass_calls and all(region.inlined for region in report.regions)
    for instruction, count in [
        (r"cp\.async\.bulk\.shared::cluster\.global\.mbarrier::complete_tx::bytes", 3),
        (r"mbarrier\.arrive\.expect_tx", 3),
        (r"mbarrier\.arrive\.shared::cta", 1),
    ]:
        assert len(re.findall(instruction, ptx)) == count, instruction


@pytest.mark.parametrize("debug", [False, True])
def test_rings_on_the_cpu(debug):
    x = np.random.default_rng(3).standard_normal((7, 16, 8)).astype(np.float32)
    y = np.zeros_like(x)
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", debug
        kernels.ring[(1,)](x, y, 7, kernels.fetch_mlir, kernels.double_mlir, 1, 16, 8, 3)
    np.testing.assert_allclose(y, 2 * x.astype(np.float64))


@triton.jit
def arrivals(y, n, F: tl.constexpr, COUNT: tl.constexpr):
    bar = tle.gpu.alloc_barrier(COUNT)
    for use in range(n):
        F(bar)
        tle.gpu.barrier_wait(bar, use)
        tl.store(y + use, use)


def test_several_arrivals_at_once():
    @tle_raw.dialect("mlir")
    def arrive(b: Barrier):
        mlir.barrier_arrive(b, 3)

    y = np.full(4, -1, np.int32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        arrivals[(1,)](y, 4, arrive, 3 * 128)
    assert y.tolist() == [0, 1, 2, 3]
    for capability, instruction in [(80, "mbarrier.arrive.shared.b64 state"), (90, "mbarrier.arrive.shared::cta.b64")]:
        kernel = compile_kernel(arrivals, {"y": "*i32", "n": "i32"}, {"F": arrive, "COUNT": 384}, capability)
        assert kernel.asm["ptx"].count(instruction) == (3 if capability == 80 else 1)


def refused(fragment, capability=90):
    with pytest.raises((CompilationFailed, triton.CompilationError)) as caught:
        compile_kernel(arrivals, {"y": "*i32", "n": "i32"}, {"F": fragment, "COUNT": 1}, capability)
    error = caught.value
    return error if isinstance(error, CompilationFailed) else our_error(error)


def test_what_cannot_be_is_refused_at_its_line():
    @tle_raw.dialect("mlir")
    def expect(b: Barrier):
        mlir.barrier_expect(b, 16)

    error = refused(expect, 80)
    assert "from sm_90 on" in str(error) and "barrier_expect(b, 16)" in error.context.source.text

    @tle_raw.dialect("mlir")
    def arrive(b: In[Barrier]):
        mlir.barrier_arrive(b)

    assert "waited for only" in str(refused(arrive))

    @tle_raw.dialect("mlir")
    def wait(t: Tile["i64", 1], use: Scalar["i32"]):
        mlir.barrier_wait(t, use)

    with pytest.raises(CompilationFailed, match="takes a barrier of the kernel"):
        wait.compile(target="cuda:90")


# Each MLIR has its own spelling: the one that reads the text counts.
NVVM = """
llvm.func @arrive(%b: !llvm.ptr<3>) {
  %i = nvvm.read.ptx.sreg.tid.x : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %first = llvm.icmp "eq" %i, %zero : i32
  llvm.cond_br %first, ^do, ^done
^do:
  %s = nvvm.mbarrier.arriveWHERE %b : !llvm.ptr<3> -> i64
  llvm.br ^done
^done:
  llvm.return
}
"""


def test_operations_of_nvvm():
    old = TRITON < (3, 7)

    @tle_raw.dialect("mlir", source=NVVM.replace("WHERE", ".shared" if old else ""))
    def arrive(b: Barrier): ...

    y = np.full(4, -1, np.int32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target = "cpu"
        arrivals[(1,)](y, 4, arrive, 1)
    assert y.tolist() == [0, 1, 2, 3]
