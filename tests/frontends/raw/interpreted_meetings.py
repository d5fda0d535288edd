"""Regions that meet barriers and descriptors under TRITON_INTERPRET=1, run by test_interpreter in another process."""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle
from tests.frontends.raw import meeting_kernels as kernels
from tests.interpreting import run_chosen


@triton.jit
def three_blocks(x_desc, y_desc, FETCH: tl.constexpr, PUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """How often a loop runs is a constant: Triton 3.6's interpreter runs no other with a recent NumPy."""
    block = tle.gpu.alloc([M, N], x_desc.dtype)
    full = tle.gpu.alloc_barrier()
    for i in tl.static_range(3):
        FETCH(x_desc, i * M, 8, block, full)
        tle.gpu.barrier_wait(full, i)
        PUT(block, y_desc, i * M, 8)


def _blocks(fetch, put, factor):
    x = torch.randn(43, 32, dtype=torch.float16)
    y = torch.zeros_like(x)
    x_desc, y_desc = (TensorDescriptor.from_tensor(each, [16, 32]) for each in (x, y))
    three_blocks[(1,)](x_desc, y_desc, fetch, put, 16, 32)
    expected = factor * x
    expected[:, :8] = 0
    assert torch.equal(y, expected)


def test_blocks_by_cuda():
    _blocks(kernels.fetch_block, kernels.put_block, 2)


def test_blocks_by_mlir():
    _blocks(kernels.fetch_block_mlir, kernels.put_block_mlir, 1)


def test_padding():
    x = torch.randn(10, 16)
    y = torch.ones(16, 32)
    kernels.padded[(1,)](TensorDescriptor(x, [10, 16], [16, 1], [16, 32], "nan"), y, M=16, N=32)
    expected = torch.full((16, 32), float("nan"))
    expected[3:13, :8] = x[:, 8:]
    np.testing.assert_array_equal(y.numpy(), expected.numpy())


@triton.jit
def three_uses(x, y, FETCH: tl.constexpr, DOUBLE: tl.constexpr, ARRIVALS: tl.constexpr):
    tile = tle.gpu.alloc([16, 32], tl.float32, nv_mma_shared_layout=False)
    full, empty = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(ARRIVALS, init=tle.gpu.READY)
    at = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    for i in tl.static_range(3):
        tle.gpu.barrier_wait(empty, i)
        FETCH(tile, x + i * 512, full)
        DOUBLE(tile, full=full, empty=empty, use=i)
        tl.store(y + i * 512 + at, tile.load())


def _uses(double, arrivals):
    x = torch.randn(3, 16, 32)
    y = torch.zeros_like(x)
    three_uses[(1,)](x, y, kernels.fetch_mlir, double, arrivals)
    assert torch.equal(y, 2 * x)


def test_barriers_by_mlir():
    _uses(kernels.double_mlir, 1)


def test_barriers_by_tilelang():
    from tests.adapters.tilelang import barrier_kernels

    _uses(barrier_kernels.every_thread_arrives(), 128)
    _uses(barrier_kernels.one_thread_arrives(), 1)


if __name__ == "__main__":
    run_chosen(globals())
