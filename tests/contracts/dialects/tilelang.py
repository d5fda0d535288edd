"""The subjects as TileLang kernels; a block tensor of the caller stands in the place of a block's part of a buffer."""

from __future__ import annotations

from typing import Any

import tilelang.language as T
import triton

import tle_raw


@tle_raw.dialect("tilelang", tiles=["X", "Y"])
@T.prim_func
def running(X: T.Tensor((768,), "float32"), Y: T.Tensor((768,), "float32")):
    with T.Kernel(3, threads=128) as bx:
        sums = T.alloc_shared((256,), "float32")
        T.copy(X[bx * 256], sums)
        T.cumsum(sums, dim=0)
        T.copy(sums, Y[bx * 256])


@tle_raw.dialect("tilelang", tiles=["X", "Y"])
@T.prim_func
def scaled(X: T.Tensor((768,), "float32"), s: T.float32, k: T.int32, Y: T.Tensor((768,), "float32")):
    with T.Kernel(3, threads=128) as bx:
        for i in T.Parallel(256):
            Y[bx * 256 + i] = X[bx * 256 + i] * s + T.cast(k, "float32")


def product(factor: float) -> Any:
    """Not of elements, which TileLang does not know: of two tiles."""

    @T.prim_func
    def product(X: T.Tensor((768,), "float32"), W: T.Tensor((768,), "float32"), Y: T.Tensor((768,), "float32")):
        with T.Kernel(3, threads=128) as bx:
            for i in T.Parallel(256):
                Y[bx * 256 + i] = X[bx * 256 + i] * W[bx * 256 + i] - factor * X[bx * 256 + i]

    return tle_raw.fragment(product, tiles=["X", "W", "Y"])


def _halved() -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def halved(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
            for i in T.Parallel(256):
                Y[bx * 256 + i] = X[bx * 256 + i] * 0.5 + 1.0

    return tle_raw.fragment(halved, grid={"bx": "block"})


halved = _halved()


@triton.jit
def halved_memory(x, y, n):
    """Which of its blocks a program computes is the caller's choice: here the first, of memory that starts there."""
    halved(x, y, n, block=0)


@tle_raw.dialect("tilelang", tiles=["X", "Y", "Signs"])
@T.prim_func
def both(X: T.Tensor((768,), "float32"), Y: T.Tensor((768,), "float32"), Signs: T.Tensor((768,), "int32")):
    with T.Kernel(3, threads=128) as bx:
        for i in T.Parallel(256):
            Y[bx * 256 + i] = X[bx * 256 + i] * 2.0
            Signs[bx * 256 + i] = T.if_then_else(X[bx * 256 + i] > 0.0, 1, -1)


SUBJECTS = {
    "tile": running,
    "scalar": scaled,
    "element": product(3.0),
    "pointer": halved_memory,
    "results": both,
}


def missing() -> Any:
    @T.prim_func
    def wrong(X: T.Tensor((768,), "float32"), W: T.Tensor((768,), "float32"), Y: T.Tensor((768,), "float32")):
        with T.Kernel(3, threads=128) as bx:
            for i in T.Parallel(256):
                Y[bx * 256 + i] = T.call_extern("float32", "absent", X[bx * 256 + i] * W[bx * 256 + i])

    return tle_raw.fragment(wrong, tiles=["X", "W", "Y"])


BROKEN_LINE = "T.address_of(X["


def broken() -> Any:
    """TileLang itself takes any kernel that can be written; an address of a block tensor there is none."""

    @T.prim_func
    def wrong(X: T.Tensor((768,), "float32"), W: T.Tensor((768,), "float32"), Y: T.Tensor((768,), "float32")):
        with T.Kernel(3, threads=128) as bx:
            for i in T.Parallel(256):
                Y[bx * 256 + i] = W[bx * 256 + i] + T.call_extern("float32", "__ldcg", T.address_of(X[bx * 256 + i]))

    return tle_raw.fragment(wrong, tiles=["X", "W", "Y"])
