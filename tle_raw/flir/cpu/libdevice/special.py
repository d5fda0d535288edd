"""The family of the error function, in f64.

Everything is made of ``erfcx(x) = exp(x*x) * erfc(x)``, which is smooth and never small, so that nothing is lost in the
tails. The inverses start from Winitzki's formula (2008, two digits) and take steps of Newton's method on the logarithm
of erfc, which is nearly a parabola.
"""

from __future__ import annotations

import math

from tle_raw.flir.cpu.libdevice.operations import multiply_add, nan_where, operation
from tle_raw.flir.cpu.math_functions.coefficients import ERFCX_F64
from tle_raw.flir.cpu.math_functions.lanes import Lanes, polynomial, select

_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
_exp, _log, _erf = operation("math.exp"), operation("math.log"), operation("math.erf")


def _erfcx_of_positive(x: Lanes) -> Lanes:
    """A polynomial of (x - 3.75) / (x + 3.75), after Shepherd and Laframboise (1981)."""
    t = select(x < math.inf, (x - 3.75) / (x + 3.75), 1.0)
    return polynomial(t, ERFCX_F64) / (1.0 + 2.0 * x)


def _exp_of_square(x: Lanes, scale: float) -> Lanes:
    """exp(scale * x * x), scale a power of two; what x * x loses is made good."""
    square = multiply_add(x, x, x.constant(-0.0))
    lost = multiply_add(x, x, -square)
    result = _exp(square * scale)
    usual = (abs(x) < 1e100) & (result < math.inf)
    return select(usual, result + result * (lost * scale), result)


def erfcx(x: Lanes) -> Lanes:
    size = abs(x)
    tail = _erfcx_of_positive(size)
    return select(x < 0.0, 2.0 * _exp_of_square(size, 1.0) - tail, tail)


def normcdf(x: Lanes) -> Lanes:
    """erfc(-x / sqrt(2)) / 2"""
    size = abs(x)
    tail = 0.5 * _erfcx_of_positive(size * math.sqrt(0.5)) * _exp_of_square(size, -0.5)
    return select(x > 0.0, 1.0 - tail, tail)


def normcdfinv(p: Lanes) -> Lanes:
    return erfcinv(2.0 * p) * -math.sqrt(2.0)


def erfinv(x: Lanes) -> Lanes:
    """Beyond one half through erfcinv: 1 - |x| is exact there."""
    size = abs(x)
    tail = _tail_of_erfcinv(1.0 - size)
    return select(size < 0.5, _central_erfinv(x), tail.with_sign_of(x))


def erfcinv(q: Lanes) -> Lanes:
    """Around 1 through erfinv: 1 - q is exact there."""
    is_upper = q > 1.0
    tail = _tail_of_erfcinv(select(is_upper, 2.0 - q, q))
    return select(abs(q - 1.0) < 0.5, _central_erfinv(1.0 - q), select(is_upper, -tail, tail))


def _central_erfinv(x: Lanes) -> Lanes:
    """|x| <= 1/2"""
    safe = select(abs(x) < 0.5, x, 0.5)
    y = _winitzki(_log(1.0 - safe * safe)).with_sign_of(safe)
    for _ in range(3):
        y = y - (_erf(y) - safe) * _exp(y * y) / _TWO_OVER_ROOT_PI
    # The start is 0 where 1 - x*x is 1, and erf a multiple of x.
    return select(abs(x) < 1e-8, x / _TWO_OVER_ROOT_PI, y)


def _tail_of_erfcinv(q: Lanes) -> Lanes:
    """0 <= q <= 1/2; infinity at 0, NaN below."""
    safe = select((q > 0.0) & (q < 0.6), q, 0.5)
    logarithm = _log(safe)
    y = _winitzki(logarithm + _log(2.0 - safe))
    for _ in range(4):
        scaled = _erfcx_of_positive(y)
        excess = (_log(scaled) - logarithm) - y * y
        y = y + excess * scaled / _TWO_OVER_ROOT_PI
    y = select(q.equals(0.0), math.inf, y)
    return nan_where((q < 0.0) | q.is_nan(), y)


def _winitzki(logarithm: Lanes) -> Lanes:
    """About erfinv(x), of log(1 - x*x)."""
    a = 0.147
    middle = logarithm * 0.5 + 2.0 / (math.pi * a)
    return ((middle * middle - logarithm / a).sqrt() - middle).sqrt()
