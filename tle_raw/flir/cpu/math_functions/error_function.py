"""erf and erfc."""

from __future__ import annotations

from tle_raw.flir.cpu.math_functions import coefficients
from tle_raw.flir.cpu.math_functions.exponential import exp2, exp_in_f64
from tle_raw.flir.cpu.math_functions.lanes import Lanes, fma, polynomial, select, smaller


def erf(x: Lanes) -> Lanes:
    """x * p(x*x) up to 1; 1 - 2**-p(x) beyond, where an error of p counts at most a sixth."""
    size = abs(x)
    near = fma(x, polynomial(x * x, coefficients.ERF_F32), x)
    t = smaller(size, 4.0) - 2.0
    far = 1.0 - exp2(-polynomial(t, coefficients.ERF_TAIL_F32))
    return select(size < 1.0, near, far.with_sign_of(x))


def erfc(x: Lanes) -> Lanes:
    """e**(-x*x) * erfcx(|x|), in f64; 2 minus that below 0."""
    size = smaller(abs(x.f64), 10.25)  # 0 in f32 beyond
    tail = exp_in_f64(-(size * size)) * polynomial((size - 2.0) / (size + 2.0), coefficients.ERFCX_SHORT)
    return select(x < 0.0, 2.0 - tail, tail).f32
