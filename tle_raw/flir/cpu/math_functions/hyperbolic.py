"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math

from tle_raw.flir.cpu.math_functions import coefficients
from tle_raw.flir.cpu.math_functions.exponential import expm1_in_f64, reduced
from tle_raw.flir.cpu.math_functions.lanes import Lanes, fma, polynomial, power_of_two, select, smaller
from tle_raw.flir.cpu.math_functions.logarithm import log1p_in_f64


def tanh(x: Lanes) -> Lanes:
    """A polynomial up to 0.625; 1 - 2 / (e**2x + 1) beyond, where the difference loses nothing."""
    size = abs(x)
    z = x * x
    near = fma(x * z, polynomial(z, coefficients.TANH_F32), x)
    k, r = reduced(smaller(size, 10.0) * 2.0)
    power = (1.0 + fma(r * r, polynomial(r, coefficients.EXP_F32), r)) * power_of_two(k)
    far = 1.0 - 2.0 / (power + 1.0)
    return select(size < 0.625, near, far).with_sign_of(x)


def sinh(x: Lanes) -> Lanes:
    """(t + t / (t+1)) / 2 with t = e**|x| - 1, in f64, where e**|x| overflows for no x with a finite sinh."""
    t = expm1_in_f64(abs(x.f64))
    result = (t + t / (t + 1.0)) * 0.5
    # t is infinite nowhere: beyond its bound expm1_in_f64 stands still, far above the largest f32
    return select(abs(x) < 2.0**-20, x, result.f32.with_sign_of(x))


def cosh(x: Lanes) -> Lanes:
    power = expm1_in_f64(abs(x.f64)) + 1.0
    return ((power + 1.0 / power) * 0.5).f32


def asinh(x: Lanes) -> Lanes:
    """log1p(|x| + x*x / (1 + sqrt(1 + x*x))), in f64."""
    size = abs(x.f64)
    square = size * size
    result = log1p_in_f64(size + square / (1.0 + (1.0 + square).sqrt()))
    result = select(size < math.inf, result, size)
    return select(abs(x) < 2.0**-20, x, result.f32.with_sign_of(x))


def acosh(x: Lanes) -> Lanes:
    """log1p(t + sqrt(2t + t*t)) with t = x - 1, in f64: exact near 1."""
    t = x.f64 - 1.0
    t = select(t < 0.0, math.nan, t)
    return log1p_in_f64(t + fma(t, t, t * 2.0).sqrt()).f32


def atanh(x: Lanes) -> Lanes:
    """log1p(2x / (1 - x)) / 2, in f64."""
    size = abs(x.f64)
    result = log1p_in_f64(2.0 * size / (1.0 - size)) * 0.5
    return select(abs(x) < 2.0**-20, x, result.f32.with_sign_of(x))
