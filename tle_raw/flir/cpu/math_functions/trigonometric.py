"""Sine, cosine and tangent: x = j * pi/2 + r, two polynomials of r, and the quadrant j picks one and its sign."""

from __future__ import annotations

from tle_raw.flir.cpu.math_functions import coefficients
from tle_raw.flir.cpu.math_functions.angle_reduction import reduced, reduced_in_f64
from tle_raw.flir.cpu.math_functions.lanes import Lanes, fma, polynomial, select


def sin(x: Lanes) -> Lanes:
    quadrant, r = reduced(x)
    return select(x.equals(0.0), x, _sine_of_quadrant(quadrant, r))  # -0 stays -0


def cos(x: Lanes) -> Lanes:
    quadrant, r = reduced(x)
    return _sine_of_quadrant(quadrant + 1, r)


def tan(x: Lanes) -> Lanes:
    """In f64."""
    quadrant, r = reduced_in_f64(x)
    z = r * r
    sine = fma(r * z, polynomial(z, coefficients.SIN_SHORT), r)
    cosine = fma(z * z, polynomial(z, coefficients.COS_SHORT), fma(z, -0.5, 1.0))
    is_odd = (quadrant & 1).differs(0)
    quotient = select(is_odd, -cosine, sine) / select(is_odd, sine, cosine)
    return select(x.equals(0.0), x, quotient.f32)


def _sine_of_quadrant(quadrant: Lanes, r: Lanes) -> Lanes:
    """sin(r + quadrant * pi/2)."""
    z = r * r
    sine = fma(r * z, polynomial(z, coefficients.SIN_F32), r)
    cosine = fma(z * z, polynomial(z, coefficients.COS_F32), fma(z, -0.5, 1.0))
    magnitude = select((quadrant & 1).differs(0), cosine, sine)
    sign = (quadrant & 2) << 30
    return (magnitude.bits ^ sign).as_float
