"""Tiles whose numbers step further than their size, at the end of an array that is a multiple of it."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("cuda.tile")
import cuda.tile as ct

import tle_raw


@ct.kernel
def add_tiles(x, y, size: ct.Constant[int], step: ct.Constant[int]):
    tile = y.tiled_view((size, 4), traversal_steps=(step, 4)).load((ct.bid(0), ct.bid(1)))
    x.tiled_view((size, 4), traversal_steps=(step, 4)).atomic_store_add((ct.bid(0), ct.bid(1)), tile)


@pytest.mark.parametrize("step", [5, 8, 9, 16])
def test_a_tile_ends_with_the_array(step):
    memory = torch.zeros(96, 8, dtype=torch.int32)
    x, y = memory[:32], torch.arange(1, 32 * 8 + 1, dtype=torch.int32).reshape(32, 8)
    tle_raw.fragment(add_tiles).as_kernel()[-(-32 // step), 2](x, y, 8, step)
    wanted = torch.zeros_like(memory)
    for first in range(0, 32, step):
        wanted[first : min(first + 8, 32)] += y[first : first + 8]
    assert torch.equal(memory, wanted)
