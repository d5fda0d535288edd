"""Kernels with FlagTree's ``tle.dsa``, unedited, on stock Triton."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tle_raw
from tle_raw.compat import flagtree

pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

flagtree.install()

import triton.experimental.tle.language as tle  # noqa: E402
import triton.experimental.tle.language.dsa.ascend as ascend  # noqa: E402

pytestmark = pytest.mark.every_triton(1)


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    a_ub = tle.dsa.alloc([BLOCK_SIZE], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    b_ub = tle.dsa.alloc([BLOCK_SIZE], dtype=tl.float32, mem_addr_space=tle.dsa.ascend.UB)
    c_ub = tle.dsa.alloc([BLOCK_SIZE], dtype=tl.float32, mem_addr_space=ascend.UB)
    tail_size = tl.minimum(n_elements - block_start, BLOCK_SIZE)
    with tle.dsa.hint(inter_no_alias=True):
        tle.dsa.copy(x_ptr + offsets, a_ub, [tail_size])
        tle.dsa.copy(y_ptr + offsets, b_ub, [tail_size])
    tle.dsa.add(input=a_ub, other=b_ub, result=c_ub)
    val = tle.dsa.to_tensor(memref=c_ub, writable=True)
    half = tle.dsa.extract_slice(ful=val, offsets=[0], sizes=[BLOCK_SIZE // 2], strides=[2])
    val = tle.dsa.insert_slice(ful=val, sub=half * 0.5, offsets=[0], sizes=[BLOCK_SIZE // 2], strides=[2])
    for _ in tle.dsa.pipeline(0, 2, num_stages=2):
        val = val + 1.0
    tle.dsa.copy(tle.dsa.to_buffer(val, ascend.UB), output_ptr + offsets, [tail_size])


def test_a_program_of_flagtrees():
    random = np.random.default_rng(0)
    x, y = random.random(1000, np.float32), random.random(1000, np.float32)
    out = np.zeros_like(x)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        add_kernel[(8,)](x, y, out, 1000, BLOCK_SIZE=128)
    exact = x.astype(np.float64) + y
    exact[::2] *= 0.5
    assert np.abs(out - (exact + 2)).max() < 1e-6


def test_names_of_other_vendors_are_refused_by_name():
    with pytest.raises(AttributeError, match=r"tle\.dsa\.tsingmicro: this release"):
        _ = tle.dsa.tsingmicro
    with pytest.raises(AttributeError, match=r"tle\.dsa\.ascend\.sort32"):
        _ = ascend.sort32
