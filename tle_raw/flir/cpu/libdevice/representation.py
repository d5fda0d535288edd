"""Functions of a float's bits: what kind of number it is, its exponent, its neighbours, its halves."""

from __future__ import annotations

import math

from tle_raw.flir.cpu.libdevice.operations import as_flag, is_finite, nan_where, operation
from tle_raw.flir.cpu.math_functions.lanes import FORMATS, Lanes, power_of_two, select

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1


def is_nan(x: Lanes) -> Lanes:
    return as_flag(x.is_nan())


def is_infinite(x: Lanes) -> Lanes:
    return as_flag(abs(x).equals(math.inf))


def finite(x: Lanes) -> Lanes:
    return as_flag(is_finite(x))


def sign_bit(x: Lanes) -> Lanes:
    return as_flag(x.bits < 0)


def saturate(x: Lanes) -> Lanes:
    """Between 0 and 1; NaN becomes 0."""
    return select(x > 0.0, select(x < 1.0, x, 1.0), 0.0)


def exponent_of(x: Lanes) -> Lanes:
    """The exponent of a finite number that is not 0, an integer as wide as x."""
    mantissa, bias = FORMATS[x.width]
    is_small = (x.bits & _exponent_mask(x)).equals(0)
    scaled = select(is_small, x * 2.0 ** (mantissa + 1), x)
    exponent = (scaled.bits & _exponent_mask(x)).logical_shift_right(mantissa) - bias
    return select(is_small, exponent - (mantissa + 1), exponent)


def _exponent_mask(x: Lanes) -> int:
    mantissa, _ = FORMATS[x.width]
    return (1 << (x.width - 1)) - (1 << mantissa)


def ilogb(x: Lanes) -> Lanes:
    result = select(x.equals(0.0) | x.is_nan(), INT_MIN, exponent_of(x).i32)
    return select(abs(x).equals(math.inf), INT_MAX, result)


def logb(x: Lanes) -> Lanes:
    exponent = exponent_of(x).to(x.element)
    return select(x.equals(0.0), -math.inf, select(is_finite(x), exponent, x * x))


def next_up(x: Lanes) -> Lanes:
    """The next larger number."""
    bits = x.bits
    return select(bits < 0, select(x.equals(0.0), 1, bits - 1), bits + 1).as_float


def next_down(x: Lanes) -> Lanes:
    return -next_up(-x)


def next_after(x: Lanes, y: Lanes) -> Lanes:
    """The neighbour of x on the way to y."""
    result = select(x < y, next_up(x), next_down(x))
    return nan_where(x.is_nan() | y.is_nan(), select(x.equals(y), y, result))


def scale_by_power(x: Lanes, n: Lanes) -> Lanes:
    """x * 2**n, rounded once."""
    if x.width == 32:
        n = select(n > 300, 300, select(n < -300, -300, n)).i64
        return (x.f64 * power_of_two(n)).f32
    n = n.i64
    # What a step makes subnormal, the next makes 0: so nothing is rounded twice. 2**-969 is 2**-1022 * 2**53.
    for _ in range(2):
        is_large, is_small = n > 1023, n < -1022
        x = select(is_large, x * 2.0**1023, select(is_small, x * 2.0**-969, x))
        n = select(is_large, n - 1023, select(is_small, n + 969, n))
    n = select(n > 1023, 1023, select(n < -1022, -1022, n))
    return x * power_of_two(n)


def positive_difference(x: Lanes, y: Lanes) -> Lanes:
    return select(x <= y, 0.0, x - y)


def from_halves(high: Lanes, low: Lanes) -> Lanes:
    i64 = high.i64.element
    return ((high.to_unsigned(i64) << 32) | low.to_unsigned(i64)).as_float


def low_half(x: Lanes) -> Lanes:
    return x.bits.i32


def high_half(x: Lanes) -> Lanes:
    return (x.bits >> 32).i32


def reciprocal_high(x: Lanes) -> Lanes:
    """The upper half of 1/x, zeros below; subnormal operands and results count as 0."""
    x = _flushed(x)
    return _flushed(((1.0 / x).bits & (-1 << 32)).as_float)


def _flushed(x: Lanes) -> Lanes:
    return select(abs(x) < 2.0**-1022, x.constant(0.0).with_sign_of(x), x)


def as_bits(x: Lanes) -> Lanes:
    return x.bits


def as_number(x: Lanes) -> Lanes:
    return x.as_float


def round_half_away(x: Lanes) -> Lanes:
    return operation("math.round")(x)
