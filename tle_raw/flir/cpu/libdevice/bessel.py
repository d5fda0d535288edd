"""Modified Bessel functions of the first kind, in f64: the power series, and beyond 15 a polynomial of 1/x."""

from __future__ import annotations

import math

from tle_raw.flir.cpu.libdevice.operations import is_finite, operation
from tle_raw.flir.cpu.math_functions.coefficients import BESSEL_I0_F64, BESSEL_I1_F64
from tle_raw.flir.cpu.math_functions.lanes import Lanes, polynomial, select

_TERMS = 38  # the last is below the last bit of the sum at 15
_SERIES = {n: [1.0 / (math.factorial(k) * math.factorial(k + n)) for k in range(_TERMS)] for n in (0, 1)}
_TAIL = {0: BESSEL_I0_F64, 1: BESSEL_I1_F64}


def i0(x: Lanes) -> Lanes:
    size = abs(x)
    return _joined(size, _series(size, 0), 0)


def i1(x: Lanes) -> Lanes:
    size = abs(x)
    return _joined(size, _series(size, 1) * (size * 0.5), 1).with_sign_of(x)


def _series(size: Lanes, order: int) -> Lanes:
    """The sum of (x*x/4)**k / (k! (k+order)!): no term is negative."""
    half = select(size < 15.0, size * 0.5, 0.5)
    return polynomial(half * half, _SERIES[order])


def _joined(size: Lanes, series: Lanes, order: int) -> Lanes:
    safe = select(size < 15.0, 15.0, size)
    root = operation("math.exp")(safe * 0.5)  # e**x alone overflows too early
    far = root * (polynomial(1.0 / safe, _TAIL[order]) / safe.sqrt()) * root
    result = select(size < 15.0, series, far)
    return select(is_finite(size), result, size)
