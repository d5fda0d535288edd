"""Copies out of buffers that the copy engine reads where they lie: numbers, bit for bit."""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.gpu import copy_out_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (ON_CPU or HOPPER), reason="the copy engine needs sm_90"),
]

TILES, DTYPES = 300, [torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int32]
SIZES = [(16, 32), (64, 64), (32, 128), (128, 16)]


def tiles(dtype, m, n, count=TILES):
    return torch.randint(-30, 30, (count, m, n), device=DEVICE).to(dtype)


def same(got, expected):
    assert COMPILE_ONLY or torch.equal(got, expected.to(got.dtype))


def run(kernel, x, each, *arguments, grid=TILES, warps=4, **constants):
    """What a kernel makes of tiles, ``each`` of each; of the last one the last row is not there."""
    m, n = x.shape[1:]
    o = torch.full((len(x) * each * m - 1, n), -1, device=DEVICE, dtype=x.dtype)
    source = TensorDescriptor.from_tensor(x.view(-1, n), [m, n]) if kernel is kernels.brought else x
    target = TensorDescriptor.from_tensor(o, [m, n])
    kernel[(grid,)](source, target, *arguments, M=m, N=n, num_warps=warps, **constants)
    return o


def below(*parts):
    """The parts of each tile, one below the other, without the last row."""
    return torch.stack(parts, 1).flatten(0, 2)[:-1]


@pytest.mark.parametrize("m, n", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tiles_one_after_another_through_one_buffer(dtype, m, n):
    x = tiles(dtype, m, n)
    for warps in (1, 4, 8):
        same(run(kernels.written_again, x, 2, warps=warps), below(x, x + x))
    same(run(kernels.two_places, x, 3), below(x, x, x + 1))
    same(run(kernels.brought, x, 1), below(x))


@pytest.mark.parametrize("m, n", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_was_stored_by_pointers(dtype, m, n):
    x = tiles(dtype, m, n)
    expected = x.clone()
    expected[:, 5:] = 7
    same(run(kernels.by_pointers, x, 1, 5), below(expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_buffer_that_partitions_hand_over(dtype):
    x = tiles(dtype, 64, 64)
    for _ in range(20):
        same(run(kernels.in_partitions, x, 2), below(x, x + x))


@pytest.mark.parametrize("m, n, warps", [(32, 64, 4), (128, 128, 8)])
def test_loops_with_memory_for_a_tile_and_without(m, n, warps):
    x = tiles(torch.float32, m, n, 41)
    before = torch.cat([torch.zeros_like(x[:1]), x[:-1]])
    for _ in range(20):
        same(run(kernels.in_a_loop, x, 1, 41, grid=1, warps=warps, BESIDE=2), below(x + 2 * before))
