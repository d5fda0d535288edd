"""Sine and cosine of multiples of pi: the reduction of the argument is exact."""

from __future__ import annotations

import math

from tle_raw.flir.cpu.libdevice.operations import is_finite, operation
from tle_raw.flir.cpu.math_functions.coefficients import COS_SHORT, SIN_SHORT
from tle_raw.flir.cpu.math_functions.exponential import nearest_whole
from tle_raw.flir.cpu.math_functions.lanes import Lanes, fma, polynomial, select


def sinpi(x: Lanes) -> Lanes:
    quadrant, sine, cosine = _reduced(x)
    is_whole = x.truncated().equals(x) & is_finite(x)
    return select(is_whole, x.constant(0.0).with_sign_of(x), _of_quadrant(quadrant, sine, cosine))


def cospi(x: Lanes) -> Lanes:
    quadrant, sine, cosine = _reduced(x)
    result = _of_quadrant(quadrant + 1, sine, cosine)
    return select(result.equals(0.0), 0.0, result)  # never -0


def _reduced(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """j modulo 4 of x = j / 2 + r, |r| <= 1/4, and sine and cosine of r * pi."""
    rest = x - (x * 0.5).nearest() * 2.0
    whole, quadrant = nearest_whole(rest * 2.0)
    r = rest - whole * 0.5
    if x.width == 64:
        angle = r * math.pi
        return quadrant, operation("math.sin")(angle), operation("math.cos")(angle)
    angle = r.f64 * math.pi
    z = angle * angle
    sine = fma(angle * z, polynomial(z, SIN_SHORT), angle)
    cosine = fma(z * z, polynomial(z, COS_SHORT), fma(z, -0.5, 1.0))
    return quadrant, sine.f32, cosine.f32


def _of_quadrant(quadrant: Lanes, sine: Lanes, cosine: Lanes) -> Lanes:
    """sin((quadrant / 2 + r) * pi)"""
    result = select((quadrant & 1).differs(0), cosine, sine)
    return select((quadrant & 2).differs(0), -result, result)
