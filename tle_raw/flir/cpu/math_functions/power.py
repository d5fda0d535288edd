"""Powers and roots."""

from __future__ import annotations

import math

from tle_raw.flir.cpu.math_functions.exponential import exp2_in_f64
from tle_raw.flir.cpu.math_functions.lanes import Lanes, fma, larger, select, smaller
from tle_raw.flir.cpu.math_functions.logarithm import LOG2_E, mantissa_and_exponent, short_log


def rsqrt(x: Lanes) -> Lanes:
    return 1.0 / x.sqrt()


def power(x: Lanes, y: Lanes) -> Lanes:
    """|x|**y = 2**(y * log2 |x|) in f64, then the sign and the cases that C's pow names."""
    size = abs(x.f64)
    wide = y.f64
    m, k = mantissa_and_exponent(size, subnormals=False)  # no f32 is a subnormal f64
    logarithm = fma(short_log(m), LOG2_E, k)
    logarithm = select(x.equals(0.0), -math.inf, select(size < math.inf, logarithm, size))
    # 0 * infinity is settled below: 1**y, x**0
    result = exp2_in_f64(smaller(larger(wide * logarithm, -200.0), 200.0)).f32
    y_size = abs(y)
    is_whole = y.truncated().equals(y)
    half = y * 0.5
    is_odd = is_whole & half.truncated().differs(half) & (y_size < math.inf)
    is_negative = x.bits < 0
    result = select(is_odd & is_negative, -result, result)
    invalid = (x < 0.0) & ~is_whole & (x > -math.inf)
    result = select(invalid, math.nan, result)
    is_one = x.equals(1.0) | y.equals(0.0) | (x.equals(-1.0) & y_size.equals(math.inf))
    return select(is_one, 1.0, result)


def cbrt(x: Lanes) -> Lanes:
    return cbrt_in_f64(x).f32


def cbrt_in_f64(x: Lanes) -> Lanes:
    """Of f32. A third of the exponent, then Halley's iteration twice."""
    wide = x.f64
    size = abs(wide)
    # The bits of a float are a piecewise linear logarithm: a third of them is within 4 % of the root.
    high_word = size.bits.logical_shift_right(32).i32
    third = (high_word.f64 * (1.0 / 3.0)).i32 + 715094163  # FreeBSD's cbrt: 2/3 of the bias, less a bit
    root = (third.to(size.bits.element) << 32).as_float
    for _ in range(2):
        cube = root * root * root
        root = root * ((cube + size * 2.0) / (cube * 2.0 + size))
    usual = x.differs(0.0) & (size < math.inf)
    return select(usual, root.with_sign_of(wide), wide)
