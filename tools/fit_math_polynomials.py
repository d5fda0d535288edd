"""Prints ``tle_raw/flir/cpu/math_functions/coefficients.py``: polynomials that come as near as their terms allow.

Each line of the table at the end is a function, the weight that turns the polynomial's error into the error of the
result, the interval, the number of terms and the format of the coefficients. The fit is weighted least squares at
Chebyshev's points, weighted again after Lawson towards the smallest largest error, in 60 digits.
Coefficients are rounded one after another, lowest power first, and the rest is fitted again each time, so that what
rounding loses is made good by those that follow. The error in the comment is that of the rounded polynomial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy
from mpmath import mpf

mpmath.mp.dps = 60
Function = Callable[[mpf], mpf]
SAMPLES = 80
ROUNDS = 12


@dataclass(frozen=True)
class Fit:
    """One polynomial: ``max |weight * (function - polynomial)|`` is made small over the interval."""

    name: str
    meaning: str
    function: Function
    weight: Function
    low: mpf
    high: mpf
    terms: int
    single: bool

    def rounded(self, value: mpf) -> mpf:
        return mpf(float(numpy.float32(float(value)))) if self.single else mpf(float(value))


def nodes(low: mpf, high: mpf, count: int) -> list[mpf]:
    """Chebyshev's points, from the lower end to the upper; not 0, where weights vanish and formulas divide by it."""
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * mpmath.cos(mpmath.pi * (i + mpf(1) / 2) / count) for i in range(count)]
    return [x if abs(x) > half / 1000 else x + half / 100 for x in points]


def value_at(coefficients: list[mpf], x: mpf) -> mpf:
    return mpmath.polyval(coefficients[::-1], x)


def minimax(target: Function, weight: Function, points: list[mpf], first: int, terms: int) -> list[mpf]:
    """The coefficients of ``x**first ... x**(first + terms - 1)``."""
    rows = [[weight(x) * x ** (first + i) for i in range(terms)] for x in points]
    wanted = [weight(x) * target(x) for x in points]
    emphasis = [mpf(1)] * len(points)
    best: tuple[mpf, list[mpf]] = mpmath.inf, []
    for _ in range(ROUNDS):
        coefficients = _least_squares(rows, wanted, emphasis)
        errors = [abs(w - mpmath.fdot(row, coefficients)) for row, w in zip(rows, wanted)]
        largest = max(errors)
        if largest < best[0]:
            best = largest, coefficients
        emphasis = [e * error / largest + mpf(10) ** -12 for e, error in zip(emphasis, errors)]
    return best[1]


def _least_squares(rows: list[list[mpf]], wanted: list[mpf], emphasis: list[mpf]) -> list[mpf]:
    columns = list(zip(*rows))
    weighted = [[e * v for e, v in zip(emphasis, column)] for column in columns]
    normal = mpmath.matrix([[mpmath.fdot(a, b) for b in columns] for a in weighted])
    right = mpmath.matrix([mpmath.fdot(a, wanted) for a in weighted])
    return list(mpmath.lu_solve(normal, right))


def fit(polynomial: Fit) -> tuple[list[mpf], mpf]:
    fixed: list[mpf] = []
    points = nodes(polynomial.low, polynomial.high, SAMPLES)
    for first in range(polynomial.terms):

        def rest(x: mpf) -> mpf:
            return polynomial.function(x) - value_at([*fixed, mpf(0)], x)

        found = minimax(rest, polynomial.weight, points, first, polynomial.terms - first)
        fixed.append(polynomial.rounded(found[0]))
    samples = nodes(polynomial.low, polynomial.high, 5 * SAMPLES)
    error = max(abs(polynomial.weight(x) * (polynomial.function(x) - value_at(fixed, x))) for x in samples)
    return fixed, error


LN2, ONE = mpmath.log(2), mpf(1)
ROOT = mpmath.sqrt(mpf(2))
TINY = mpf(10) ** -9  # stands for 0 where a formula divides by x
HALF_LN2 = LN2 / 2 * mpf("1.001")
LOG_LOW, LOG_HIGH = ROOT / 2 - 1, ROOT - 1
QUARTER = mpmath.pi / 4 * mpf("1.001")


def over_square(function: Function) -> Function:
    """A function of z = x*x, from one of x."""
    return lambda z: function(mpmath.sqrt(z))


def log_quotient(s: mpf) -> mpf:
    """log((1+s)/(1-s)) = 2s + s**3 * R(s*s)."""
    return (mpmath.log((1 + s) / (1 - s)) - 2 * s) / s**3


def erfcx(x: mpf) -> mpf:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def from_ratio(t: mpf) -> mpf:
    """x of t = (x - 2) / (x + 2)."""
    return 2 * (1 + t) / (1 - t)


def scaled_erfcx(t: mpf) -> mpf:
    x = 3.75 * (1 + t) / (1 - t)
    # mpmath's erfc of large numbers is exact, but e**(x*x) grows out of reach: its asymptotic series serves there
    scaled = erfcx(x) if x < 30 else mpmath.hyperu(0.5, 0.5, x * x) / mpmath.sqrt(mpmath.pi)
    return (1 + 2 * x) * scaled


def bessel_tail(order: int) -> Function:
    """sqrt(x) * e**-x * I_order(x), of 1/x."""
    return lambda t: mpmath.besseli(order, 1 / t) * mpmath.exp(-1 / t) / mpmath.sqrt(t)


LOG_S = (ROOT - 1) / (ROOT + 1) * mpf("1.0001")


def table() -> list[Fit]:
    exp_tail: Function = lambda r: (mpmath.expm1(r) - r) / r**2  # noqa: E731
    exp2_tail: Function = lambda r: mpmath.expm1(r * LN2) / r  # noqa: E731
    log_tail: Function = lambda f: (mpmath.log1p(f) - f + f * f / 2) / f**3  # noqa: E731
    sin_tail = over_square(lambda x: (mpmath.sin(x) - x) / x**3)
    cos_tail: Function = lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2  # noqa: E731
    sin_weight = over_square(lambda x: x**3 / mpmath.sin(x))
    atan_tail = over_square(lambda x: (mpmath.atan(x) - x) / x**3)
    asin_tail = over_square(lambda x: (mpmath.asin(x) - x) / x**3)
    log_quotient_weight = over_square(lambda s: s**3 / (2 * mpmath.atanh(s)))
    return [
        Fit("EXP_F32", "(e**r - 1 - r) / r**2", exp_tail, lambda r: r * r, -HALF_LN2, HALF_LN2, 5, True),
        Fit("EXP2_F32", "(2**r - 1) / r", exp2_tail, lambda r: r, -ONE / 2, ONE / 2, 7, True),
        Fit("LOG_F32", "(log(1+f) - f + f*f/2) / f**3", log_tail,
            lambda f: f**3 / mpmath.log1p(f), LOG_LOW, LOG_HIGH, 9, True),
        Fit("SIN_F32", "(sin(r) - r) / r**3, of r*r", sin_tail, sin_weight, TINY, QUARTER**2, 3, True),
        Fit("COS_F32", "(cos(r) - 1 + r*r/2) / r**4, of r*r", cos_tail, lambda z: z * z, TINY, QUARTER**2, 3, True),
        Fit("TANH_F32", "(tanh(x) - x) / x**3, of x*x", over_square(lambda x: (mpmath.tanh(x) - x) / x**3),
            over_square(lambda x: x**3 / mpmath.tanh(x)), TINY, mpf("0.625") ** 2, 5, True),
        Fit("ERF_F32", "erf(x) / x - 1, of x*x", over_square(lambda x: mpmath.erf(x) / x - 1),
            over_square(lambda x: x / mpmath.erf(x)), TINY, ONE, 7, True),
        Fit("ERF_TAIL_F32", "-log2(1 - erf(x)), of x - 2", lambda t: -mpmath.log(mpmath.erfc(t + 2), 2),
            lambda t: mpmath.erfc(t + 2) / mpmath.erf(t + 2), -ONE, mpf("2.1"), 9, True),
        Fit("EXP_SHORT", "(e**r - 1 - r) / r**2", exp_tail,
            lambda r: r * r / mpmath.expm1(r), -HALF_LN2, HALF_LN2, 8, False),
        Fit("LOG_SHORT", "(log((1+s)/(1-s)) - 2*s) / s**3, of s*s", over_square(log_quotient), log_quotient_weight,
            TINY, LOG_S**2, 5, False),
        Fit("SIN_SHORT", "(sin(r) - r) / r**3, of r*r", sin_tail, sin_weight, TINY, QUARTER**2, 5, False),
        Fit("COS_SHORT", "(cos(r) - 1 + r*r/2) / r**4, of r*r", cos_tail, lambda z: z * z, TINY, QUARTER**2, 5, False),
        Fit("ATAN_SHORT", "(atan(x) - x) / x**3, of x*x", atan_tail,
            over_square(lambda x: x**3 / mpmath.atan(x)), TINY, ONE, 12, False),
        Fit("ASIN_SHORT", "(asin(x) - x) / x**3, of x*x", asin_tail,
            over_square(lambda x: x**3 / mpmath.asin(x)), TINY, ONE / 4, 9, False),
        Fit("ERFCX_SHORT", "exp(x*x) * erfc(x), of (x - 2) / (x + 2)", lambda t: erfcx(from_ratio(t)),
            lambda t: 1 / erfcx(from_ratio(t)), -ONE, (mpf("10.3") - 2) / (mpf("10.3") + 2), 14, False),
        Fit("EXP_F64", "(e**r - 1 - r) / r**2", exp_tail, lambda r: r * r, -HALF_LN2, HALF_LN2, 10, False),
        Fit("EXP2_F64", "(2**r - 1) / r", exp2_tail, lambda r: r, -ONE / 2, ONE / 2, 12, False),
        Fit("LOG_F64", "(log((1+s)/(1-s)) - 2*s) / s**3, of s*s", over_square(log_quotient), log_quotient_weight,
            TINY, LOG_S**2, 7, False),
        Fit("ERFCX_F64", "(1 + 2x) * exp(x*x) * erfc(x), of (x - 3.75) / (x + 3.75)", scaled_erfcx,
            lambda t: 1 / scaled_erfcx(t), -ONE, mpf("0.999"), 29, False),
        Fit("BESSEL_I0_F64", "sqrt(x) * exp(-x) * I0(x), of 1/x", bessel_tail(0),
            lambda t: 1 / bessel_tail(0)(t), mpf("0.0009"), ONE / 15, 15, False),
        Fit("BESSEL_I1_F64", "sqrt(x) * exp(-x) * I1(x), of 1/x", bessel_tail(1),
            lambda t: 1 / bessel_tail(1)(t), mpf("0.0009"), ONE / 15, 15, False),
    ]  # fmt: skip


def main() -> None:
    print('"""Coefficients, lowest power first: minimax fits made by ``tools/fit_math_polynomials.py``."""\n')
    print("from __future__ import annotations\n")
    for polynomial in table():
        coefficients, error = fit(polynomial)
        bits = mpmath.nstr(mpmath.log(error, 2), 3)
        print(f"# {polynomial.meaning}; error of the result 2**{bits}")
        print(f"{polynomial.name} = (")
        print("".join(f"    {float(c)!r},\n" for c in coefficients), end="")
        print(")", flush=True)


if __name__ == "__main__":
    main()
