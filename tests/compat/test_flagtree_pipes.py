"""FlagTree's pipes: several of them hand over parts of one buffer."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

pytest.importorskip("torch_mlir")

import tle_raw
import tle_raw.language as ours
from tests.support import cause_of, compile_kernel
from tle_raw.compat.flagtree import install
from tle_raw.errors import PipeError

install()
import triton.experimental.tle.language as tle  # noqa: E402

pytestmark = pytest.mark.every_triton(3)


def halves(language):
    @triton.jit
    def kernel(x, o, rounds, N: tl.constexpr):
        low, high = tl.arange(0, N), N + tl.arange(0, N)
        buffer = tle.gpu.alloc(
            [1, 2 * N], dtype=tl.float32, layout=None, scope=tle.gpu.smem, nv_mma_shared_layout=False
        )
        left = language.pipe(capacity=1, scope="cta", name="left", both=buffer)
        right = language.pipe(capacity=1, scope="cta", name="right", both=buffer)
        left_writer, right_writer, left_reader, right_reader = (
            left.writer(),
            right.writer(),
            left.reader(),
            right.reader(),
        )
        for i in range(rounds):
            slot = left_writer.acquire(i)
            tl.store(tle.gpu.local_ptr(slot.both, (low,)), tl.load(x + i * 2 * N + low))
            left_writer.commit(i)
            slot = right_writer.acquire(i)
            tl.store(tle.gpu.local_ptr(slot.both, (high,)), tl.load(x + i * 2 * N + high))
            right_writer.commit(i)
            there = left_reader.wait(i).slot
            here = tl.load(tle.gpu.local_ptr(there.both, (low,)))
            left_reader.release(i)
            there = right_reader.wait(i).slot
            tl.store(o + i * N + low, here - tl.load(tle.gpu.local_ptr(there.both, (high,))))
            right_reader.release(i)

    return kernel


@pytest.mark.parametrize("debug", [False, True])
def test_two_pipes_share_a_buffer(debug):
    x = np.random.default_rng(0).standard_normal((5, 2, 32)).astype(np.float32)
    o = np.full((5, 32), np.nan, np.float32)
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", debug
        halves(tle)[(1,)](x, o, 5, N=32)
    np.testing.assert_array_equal(o, x[:, 0] - x[:, 1])


def test_it_compiles_for_gpus_and_is_refused_in_our_own_spelling():
    types = {"x": "*fp32", "o": "*fp32", "rounds": "i32"}
    assert "mbarrier.try_wait" in compile_kernel(halves(tle), types, {"N": 128}).asm["ptx"]
    with pytest.raises(Exception) as caught:
        compile_kernel(halves(ours), types, {"N": 64})  # Triton keeps kernels by their text
    assert isinstance(cause_of(caught.value), PipeError)
