"""The subjects in Python that is read as MLIR."""

from __future__ import annotations

from typing import Any

import tle_raw
from tle_raw import Element, InOut, Out, Pointer, Scalar, Tile, mlir


@tle_raw.dialect("mlir")
def running(x: Tile["f32", "N"], y: Out[Tile["f32", "N"]]):
    if mlir.thread_id() == 0:
        total = 0.0
        for i in range(N):
            total += x[i]
            y[i] = total


@tle_raw.dialect("mlir")
def scaled(t: InOut[Tile["f32", "N"]], s: Scalar["f32"], k: Scalar["i32"]):
    for i in range(mlir.thread_id(), N, mlir.block_dim()):
        t[i] = t[i] * s + k


def product(factor: float) -> Any:
    @tle_raw.dialect("mlir")
    def product(x: Element["f32"], w: Element["f32"]) -> Element["f32"]:
        return x * w - factor * x

    return product


@tle_raw.dialect("mlir")
def halved(x: Pointer["f32"], y: InOut[Pointer["f32"]], n: Scalar["i32"]):
    for i in range(mlir.thread_id(), n, mlir.block_dim()):
        y[i] = x[i] * 0.5 + 1.0


@tle_raw.dialect("mlir")
def both(x: Tile["f32", "N"], y: Out[Tile["f32", "N"]], signs: Out[Tile["i32", "N"]]):
    for i in range(mlir.thread_id(), N, mlir.block_dim()):
        y[i] = 2.0 * x[i]
        signs[i] = 1 if x[i] > 0.0 else -1


SUBJECTS = {"tile": running, "scalar": scaled, "element": product(3.0), "pointer": halved, "results": both}


def missing() -> Any:
    @tle_raw.dialect("mlir")
    def wrong(x: Element["f32"], w: Element["f32"]) -> Element["f32"]:
        return absent(x) + w  # noqa: F821

    return wrong


def broken() -> Any:
    @tle_raw.dialect("mlir")
    def wrong(x: Element["f32"], w: Element["f32"]) -> Element["f32"]:
        return x + undeclared * w  # noqa: F821

    return wrong
