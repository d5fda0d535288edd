"""e**x and 2**x: x = k * ln 2 + r, a polynomial of the small r, then k in the exponent."""

from __future__ import annotations

from tle_raw.flir.cpu.math_functions import coefficients
from tle_raw.flir.cpu.math_functions.lanes import FORMATS, Lanes, fma, larger, polynomial, power_of_two, select, smaller

LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with few enough bits that k times it is exact: Cody and Waite's reduction, which then
# needs no fused multiply-add. The parts are those of Cephes' expf (355/512 and the rest) and of FreeBSD's exp (33 bits
# and the rest).
_LN2_HIGH = {32: 0.693359375, 64: 0.693147180369123816490}
_LN2_LOW = {32: -2.12194440054690583e-4, 64: 1.90821492927058770002e-10}
# Beyond these the result is infinity or 0 whatever x is, and k stays within what two powers of two can say.
_EXP_BOUNDS = {32: (-104.5, 89.0), 64: (-746.0, 710.0)}
_EXP2_BOUNDS = {32: (-151.0, 129.0), 64: (-1076.0, 1025.0)}
_EXP_TAIL = {32: coefficients.EXP_F32, 64: coefficients.EXP_F64}
_EXP2_TAIL = {32: coefficients.EXP2_F32, 64: coefficients.EXP2_F64}


def exp(x: Lanes) -> Lanes:
    lowest, highest = _EXP_BOUNDS[x.width]
    k, r = reduced(smaller(larger(x, lowest), highest), _twice_the_bias(x))
    tail = _EXP_TAIL[x.width]
    if x.fused:
        return scaled(polynomial(r, (1.0, 1.0, *tail)), k)
    # The product with r would be rounded by itself, close to one.
    return scaled(1.0 + fma(r * r, polynomial(r, tail), r), k)


def exp2(x: Lanes) -> Lanes:
    lowest, highest = _EXP2_BOUNDS[x.width]
    x = smaller(larger(x, lowest), highest)
    whole, k = nearest_whole(x, _twice_the_bias(x))
    return scaled(polynomial(x - whole, (1.0, *_EXP2_TAIL[x.width])), k)


def expm1(x: Lanes) -> Lanes:
    """In f64, which has bits to spare for f32; f64 itself as 2 * (2**(k-1) * p + (2**(k-1) - 1/2))."""
    if x.width == 32:
        return select(abs(x) < 2.0**-26, x, expm1_in_f64(x.f64).f32)
    k, r = reduced(smaller(larger(x, -60.0), _EXP_BOUNDS[64][1]))
    p = fma(r * r, polynomial(r, coefficients.EXP_F64), r)
    scale = power_of_two(k - 1)  # k may be one more than a float's largest exponent
    return select(abs(x) < 2.0**-54, x, 2.0 * fma(p, scale, scale - 0.5))


def expm1_in_f64(x: Lanes) -> Lanes:
    """Of f64 that were f32: about 40 bits, infinity from 709 on (no f32 that large has a finite e**x)."""
    k, r = reduced(smaller(larger(x, -60.0), 709.0))
    p = fma(r * r, polynomial(r, coefficients.EXP_SHORT), r)
    scale = power_of_two(k)
    return fma(p, scale, scale - 1.0)


def exp_in_f64(x: Lanes) -> Lanes:
    """Of f64 between -708 and 709: about 40 bits."""
    k, r = reduced(x)
    return (1.0 + fma(r * r, polynomial(r, coefficients.EXP_SHORT), r)) * power_of_two(k)


def exp2_in_f64(x: Lanes) -> Lanes:
    """Of f64 between -1022 and 1023: about 40 bits."""
    whole, k = nearest_whole(x)
    r = (x - whole) * 0.6931471805599453
    return (1.0 + fma(r * r, polynomial(r, coefficients.EXP_SHORT), r)) * power_of_two(k)


def reduced(x: Lanes, offset: int = 0) -> tuple[Lanes, Lanes]:
    """k + offset and r of x = k * ln 2 + r, |r| <= ln(2) / 2."""
    whole, k = nearest_whole(x * LOG2_E, offset)
    r = fma(-whole, _LN2_HIGH[x.width], x)
    return k, fma(-whole, _LN2_LOW[x.width], r)


def nearest_whole(x: Lanes, offset: int = 0) -> tuple[Lanes, Lanes]:
    """The nearest whole number, as a float, and as an integer of the same width plus ``offset``.

    Adding 1.5 * 2**(bits of the mantissa) leaves no bits below one, and the whole number in the low bits; |x| must be
    far below 2**22. With an offset the integer's high bits are left as they are: only its lowest 9 (of 64: 12) count.
    """
    mantissa, _ = FORMATS[x.width]
    shifter = x.constant(1.5 * 2.0**mantissa + offset)
    shifted = x + shifter
    return shifted - shifter, shifted.bits if offset else shifted.bits - shifter.bits


def _twice_the_bias(x: Lanes) -> int:
    return 2 * FORMATS[x.width][1]


def scaled(p: Lanes, k: Lanes) -> Lanes:
    """p * 2**(k - 2 * bias) in two steps, because k may lie outside the exponents of normal numbers.

    Both halves of k are biased exponents; what stands above k's low bits is shifted out.
    """
    mantissa, _ = FORMATS[p.width]
    half = k.logical_shift_right(1)
    return p * (half << mantissa).as_float * ((k - half) << mantissa).as_float
