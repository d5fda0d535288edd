"""Functions that are approximated, against mpmath: errors in units of the last place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy
import pytest
from mpmath import mpf

from tests.flir.cpu.libdevice.running import assert_same, run
from tle_raw.flir.cpu.libdevice.functions import FUNCTIONS

pytestmark = pytest.mark.one_triton
COUNT = 160
Reference = Callable[..., Any]


@dataclass(frozen=True)
class Range:
    """Where arguments come from: uniform, or by size from the smallest exponent of two to the largest."""

    low: float
    high: float
    exponents: tuple[int, int] | None = None

    def sample(self, random: numpy.random.Generator, kind: str) -> Any:
        uniform = random.uniform(self.low, self.high, COUNT)
        if self.exponents is not None:
            wide = numpy.ldexp(random.uniform(0.5, 1, COUNT), random.integers(*self.exponents, COUNT))
            wide = numpy.where(self.low < 0, random.choice([-1, 1], COUNT) * wide, wide)
            uniform = numpy.concatenate([uniform, wide[(wide >= self.low) & (wide <= self.high)]])
        return uniform.astype("f4" if kind == "f32" else "f8")


@dataclass(frozen=True)
class Case:
    """A function of mpmath, where it is tried, and the errors that are allowed in f32 and f64."""

    reference: Reference
    ranges: tuple[Range, ...]
    single: float = 2.0
    double: float = 2.0


def _lgamma(x: mpf) -> mpf:
    return mpmath.log(abs(mpmath.gamma(x)))


def _erfcx(x: mpf) -> mpf:
    return mpmath.exp(x * x) * mpmath.erfc(x) if x < 1e4 else 1 / (x * mpmath.sqrt(mpmath.pi)) * (1 - 1 / (2 * x * x))


def _length(*components: mpf) -> mpf:
    return mpmath.sqrt(sum(c * c for c in components))


SMALL = Range(-10.0, 10.0, (-30, 3))
ANGLE = Range(-1e4, 1e4, (-30, 100))
POSITIVE = Range(1e-30, 100.0, (-99, 7))
UNIT = Range(-1.0, 1.0, (-30, 0))
HALF = Range(1e-30, 0.999, (-99, 0))
LENGTHS = (Range(-100.0, 100.0),) * 4
POWERS = (Range(0.0, 20.0, (-3, 4)), Range(-20.0, 20.0))
CASES: dict[str, Case] = {
    "acos": Case(mpmath.acos, (UNIT,)),
    "acosh": Case(mpmath.acosh, (Range(1.0, 1e6, (0, 20)),)),
    "asin": Case(mpmath.asin, (UNIT,)),
    "asinh": Case(mpmath.asinh, (SMALL,)),
    "atan": Case(mpmath.atan, (SMALL,)),
    "atan2": Case(mpmath.atan2, (SMALL, SMALL)),
    "atanh": Case(mpmath.atanh, (UNIT,), 2, 3),
    "cbrt": Case(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), (SMALL,), 2, 4),
    "cos": Case(mpmath.cos, (ANGLE,)),
    "cosh": Case(mpmath.cosh, (SMALL,)),
    "cospi": Case(mpmath.cospi, (Range(-100, 100, (-20, 10)),)),
    "cyl_bessel_i0": Case(lambda x: mpmath.besseli(0, x), (Range(-85, 85, (-20, 6)),), 2, 6),
    "cyl_bessel_i1": Case(lambda x: mpmath.besseli(1, x), (Range(-85, 85, (-20, 6)),), 2, 6),
    "erf": Case(mpmath.erf, (SMALL,)),
    "erfc": Case(mpmath.erfc, (Range(-5, 9, (-20, 3)),), 2, 4),
    "erfcx": Case(_erfcx, (Range(-5, 100, (-20, 20)),), 2, 5),
    "exp": Case(mpmath.exp, (Range(-80, 80),)),
    "exp10": Case(lambda x: mpmath.power(10, x), (Range(-37, 38),)),
    "exp2": Case(lambda x: mpmath.power(2, x), (Range(-120, 120),)),
    "expm1": Case(mpmath.expm1, (SMALL,)),
    "hypot": Case(_length, LENGTHS[:2]),
    "j0": Case(lambda x: mpmath.besselj(0, x), (Range(0.0, 2.0),), 2, 4),
    "j1": Case(lambda x: mpmath.besselj(1, x), (Range(0.0, 3.0),), 2, 4),
    "lgamma": Case(_lgamma, (Range(3.0, 1e3),), 2, 4),
    "log": Case(mpmath.log, (POSITIVE,)),
    "log10": Case(mpmath.log10, (POSITIVE,)),
    "log1p": Case(mpmath.log1p, (Range(-0.9, 10, (-30, 3)),)),
    "log2": Case(lambda x: mpmath.log(x, 2), (POSITIVE,)),
    "norm3d": Case(_length, LENGTHS[:3], 2, 3),
    "norm4d": Case(_length, LENGTHS, 2, 3),
    "normcdf": Case(mpmath.ncdf, (Range(-13, 6, (-20, 3)),), 2, 6),
    "pow": Case(mpmath.power, POWERS),
    "rcbrt": Case(lambda x: 1 / mpmath.cbrt(x), (POSITIVE,), 2, 5),
    "rhypot": Case(lambda *v: 1 / _length(*v), LENGTHS[:2], 2, 3),
    "rnorm3d": Case(lambda *v: 1 / _length(*v), LENGTHS[:3], 2, 4),
    "rnorm4d": Case(lambda *v: 1 / _length(*v), LENGTHS, 2, 4),
    "rsqrt": Case(lambda x: 1 / mpmath.sqrt(x), (POSITIVE,)),
    "sin": Case(mpmath.sin, (ANGLE,)),
    "sinh": Case(mpmath.sinh, (SMALL,), 2, 3),
    "sinpi": Case(mpmath.sinpi, (Range(-100, 100, (-20, 10)),)),
    "sqrt": Case(mpmath.sqrt, (POSITIVE,), 0.51, 0.51),
    "tan": Case(mpmath.tan, (ANGLE,)),
    "tanh": Case(mpmath.tanh, (SMALL,), 2, 3),
    "tgamma": Case(mpmath.gamma, (Range(0.1, 30.0),), 2, 8),
    "y0": Case(lambda x: mpmath.bessely(0, x), (Range(1.2, 3.0),), 2, 4),
    "y1": Case(lambda x: mpmath.bessely(1, x), (Range(0.1, 2.0),), 2, 4),
    "fast_cosf": Case(mpmath.cos, (ANGLE,)),
    "fast_exp10f": Case(lambda x: mpmath.power(10, x), (Range(-37, 38),)),
    "fast_expf": Case(mpmath.exp, (Range(-80, 80),)),
    "fast_fdividef": Case(lambda x, y: x / y, (SMALL, POSITIVE)),
    "fast_log10f": Case(mpmath.log10, (POSITIVE,)),
    "fast_log2f": Case(lambda x: mpmath.log(x, 2), (POSITIVE,)),
    "fast_logf": Case(mpmath.log, (POSITIVE,)),
    "fast_powf": Case(mpmath.power, POWERS),
    "fast_sinf": Case(mpmath.sin, (ANGLE,)),
    "fast_tanf": Case(mpmath.tan, (ANGLE,)),
}
SYMBOLS = [f"__nv_{name}{f}" for name in CASES for f in ("", "f") if f"__nv_{name}{f}" in FUNCTIONS]


def error(got: Any, exact: mpf) -> float:
    """In units of the last place of the exact result."""
    if not math.isfinite(got):
        return math.inf
    limits = numpy.finfo(got.dtype)
    exponent = max(mpmath.frexp(exact)[1] - 1 if exact else -(10**6), int(limits.minexp))
    return float(abs(mpf(float(got)) - exact) / mpf(2) ** (int(exponent) - int(limits.nmant)))


def worst(got: Any, exact: Any, *operands: Any) -> tuple[float, str]:
    errors = [error(g, e) for g, e in zip(got, exact)]
    at = int(numpy.argmax(errors))
    place = ", ".join(repr(o[at]) for o in operands)
    return errors[at], f"{errors[at]:.2f} at ({place}): {got[at]!r} instead of {mpmath.nstr(exact[at], 20)}"


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_the_error_is_small(symbol: str) -> None:
    name = symbol.removeprefix("__nv_")
    case = CASES.get(name) or CASES[name.removesuffix("f")]
    kinds = FUNCTIONS[symbol].operands
    random = numpy.random.default_rng(2)
    operands = [r.sample(random, kind) for r, kind in zip(case.ranges, kinds)]
    count = min(map(len, operands))
    operands = [o[:count] for o in operands]
    with mpmath.workdps(60):
        exact = [case.reference(*[mpf(float(o[i])) for o in operands]) for i in range(count)]
        size, text = worst(run(symbol, *operands), exact, *operands)
    assert size <= (case.single if kinds[0] == "f32" else case.double), text


# For the inverses the function itself is the reference: a step in y is measured by the slope.
INVERSES: dict[str, tuple[Reference, Reference, Range]] = {
    "erfinv": (mpmath.erf, lambda y: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-y * y), UNIT),
    "erfcinv": (mpmath.erfc, lambda y: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-y * y), Range(1e-38, 2.0, (-120, 1))),
    "normcdfinv": (mpmath.ncdf, mpmath.npdf, HALF),
}


@pytest.mark.parametrize("symbol", [f"__nv_{name}{f}" for name in INVERSES for f in ("", "f")])
def test_the_inverse_leads_back(symbol: str) -> None:
    function, slope, place = INVERSES[symbol.removeprefix("__nv_").removesuffix("f")]
    kind = FUNCTIONS[symbol].operands[0]
    x = place.sample(numpy.random.default_rng(4), kind)
    x = x[(x > -1) & (x < 1) & (x != 0)] if "erfinv" in symbol else x[(x > 0) & (x < 2)]
    got = run(symbol, x)
    with mpmath.workdps(60):
        exact = []
        for argument, y in zip(x, map(mpf, map(float, got))):
            exact.append(y - (function(y) - mpf(float(argument))) / slope(y))
        size, text = worst(got, exact, x)
    assert size <= (2 if kind == "f32" else 6), text


@pytest.mark.parametrize(("symbol", "function"), [("jn", mpmath.besselj), ("yn", mpmath.bessely)])
@pytest.mark.parametrize("suffix", ["", "f"])
def test_bessel_functions_of_an_order(symbol: str, function: Reference, suffix: str) -> None:
    random = numpy.random.default_rng(5)
    n, x = random.integers(0, 5, 100).astype("i4"), random.uniform(6, 9, 100).astype("f4" if suffix else "f8")
    got = run(f"__nv_{symbol}{suffix}", n, x)
    exact = numpy.array([float(function(int(i), mpf(float(v)))) for i, v in zip(n, x)])
    assert numpy.allclose(got, exact, rtol=0, atol=1e-7 if suffix else 1e-15)
    assert numpy.isnan(run(f"__nv_{symbol}{suffix}", -1 - n, x)).all()


@pytest.mark.parametrize("symbol", ["__nv_powif", "__nv_powi"])
def test_powers_with_whole_exponents(symbol: str) -> None:
    random = numpy.random.default_rng(6)
    x = random.uniform(-4, 4, 300).astype("f4" if symbol.endswith("f") else "f8")
    n = random.integers(-30, 30, 300).astype("i4")
    exact = [mpmath.power(mpf(float(v)), int(i)) for v, i in zip(x, n)]
    size, text = worst(run(symbol, x, n), exact, x, n)
    assert size <= 1, text


INF, NAN = math.inf, math.nan
EDGES: dict[str, list[tuple[tuple[float, ...], float]]] = {
    "erfinv": [((0.0,), 0.0), ((-0.0,), -0.0), ((1.0,), INF), ((-1.0,), -INF), ((1.5,), NAN), ((NAN,), NAN)],
    "erfcinv": [((0.0,), INF), ((2.0,), -INF), ((1.0,), 0.0), ((-0.1,), NAN), ((2.1,), NAN), ((NAN,), NAN)],
    "normcdfinv": [((0.0,), -INF), ((1.0,), INF), ((1.1,), NAN), ((-0.1,), NAN)],
    "normcdf": [((INF,), 1.0), ((-INF,), 0.0), ((-50.0,), 0.0), ((0.0,), 0.5), ((NAN,), NAN)],
    "erfcx": [((INF,), 0.0), ((-INF,), INF), ((0.0,), 1.0), ((-30.0,), INF), ((NAN,), NAN)],
    "cyl_bessel_i0": [((INF,), INF), ((-INF,), INF), ((0.0,), 1.0), ((NAN,), NAN)],
    "cyl_bessel_i1": [((INF,), INF), ((-INF,), -INF), ((-0.0,), -0.0), ((NAN,), NAN)],
    "sinpi": [((3.0,), 0.0), ((-3.0,), -0.0), ((0.5,), 1.0), ((-1.5,), 1.0), ((INF,), NAN), ((-0.0,), -0.0)],
    "cospi": [((3.0,), -1.0), ((-4.0,), 1.0), ((0.5,), 0.0), ((-1.5,), 0.0), ((INF,), NAN), ((0.0,), 1.0)],
    "hypot": [((INF, NAN), INF), ((NAN, -INF), INF), ((0.0, -0.0), 0.0), ((NAN, 1.0), NAN), ((3.0, 4.0), 5.0)],
    "rhypot": [((0.0, 0.0), INF), ((INF, NAN), 0.0)],
    "norm3d": [((INF, NAN, 1.0), INF), ((2.0, 3.0, 6.0), 7.0)],
    "norm4d": [((1.0, NAN, 1.0, -INF), INF), ((1.0, 1.0, 1.0, 1.0), 2.0)],
    "rcbrt": [((0.0,), INF), ((-0.0,), -INF), ((8.0,), 0.5), ((-8.0,), -0.5), ((INF,), 0.0), ((NAN,), NAN)],
    "y0": [((0.0,), -INF), ((-1.0,), NAN)],
    "y1": [((0.0,), -INF), ((-1.0,), NAN)],
    "tgamma": [((-INF,), NAN), ((-2.0,), NAN), ((0.0,), INF), ((-0.0,), -INF), ((5.0,), 24.0)],
    "lgamma": [((-INF,), INF), ((-2.0,), INF), ((0.0,), INF), ((1.0,), 0.0)],
    "exp10": [((2.0,), 100.0), ((-INF,), 0.0), ((INF,), INF), ((NAN,), NAN), ((400.0,), INF)],
    "pow": [((0.0, -1.0), INF), ((-0.0, -3.0), -INF), ((-8.0, 1 / 3), NAN), ((NAN, 0.0), 1.0), ((1.0, NAN), 1.0)],
}


@pytest.mark.parametrize("symbol", [f"__nv_{name}{f}" for name in EDGES for f in ("", "f")])
def test_the_edges(symbol: str) -> None:
    name = symbol.removeprefix("__nv_")
    edges = EDGES.get(name) or EDGES[name.removesuffix("f")]
    operands = [numpy.array(column) for column in zip(*[arguments for arguments, _ in edges])]
    got = run(symbol, *operands)
    assert_same(symbol, got, [got.dtype.type(expected) for _, expected in edges], *operands)
