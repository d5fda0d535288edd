"""Inverse trigonometric functions, in f64: polynomials on the first half of the range, identities beyond."""

from __future__ import annotations

import math

from tle_raw.flir.cpu.math_functions import coefficients
from tle_raw.flir.cpu.math_functions.lanes import Lanes, fma, polynomial, select

_HALF_PI = math.pi / 2


def atan(x: Lanes) -> Lanes:
    size = abs(x.f64)
    is_large = size > 1.0
    angle = _atan_to_one(select(is_large, 1.0 / size, size))
    angle = select(is_large, _HALF_PI - angle, angle)
    return select(x.equals(0.0), x, angle.f32.with_sign_of(x))


def atan2(y: Lanes, x: Lanes) -> Lanes:
    rise, run = abs(y.f64), abs(x.f64)
    is_steep = rise > run
    quotient = select(is_steep, run, rise) / select(is_steep, rise, run)
    quotient = select(rise.equals(run), 1.0, quotient)  # infinite both
    quotient = select(rise.equals(0.0) & run.equals(0.0), 0.0, quotient)
    quotient = select(x.is_nan() | y.is_nan(), math.nan, quotient)
    angle = _atan_to_one(quotient)
    angle = select(is_steep, _HALF_PI - angle, angle)
    angle = select(x.bits < 0, math.pi - angle, angle)
    return angle.f32.with_sign_of(y)


def _atan_to_one(x: Lanes) -> Lanes:
    z = x * x
    return fma(x * z, polynomial(z, coefficients.ATAN_SHORT), x)


def asin(x: Lanes) -> Lanes:
    """Up to 1/2 a polynomial; beyond, pi/2 - 2 * asin(sqrt((1 - x) / 2))."""
    angle, is_large = _asin_or_rest(abs(x.f64))
    angle = select(is_large, _HALF_PI - 2.0 * angle, angle)
    return angle.f32.with_sign_of(x)


def acos(x: Lanes) -> Lanes:
    wide = x.f64
    angle, is_large = _asin_or_rest(abs(wide))
    far = 2.0 * angle
    far = select(x < 0.0, math.pi - far, far)
    return select(is_large, far, _HALF_PI - angle.with_sign_of(wide)).f32


def _asin_or_rest(size: Lanes) -> tuple[Lanes, Lanes]:
    """asin(size), or asin(sqrt((1 - size) / 2)) where that is the smaller argument, and where that is."""
    is_large = size > 0.5
    rest = (1.0 - size) * 0.5
    z = select(is_large, rest, size * size)
    root = select(is_large, rest.sqrt(), size)
    return fma(root * z, polynomial(z, coefficients.ASIN_SHORT), root), is_large
