"""What a dialect cannot write: why, and how one who tries is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tle_raw
from tests.contracts.running import compile_for_gpu, dialect
from tle_raw import Out, Tile
from tle_raw.errors import ArgumentCountError, SignatureError, TLEError, UnsupportedFeatureError


@dataclass(frozen=True)
class Unsupported:
    """``attempt`` raises an error of the class ``kind`` that holds ``words``."""

    reason: str
    attempt: Callable[[], object]
    kind: type[TLEError]
    words: str


def _numba_tile() -> None:
    from numba import cuda

    def running(x: Tile["f32", 256], y: Out[Tile["f32", 256]]): ...

    tle_raw.fragment(cuda.jit(device=True)(lambda x: x), signature=running)


def _numba_results() -> None:
    from numba import cuda

    tle_raw.fragment(cuda.jit(device=True)(lambda x: (x, x)), types="UniTuple(float32, 2)(float32)")


def _cupy_results() -> None:
    import cupy

    tle_raw.fragment(cupy.ElementwiseKernel("float32 x", "float32 y, int32 s", "y = 2 * x; s = x > 0 ? 1 : -1"))


def _cupy_tile() -> None:
    compile_for_gpu("tile", dialect("cupy").SUBJECTS["pointer"])


def _pycuda_results() -> None:
    from tle_raw import pycuda

    both = pycuda.ElementwiseKernel("float *x, float *y, int *s", "y[i] = 2 * x[i]; s[i] = x[i] > 0 ? 1 : -1")
    compile_for_gpu("results", both)


UNSUPPORTED = {
    ("numba", "tile"): Unsupported(
        "Numba's functions take numbers and arrays in global memory", _numba_tile, SignatureError, "Tile[f32, 256]"
    ),
    ("numba", "results"): Unsupported(
        "a tuple is no type of device functions' results", _numba_results, SignatureError, "`result` is of a type"
    ),
    ("cupy", "tile"): Unsupported(
        "CuPy's kernels make no tile of a tile but reductions, and take pointers otherwise",
        _cupy_tile,
        ArgumentCountError,
        "takes 3 arguments, got 1",
    ),
    ("cupy", "results"): Unsupported(
        "an elementwise fragment gives one result", _cupy_results, UnsupportedFeatureError, "2 outputs"
    ),
    ("pycuda", "results"): Unsupported(
        "an operation that writes several vectors works on memory",
        _pycuda_results,
        ArgumentCountError,
        "takes 4 arguments, got 1",
    ),
}

# Typed by each call: a block of another dtype is another function.
TYPED_BY_THE_CALL = ("cutile",)
