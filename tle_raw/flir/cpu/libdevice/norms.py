"""Lengths of vectors, their reciprocals, powers and roots that ``math`` has no operation for."""

from __future__ import annotations

import math
from functools import reduce

from tle_raw.flir.cpu.libdevice.operations import libm, operation
from tle_raw.flir.cpu.math_functions.lanes import Lanes, select
from tle_raw.flir.cpu.math_functions.power import cbrt_in_f64


def length(*components: Lanes) -> Lanes:
    """The square root of the sum of squares: of f32 in f64, where nothing overflows; infinite before NaN."""
    if components[0].width == 64:
        return reduce(libm("hypot"), components)
    return _length_in_f64(components).f32


def reciprocal_length(*components: Lanes) -> Lanes:
    if components[0].width == 64:
        return 1.0 / length(*components)
    return (1.0 / _length_in_f64(components)).f32


def _length_in_f64(components: tuple[Lanes, ...]) -> Lanes:
    squares = [c.f64 * c.f64 for c in components]
    result = reduce(lambda a, b: a + b, squares).sqrt()
    for component in components:
        result = select(abs(component).equals(math.inf), math.inf, result)
    return result


def reciprocal_cube_root(x: Lanes) -> Lanes:
    if x.width == 64:
        return 1.0 / operation("math.cbrt")(x)
    return (1.0 / cbrt_in_f64(x)).f32


def reciprocal_square_root(x: Lanes) -> Lanes:
    """Correctly rounded, of f32."""
    return (1.0 / x.f64.sqrt()).f32


def exp10(x: Lanes) -> Lanes:
    if x.width == 64:
        return operation("math.powf")(x.constant(10.0), x)
    return operation("math.exp2")(x.f64 * math.log2(10.0)).f32


def whole_power(x: Lanes, n: Lanes) -> Lanes:
    return operation("math.powf")(x.f64, n.to(x.f64.element)).to(x.element)
