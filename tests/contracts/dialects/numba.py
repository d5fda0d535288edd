"""The subjects as functions and kernels of numba.cuda."""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

import tle_raw

ELEMENTS = "float32(float32, float32)"


@cuda.jit(device=True)
def scaled(x, s, k):
    return x * s + float32(k)


def product(factor: float) -> Any:
    @cuda.jit(device=True)
    def product(x, w):
        return x * w - float32(factor) * x

    return tle_raw.fragment(product, types=ELEMENTS)


@cuda.jit
def halved(x, y, n):
    for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        y[i] = x[i] * float32(0.5) + float32(1)


SUBJECTS = {
    "scalar": tle_raw.fragment(scaled, types="float32(float32, float32, int32)"),
    "element": product(3.0),
    "pointer": tle_raw.fragment(halved, types="void(CPointer(float32), CPointer(float32), int32)"),
}


def missing() -> Any:
    @cuda.jit(device=True)
    def wrong(x, w):
        return absent(x) + w  # noqa: F821

    return tle_raw.fragment(wrong, types=ELEMENTS)


BROKEN_LINE = "def wrong(x, w):"  # Numba tells the function, and its own message the line


def broken() -> Any:
    @cuda.jit(device=True)
    def wrong(x, w):
        return x + undeclared * w  # noqa: F821

    return tle_raw.fragment(wrong, types=ELEMENTS)
