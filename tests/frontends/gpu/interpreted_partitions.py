"""Specialised warps for TRITON_INTERPRET=1, run by test_interpreter in a process of their own."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle
from samples import common
from tests.frontends.gpu import partition_kernels as kernels
from tests.frontends.gpu import scheduler_kernels
from tests.interpreting import run_chosen
from tests.support import cause_of
from tle_raw.errors import SharedBufferError, TLEError

# Triton 3.6's interpreter cannot count to a run-time number with NumPy 2.4.
COUNTS = not triton.__version__.startswith("3.6")


def test_a_producer_and_a_consumer_of_products():
    if not COUNTS:
        return
    for steps in (1, 2, 5):
        a, b = (torch.randn(64, steps * 32).to(torch.float16) for _ in range(2))
        c = torch.zeros(64, 64)
        tiles = TensorDescriptor.from_tensor(a, [64, 32]), TensorDescriptor.from_tensor(b, [32, 32])
        kernels.gemm[(1, 2)](*tiles, c, steps, 64, 32, 32, 2, 1, 1)
        assert torch.allclose(c.double(), a.double() @ b.double().T, atol=1e-4)


def test_copies_that_arrive_when_they_are_done():
    if not COUNTS:
        return
    a, b, c = torch.randn(64, 3 * 32).half(), torch.randn(64, 3 * 32).half(), torch.zeros(64, 64)
    kernels.multiply_copied[(1,)](a, b, c, 3, 64, 32, 2, 4)
    assert torch.allclose(c.double(), a.double() @ b.double().T, atol=1e-4)


def test_rows_through_a_ring_and_what_the_default_partition_returns():
    if not COUNTS:
        return
    x = torch.randn(7 * 16)
    o, y = torch.zeros(7 * 16), torch.zeros(17)
    kernels.through_ring[(1,)](x, o, y, 7, 7 * 16 - 3, 16, 3, 2, 4, "store")
    rows = torch.cat([x[:-3], torch.zeros(3)]).view(7, 16)
    assert torch.equal(o.view(7, 16), rows - rows.amax(1, keepdim=True))
    expected = x[:16].double()
    for _ in range(7):
        expected = expected + expected.sum() * 0.00001
    assert torch.allclose(y[:16].double(), expected, atol=1e-4)
    assert torch.allclose(y[16], x[:16].sum(), atol=1e-5)


def test_functions_that_share_the_launchs_warps_get_block_tensors():
    x, o = torch.randn(512), torch.zeros(512)
    kernels.shared_warps[(1,)](x, o, 3.0, 256, 2, num_warps=4)
    halves = x.double().view(2, 256)
    assert torch.allclose(o.double().view(2, 256), halves * 3 - halves.flip(0).amax(1, keepdim=True), atol=1e-5)


@triton.jit
def _first(mine, other, o):
    tle.gpu.barrier_wait(mine, 0)
    tle.gpu.barrier_arrive(other, 1, 0)


@triton.jit
def _last(o):
    tl.store(o, 1.0)


@triton.jit
def _crossed(o):
    """Each of two partitions waits for what the other does behind its own wait."""
    bars = tle.gpu.alloc_barriers(2)
    tle.gpu.warp_specialize([(_first, (bars[0], bars[1], o)), (_first, (bars[1], bars[0], o)), (_last, (o,))], [1, 1])


def test_a_deadlock_names_all_who_wait():
    o = torch.zeros(1)
    try:
        _crossed[(1,)](o)
    except Exception as error:
        found = cause_of(error)
        assert isinstance(found, SharedBufferError), found
        said = str(found)
        assert "all partitions wait" in said and "the default partition" in said and "worker 0" in said
        assert "worker 1" not in said and said.count("interpreted_partitions.py:") >= 2 and "1 arrivals missing" in said
        assert o.item() == 1
    else:
        raise AssertionError("no error")


@triton.jit
def _wrong(o):
    tle.gpu.alloc([0], tl.float32)


@triton.jit
def _failing(o):
    bar = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize([(_first, (bar, bar, o)), (_wrong, (o,))], [1])


def test_an_error_of_one_partition_ends_the_others():
    try:
        _failing[(1,)](torch.zeros(1))
    except Exception as error:
        assert isinstance(cause_of(error), TLEError) and "positive" in str(cause_of(error))
    else:
        raise AssertionError("no error")


def test_partitions_that_take_turns_at_named_barriers():
    if not COUNTS:
        return
    o = torch.zeros(1, dtype=torch.int32)
    kernels.in_turns[(1,)](o, 3, 2)
    assert o.item() == ((((0 * 3 + 1) * 3 + 2) * 3 + 1) * 3 + 2) * 9 + 5


def test_one_partition_fetches_tiles_and_two_take_them():
    for kind in ("static", "dynamic"):
        o, counter = torch.zeros(11, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        scheduler_kernels.counted_twice[(3,)](o, counter, 11, kind, 2)
        assert torch.equal(o, torch.full_like(o, 2)) and counter.item() == 0


def test_attention_of_sample_12():
    if not COUNTS:
        return
    sample = common.load("tle_struct/12_attention.py")
    q, k, v = (torch.randn(1, 2, length, 32).half() for length in (150, 70, 70))
    for causal in (False, True):
        _, o, lse = sample.launch(q, k, v, causal, programs=3)
        want, sums = sample.expected(q, k, v, causal)
        assert torch.allclose(o.double(), want, atol=2e-3) and torch.allclose(lse.double(), sums, atol=1e-4)


def test_attention_whose_tiles_overlap():
    if not COUNTS:
        return
    sample, ahead = common.load("tle_struct/12_attention.py"), common.load("benchmarks/struct_attention_ahead.py")
    q, k, v = (torch.randn(1, 2, length, 32).half() for length in (300, 270, 270))
    for causal, programs in ((False, 4), (True, 5), (True, 1)):
        o = ahead.launch(q, k, v, causal, programs)[1]
        assert torch.allclose(o.double(), sample.expected(q, k, v, causal)[0], atol=2e-3)


if __name__ == "__main__":
    run_chosen(globals())
