"""Logarithms: x = m * 2**k with m between sqrt(1/2) and sqrt(2), and a polynomial of m - 1."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch_mlir import ir

from tle_raw.flir.cpu.math_functions import coefficients
from tle_raw.flir.cpu.math_functions.lanes import FORMATS, Lanes, fma, polynomial, select

_ROOT_HALF_BITS = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}
_SMALLEST_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}
# ln 2 in two parts, the first short, so that k times it is exact (as in exponential.py).
_LN2_HIGH = {32: 0.693359375, 64: 0.693147180369123816490}
_LN2_LOW = {32: -2.12194440054690583e-4, 64: 1.90821492927058770002e-10}
# 1/ln 2 and 1/ln 10 in two parts: 12 bits and the rest for f32, 21 bits and the rest for f64, so that products with
# a number of as few bits are exact. log10(2) likewise, with room for k.
LOG2_E = 1.4426950408889634
LOG10_E = 0.4342944819032518


def log(x: Lanes) -> Lanes:
    m, k = mantissa_and_exponent(x)
    f = m - 1.0
    return _at_the_edges(x, (_log_f32 if x.width == 32 else _log_f64)(f, k))


def _log_f32(f: Lanes, k: Lanes) -> Lanes:
    """The sum from its smallest part to its largest: k * ln2_low, f**3 * q, -f*f/2, f, k * ln2_high."""
    rest = fma(k, _LN2_LOW[32], _after_f(f))
    return fma(k, _LN2_HIGH[32], f + rest)


def _after_f(f: Lanes) -> Lanes:
    """log(1 + f) - f."""
    square = f * f
    return fma(square, -0.5, square * f * polynomial(f, coefficients.LOG_F32))


def _log_f64(f: Lanes, k: Lanes) -> Lanes:
    return fma(k, _LN2_HIGH[64], f - (_before_f(f) - k * _LN2_LOW[64]))


def _before_f(f: Lanes) -> Lanes:
    """f - log(1 + f), in the form that the FreeBSD libm uses: with s = f / (2 + f), h = f*f/2,
    log(1 + f) = f - (h - s * (h + s*s * R(s*s)))."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return half - s * (half + z * polynomial(z, coefficients.LOG_F64))


def log2(x: Lanes) -> Lanes:
    return _to_base(x, LOG2_E, 1.0)


def log10(x: Lanes) -> Lanes:
    return _to_base(x, LOG10_E, math.log10(2))


def _to_base(x: Lanes, scale: float, of_two: float) -> Lanes:
    """log(m) * scale + k * of_two.

    f is split into a short part, whose product with the short part of the scale is exact, and a rest: only so does
    the product keep its last bits where the result is near 0.
    """
    m, k = mantissa_and_exponent(x)
    f = m - 1.0
    rest = _after_f(f) if x.width == 32 else -_before_f(f)
    kept = {32: -1 << 12, 64: -1 << 32}[x.width]
    high = ((f + rest).bits & kept).as_float
    low = (f - high) + rest
    scale_high, scale_low = _split(scale, x.width)
    two_high, two_low = (of_two, 0.0) if of_two == 1.0 else _split(of_two, x.width)
    small = fma(low + high, scale_low, low * scale_high)
    if two_low:
        small = fma(k, two_low, small)
    whole, large = k * two_high, high * scale_high
    total = whole + large
    # |whole| >= |large| unless k is 0, and then the error of the sum is 0
    return _at_the_edges(x, total + (small + ((whole - total) + large)))


def _split(number: float, width: int) -> tuple[float, float]:
    """A number as one of few bits and the rest."""
    fraction, exponent = math.frexp(number)
    bits = {32: 11, 64: 20}[width]
    high = math.ldexp(math.floor(math.ldexp(fraction, bits)), exponent - bits)
    return high, number - high


def log1p(x: Lanes) -> Lanes:
    if x.width == 32:
        return select(abs(x) < 2.0**-26, x, log1p_in_f64(x.f64).f32)
    return select(abs(x) < 2.0**-54, x, _log1p(x, log))


def log1p_in_f64(x: Lanes) -> Lanes:
    """Of f64 that were f32 or are not much finer."""
    return _log1p(x, log_in_f64)


def _log1p(x: Lanes, log_of: Callable[[Lanes], Lanes]) -> Lanes:
    """log(1+x) plus what rounding 1 + x has lost."""
    sum_ = x + 1.0
    larger_part, other = select(x < 1.0, 1.0, x), select(x < 1.0, x, 1.0)
    is_plain = (sum_ > 0.0) & (x < math.inf)
    return log_of(sum_) + select(is_plain, (other - (sum_ - larger_part)) / sum_, 0.0)


def log_in_f64(x: Lanes) -> Lanes:
    """Of f64 that are no subnormals: about 44 bits; right at 0, infinity and below 0."""
    m, k = mantissa_and_exponent(x, subnormals=False)
    return _at_the_edges(x, fma(k, 0.6931471805599453, short_log(m)))


def short_log(m: Lanes) -> Lanes:
    """log(m) in f64, m between sqrt(1/2) and sqrt(2): about 44 bits."""
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    return fma(s * z, polynomial(z, coefficients.LOG_SHORT), s * 2.0)


def mantissa_and_exponent(x: Lanes, subnormals: bool = True) -> tuple[Lanes, Lanes]:
    """m and k (a float) of a positive finite x = m * 2**k, m between sqrt(1/2) and sqrt(2)."""
    mantissa, _ = FORMATS[x.width]
    if subnormals:
        is_small = x < _SMALLEST_NORMAL[x.width]
        x = select(is_small, x * 2.0**mantissa, x)
    bits = x.bits
    k = (bits - _ROOT_HALF_BITS[x.width]) >> mantissa
    m = (bits - (k << mantissa)).as_float
    if subnormals:
        k = select(is_small, k - mantissa, k)
    return m, _as_float(k)


def _as_float(k: Lanes) -> Lanes:
    if k.width == 32:
        return k.f32
    # 64-bit integers have no vector conversion before AVX-512; exponents fit in 32
    return k.i32.to(ir.F64Type.get())


def _at_the_edges(x: Lanes, result: Lanes) -> Lanes:
    """NaN below 0, -infinity at 0, x itself at infinity and NaN."""
    result = select(x < math.inf, result, x)
    result = select(x < 0.0, math.nan, result)
    return select(x.equals(0.0), -math.inf, result)
