"""Tiles that a loop counts lie inside their array, or begin there: what is known is not checked, all else is."""

from __future__ import annotations

import cuda.tile as ct
import pytest
import torch

from tests.adapters.cutile.arrays import compile_for_gpu, launch

pytestmark = pytest.mark.every_triton(2)

ZERO = ct.PaddingMode.ZERO
TILE = ct.Constant[int]


def whole(X, Z, Y, n: TILE):
    for j in range(X.shape[0] // 16):
        ct.store(Y, (j,), ct.sum(ct.load(X, (j,), (n,), padding_mode=ZERO)).reshape((1,)))


def begun(X, Z, Y, n: TILE):
    for j in range(ct.num_tiles(X, axis=0, shape=(16,))):
        ct.store(Y, (j,), ct.sum(ct.load(X, (j,), (n,), padding_mode=ZERO)).reshape((1,)))


def counted(X, Z, Y, n: TILE):
    for j in range(ct.cdiv(X.shape[0], 16)):
        ct.store(Y, (j,), ct.sum(ct.load(X, (j,), (n,), padding_mode=ZERO)).reshape((1,)))


def fewer(X, Z, Y, n: TILE):
    for j in range(ct.minimum(Z.shape[0], X.shape[0] // 16)):
        ct.store(Y, (j,), ct.sum(ct.load(X, (j,), (n,), padding_mode=ZERO)).reshape((1,)))


def single(X, Z, Y, n: TILE):
    for j in range(X.shape[0]):
        ct.store(Y, (j,), ct.load(X, (j,), (1,), padding_mode=ZERO))


def other(X, Z, Y, n: TILE):
    for j in range(X.shape[0] // 16):
        ct.store(Y, (j,), ct.sum(ct.load(Z, (j,), (n,), padding_mode=ZERO)).reshape((1,)))


def below(X, Z, Y, n: TILE):
    for j in range(-2, X.shape[0] // 16):
        ct.store(Y, (j + 2,), ct.sum(ct.load(X, (j,), (n,), padding_mode=ZERO)).reshape((1,)))


def moved(X, Z, Y, n: TILE):
    for j in range(X.shape[0] // 16):
        ct.store(Y, (j,), ct.sum(ct.load(X, (j + 1,), (n,), padding_mode=ZERO)).reshape((1,)))


def tile_sum(x: torch.Tensor, tile: int, n: int) -> float:
    return x[tile * n : tile * n + n].double().sum().item() if tile >= 0 else 0.0


TILES = {
    whole: lambda size: range(size // 16),
    begun: lambda size: range(-(-size // 16)),
    counted: lambda size: range(-(-size // 16)),
    fewer: lambda size: range(min(21, size // 16)),
    other: lambda size: range(size // 16),
    below: lambda size: range(-2, size // 16),
    moved: lambda size: range(1, size // 16 + 1),
}


@pytest.mark.parametrize("function", TILES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size, n", [(0, 16), (7, 8), (7, 32), (48, 8), (48, 16), (61, 16), (61, 32)])
def test_numbers(function, size, n):
    """Behind X lies memory that is not X's, and no zero."""
    memory = torch.rand(256) + 1
    x, z, y = memory[:size], (torch.rand(64) + 1)[:21], torch.full((9,), -1.0)
    launch(function, (1,), x, z, y, n)
    expected = [tile_sum(z if function is other else x, tile, n) for tile in TILES[function](size)]
    torch.testing.assert_close(y[: len(expected)].double(), torch.tensor(expected).double(), rtol=1e-5, atol=1e-5)
    assert (y[len(expected) :] == -1).all()


def test_each_element():
    x, y = torch.rand(7), torch.zeros(9)
    launch(single, (1,), x, x, y, 1)
    assert torch.equal(y, torch.cat([x, torch.zeros(2)]))


def conditions(function, n):
    """Comparisons of lanes, and of the loop's index, for the loads."""
    x, z, y = torch.empty(64), torch.empty(21), torch.empty(9)
    text = compile_for_gpu(function, x, z, y, n, alone=True).asm["ttir"]
    compared = [line for line in text.splitlines() if "arith.cmpi" in line]
    lanes = sum(f"tensor<{n}x" in line for line in compared)
    return lanes, sum("ult" in line and "tensor<" not in line for line in compared) - 1  # Y's index is checked


@pytest.mark.parametrize(
    "function, n, expected",
    [
        (whole, 16, (0, 0)),
        (whole, 8, (0, 0)),
        (whole, 32, (1, 1)),  # tiles of 32 are half as many
        (fewer, 16, (0, 0)),
        (begun, 16, (1, 0)),
        (begun, 32, (1, 1)),
        (counted, 16, (1, 0)),
        (other, 16, (1, 1)),
        (below, 16, (1, 1)),
        (moved, 16, (1, 1)),
    ],
)
def test_checks_that_are_left(function, n, expected):
    assert conditions(function, n) == expected
