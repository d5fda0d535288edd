"""The subjects as cuTile functions: of tiles, and of arrays where memory crosses."""

from __future__ import annotations

from typing import Any

import cuda.tile as ct
import triton

import tle_raw


@tle_raw.dialect("cutile")
def running(x):
    return ct.cumsum(x, axis=0)


@tle_raw.dialect("cutile")
def scaled(x, s, k):
    return x * s + k


def product(factor: float) -> Any:
    def product(x, w):
        return x * w - factor * x

    return tle_raw.fragment(product, dialect="cutile")


@tle_raw.dialect("cutile", grid={0: 0})
def halved(X, Y):
    x = ct.load(X, (0,), (256,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, (0,), x * 0.5 + 1.0)


@triton.jit
def halved_memory(x, y, n):
    """An array is a pointer with its sizes and strides."""
    halved((x, (n,), (1,)), (y, (n,), (1,)))


@tle_raw.dialect("cutile")
def both(x):
    return x * 2.0, ct.where(x > 0.0, 1, -1)


SUBJECTS = {
    "tile": running,
    "scalar": scaled,
    "element": product(3.0),
    "pointer": halved_memory,
    "results": both,
}


def missing() -> Any:
    def wrong(x, w):
        return ct.absent(x) + w

    return tle_raw.fragment(wrong, dialect="cutile")


def broken() -> Any:
    def wrong(x, w):
        return x + undeclared * w  # noqa: F821

    return tle_raw.fragment(wrong, dialect="cutile")
