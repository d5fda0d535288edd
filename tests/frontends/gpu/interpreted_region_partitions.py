"""Regions in partitions for TRITON_INTERPRET=1, run by test_interpreter in a process of their own."""

from __future__ import annotations

import importlib.util

import numpy as np
import torch
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tests.contracts.running import SEED, check_numbers, dialect
from tests.contracts.subjects import SUBJECTS
from tests.frontends.gpu import region_partition_kernels as subjects
from tests.frontends.gpu import region_ring_kernels as kernels
from tests.interpreting import run_chosen
from tests.support import cause_of
from tle_raw import Barrier, InOut, Pointer
from tle_raw.errors import SharedBufferError

# Triton 3.6's interpreter cannot count to a run-time number with NumPy 2.4.
COUNTS = not triton.__version__.startswith("3.6")


def _check_subjects(name, left_out=()):
    for subject in SUBJECTS.keys() - set(left_out):
        fragment = dialect(name).SUBJECTS[subject]
        case = SUBJECTS[subject]
        data = case.data(np.random.default_rng(SEED))
        arguments = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in data.items()}
        subjects.KERNELS[subject][(1,)](**arguments, FRAGMENT=fragment, **case.constants)
        check_numbers(subject, {k: v.numpy() if torch.is_tensor(v) else v for k, v in arguments.items()})


def test_subjects_of_cuda():
    _check_subjects("cuda")


def test_subjects_of_mlir_functions():
    _check_subjects("edsl")


def test_subjects_of_a_traced_dialect():
    if importlib.util.find_spec("tilelang"):
        _check_subjects(
            "tilelang", left_out=["pointer"]
        )  # a function of Triton's in a file that the interpreter refuses


def test_partitions_turn_rows_at_paces_of_their_own():
    if not COUNTS:
        return
    y = torch.randn(4, 256)
    expected, added = y.double(), torch.arange(33).double() % 7
    for row, count in enumerate((4, 6, 4, 3)):
        for _ in range(count):
            expected[row, :33] = expected[row, :33].flip(0) / 2 + added
    kernels.turns[(1,)](y, 33, 2, kernels.turn_all, 256)
    assert torch.allclose(y.double(), expected, atol=1e-5)


@tle_raw.dialect("cuda", source="""
__device__ void count_threads(int* x) {
  x[threadIdx.x] = blockDim.x;
  if (threadIdx.x == 0) x[64] = __syncthreads_count(1); else __syncthreads_count(1);
}
""")  # fmt: skip
def count_threads(x: InOut[Pointer["i32"]]): ...


@triton.jit
def _count(x):
    count_threads(x)


@triton.jit
def _counted(x):
    tle.gpu.warp_specialize([(_count, (x,)), (_count, (x + 2048,)), (_count, (x + 4096,))], [1, 2])


def test_a_region_has_its_partitions_threads():
    x = torch.zeros(3, 2048, dtype=torch.int32)
    _counted[(1,)](x, num_warps=8)
    for row, threads in zip(x, (256, 32, 64)):
        assert (row[:64] == threads).sum() == min(threads, 64) and row[threads:].max() in (0, threads)
        assert row[64] == threads


def _ring(producer, consumer):
    if not COUNTS:
        return
    (produce, fill), (consume, take) = kernels.PRODUCERS[producer], kernels.CONSUMERS[consumer]
    x = torch.randn(7 * 64 - 5)
    o = torch.full((7 * 64,), float("nan"))
    kernels.through_ring[(1,)](x, o, 7, x.numel(), produce, fill, consume, take, 64, 3, 1, 4)
    rows = torch.cat([x, torch.zeros(5)]).view(7, 64)
    assert torch.equal(o.view(7, 64), rows - rows.amax(1, keepdim=True))


def test_a_ring_from_cuda_to_triton():
    _ring("cuda", "triton")


def test_a_ring_from_triton_to_cuda():
    _ring("triton", "cuda")


def test_a_ring_between_regions():
    _ring("cuda", "cuda")


def test_a_ring_from_mlir_to_cuda():
    _ring("mlir", "cuda")


@tle_raw.dialect("cuda", source="""
#include <tle_raw/barrier.h>
__device__ void wait_and_tell(tle::barrier mine, tle::barrier other) {
  if (threadIdx.x == 0) { mine.wait(0); other.arrive(); }
}
""")  # fmt: skip
def wait_and_tell(mine: Barrier, other: Barrier): ...


@triton.jit
def _first(mine, other):
    wait_and_tell(mine, other)


@triton.jit
def _last(mine, other):
    tle.gpu.barrier_wait(mine, 0)
    tle.gpu.barrier_arrive(other, 1, 0)


@triton.jit
def _crossed():
    bars = tle.gpu.alloc_barriers(2)
    tle.gpu.warp_specialize([(_first, (bars[0], bars[1])), (_last, (bars[1], bars[0]))], [1])


@triton.jit
def _opens(mine, other, o):
    tle.gpu.barrier_arrive(other, 1, 0)
    tle.gpu.barrier_wait(mine, 0)
    tl.store(o, 1.0)


@triton.jit
def _handed_over(o):
    bars = tle.gpu.alloc_barriers(2)
    tle.gpu.warp_specialize([(_first, (bars[0], bars[1])), (_opens, (bars[1], bars[0], o))], [1])


def test_regions_that_wait_for_each_other_are_told():
    try:
        _crossed[(1,)]()
    except Exception as error:
        found = cause_of(error)
        assert isinstance(found, SharedBufferError), found
        said = str(found)
        assert "all partitions wait" in said and "the default partition" in said and "worker 0" in said
        assert said.count("interpreted_region_partitions.py:") >= 2 and "what the region waits for" in said
    else:
        raise AssertionError("no error")


def test_a_region_goes_on_once_another_partition_has_arrived():
    o = torch.zeros(1)
    _handed_over[(1,)](o)
    assert o.item() == 1


if __name__ == "__main__":
    run_chosen(globals())
