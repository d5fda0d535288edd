"""Runs functions of libdevice on arrays, and measures errors in units of the last place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from tests.flir.cpu.elementwise_jit import compile_elementwise
from tle_raw.flir.cpu import libdevice
from tle_raw.flir.cpu.libdevice.functions import FUNCTIONS

CODES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8"}
MANTISSAS = {"f4": 23, "f8": 52}


def run(symbol: str, *arrays: Any) -> Any:
    """The function over arrays that have the right types."""
    function = FUNCTIONS[symbol]

    def body(operands: list[Any], result: Any) -> Any:
        return libdevice.emit(symbol, operands, result)

    codes = [CODES[kind] for kind in function.operands]
    compiled = compile_elementwise(body, codes, CODES[function.result])
    return compiled(*[numpy.ascontiguousarray(a, dtype=code) for a, code in zip(arrays, codes)])


def same(got: Any, expected: Any) -> bool:
    """Equal, the sign of zeros included; NaN equals NaN."""
    if isinstance(got, numpy.floating):
        return bool(numpy.isnan(got) and numpy.isnan(expected)) or got.tobytes() == got.dtype.type(expected).tobytes()
    return bool(got == expected)


def assert_same(symbol: str, got: Any, expected: Sequence[Any], *operands: Any) -> None:
    wrong = [i for i in range(len(got)) if not same(got[i], expected[i])]
    shown = [f"({', '.join(repr(o[i]) for o in operands)}) gives {got[i]!r}, not {expected[i]!r}" for i in wrong[:5]]
    assert not wrong, f"{symbol}: {len(wrong)} of {len(got)} differ: {'; '.join(shown)}"
