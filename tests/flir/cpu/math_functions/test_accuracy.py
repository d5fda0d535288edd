"""Errors in units of the last place, over all exponents; what happens at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy
import pytest

from tests.flir.cpu.elementwise_jit import compile_elementwise, operation
from tle_raw.flir.cpu.math_functions.expand import DOUBLE, SINGLE

pytestmark = pytest.mark.one_triton
INF, NAN = math.inf, math.nan
Reference = Callable[..., Any]


def _each(function: Callable[[float], float]) -> Reference:
    return lambda x: numpy.array([function(v) for v in x.tolist()])


# What f64 makes of them, and the error that is allowed in f32.
REFERENCES: dict[str, tuple[Reference, float]] = {
    "acos": (numpy.arccos, 0.51),
    "acosh": (numpy.arccosh, 0.51),
    "asin": (numpy.arcsin, 0.51),
    "asinh": (numpy.arcsinh, 0.51),
    "atan": (numpy.arctan, 0.51),
    "atanh": (numpy.arctanh, 0.51),
    "cbrt": (numpy.cbrt, 0.51),
    "cos": (numpy.cos, 1.65),
    "cosh": (numpy.cosh, 0.51),
    "erf": (_each(math.erf), 1.7),
    "erfc": (_each(math.erfc), 0.52),
    "exp": (numpy.exp, 1.1),
    "exp2": (numpy.exp2, 1.1),
    "expm1": (numpy.expm1, 0.51),
    "log": (numpy.log, 0.9),
    "log10": (numpy.log10, 0.9),
    "log1p": (numpy.log1p, 0.51),
    "log2": (numpy.log2, 0.9),
    "rsqrt": (lambda x: 1 / numpy.sqrt(x), 1.51),
    "sin": (numpy.sin, 1.65),
    "sinh": (numpy.sinh, 0.51),
    "tan": (numpy.tan, 0.51),
    "tanh": (numpy.tanh, 1.6),
}
BINARY: dict[str, tuple[Reference, float]] = {"atan2": (numpy.arctan2, 0.51), "powf": (numpy.power, 0.51)}
EDGES = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, 2.0**-149, -(2.0**-149), 2.0**-126, 2.0**-127, 3.4e38, -3.4e38]
EDGES += [88.72, 88.73, -87.4, -103.9, -104.0, 128.0, 127.99, -149.0, -150.0, 2.0**16, 65535.99, 2.0**20, 0.625, 10.1]


def samples(count: int = 1 << 17, seed: int = 0) -> Any:
    """All bit patterns alike, and numbers of the sizes that functions are used with."""
    random = numpy.random.default_rng(seed)
    patterns = random.integers(0, 1 << 32, count, dtype="u8").astype("u4").view("f4")
    usual = [random.normal(0, size, count // 4).astype("f4") for size in (1e-3, 0.5, 5.0, 50.0)]
    around_one = (1 + random.normal(0, 0.01, count // 4)).astype("f4")
    numbers = numpy.concatenate([patterns, *usual, around_one, numpy.array(EDGES, "f4")])
    return numpy.concatenate([numbers, numpy.ones(-len(numbers) % 48, "f4")])


def single(reference: Reference, *arrays: Any) -> Any:
    with numpy.errstate(all="ignore"):
        return reference(*[a.astype("f8") for a in arrays])


def errors(got: Any, exact: Any) -> Any:
    """In units of the last place of f32; infinite where an infinity, a NaN or the sign of a zero is wrong."""
    with numpy.errstate(all="ignore"):
        nearest = exact.astype("f4")
        exponent = numpy.frexp(exact)[1]
        step = numpy.ldexp(1.0, numpy.maximum(exponent - 24, -149))
        distance = numpy.abs(got.astype("f8") - exact) / step
    same = (got == nearest) | (numpy.isnan(got) & numpy.isnan(nearest))
    distance = numpy.where(numpy.isfinite(distance), distance, numpy.where(same, 0.0, INF))
    wrong_zero = (exact == 0) & (numpy.signbit(got) != numpy.signbit(exact))
    return numpy.where(wrong_zero, INF, distance)


def assert_close(got: Any, exact: Any, limit: float, *operands: Any) -> None:
    distance = errors(got, exact)
    at = int(distance.argmax())
    place = ", ".join(repr(o[at]) for o in operands)
    assert distance[at] <= limit, f"{distance[at]:.3f} at ({place}): {got[at]!r} instead of {exact[at]!r}"


def test_each_function_is_tried() -> None:
    assert {f"math.{name}" for name in [*REFERENCES, *BINARY]} == set(SINGLE)


@pytest.mark.parametrize("name", REFERENCES)
def test_the_error_in_single_precision(name: str) -> None:
    reference, limit = REFERENCES[name]
    x = samples()
    got = compile_elementwise(operation(f"math.{name}"), ["f4"], "f4", 16)(x)
    assert_close(got, single(reference, x), limit, x)


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "erf", "erfc"])
def test_the_error_without_fused_multiply_add(name: str) -> None:
    reference, limit = REFERENCES[name]
    x = samples(1 << 15)
    compiled = compile_elementwise(operation(f"math.{name}"), ["f4"], "f4", 16, fma=False)
    assert "vfma" not in compiled.assembly
    assert "vfnma" not in compiled.assembly
    assert_close(compiled(x), single(reference, x), limit, x)


@pytest.mark.parametrize("lanes", [0, 1, 3, 8, 48])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh"])
def test_any_number_of_lanes(name: str, lanes: int) -> None:
    reference, limit = REFERENCES[name]
    x = samples(1 << 13)
    got = compile_elementwise(operation(f"math.{name}"), ["f4"], "f4", lanes)(x)
    assert_close(got, single(reference, x), limit, x)


@pytest.mark.parametrize("name", BINARY)
def test_the_error_of_functions_of_two(name: str) -> None:
    reference, limit = BINARY[name]
    random = numpy.random.default_rng(1)
    count = 1 << 15
    bases = [samples(count), random.uniform(0.5, 2, count), -random.uniform(0, 20, count)]
    exponents = [random.permutation(bases[0]), random.uniform(-120, 120, count), random.integers(-30, 30, count)]
    edges = [*EDGES, 2.0, -2.0, 3.0, -3.0, 2.0**24, 2.0**23 + 1, -(2.0**23) - 1, 1 + 2.0**-23]
    x, y = (g.ravel() for g in numpy.meshgrid(edges, edges))
    with numpy.errstate(invalid="ignore"):  # signalling NaN among the bit patterns
        x, y = (numpy.concatenate(v).astype("f4") for v in ([*bases, x], [*exponents, y]))
    x, y = (numpy.concatenate([v, numpy.ones(-len(v) % 16, "f4")]) for v in (x, y))
    got = compile_elementwise(operation(f"math.{name}"), ["f4", "f4"], "f4", 16)(x, y)
    assert_close(got, single(reference, x, y), limit, x, y)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_any_size(name: str) -> None:
    """Also one lane of many: the others must not notice."""
    random = numpy.random.default_rng(2)
    x = numpy.ldexp(random.uniform(0.5, 1, 4800), random.integers(-3, 129, 4800)).astype("f4")
    x[::3] *= -1
    # the f32 that come nearest to a multiple of pi/2
    x[:4] = [16367173 * 2.0**72, -16367173 * 2.0**72, 1.5707964, 13176795.0]
    compiled = compile_elementwise(operation(f"math.{name}"), ["f4"], "f4", 16)
    reference, limit = REFERENCES[name]
    assert_close(compiled(x), single(reference, x), limit, x)


@pytest.mark.parametrize("name", REFERENCES)
def test_every_half(name: str) -> None:
    """Computed in f32 and rounded: right, but for ties that f32's error decides."""
    reference, _ = REFERENCES[name]
    x = numpy.arange(1 << 16, dtype="u2").view("f2")
    got = compile_elementwise(operation(f"math.{name}"), ["f2"], "f2", 16)(x)
    exact = single(reference, x)
    with numpy.errstate(all="ignore"):
        nearest = exact.astype("f2")
        step = numpy.ldexp(1.0, numpy.maximum(numpy.frexp(exact)[1] - 11, -24))
        distance = numpy.abs(got.astype("f8") - exact) / step
    same = (got == nearest) | (numpy.isnan(got) & numpy.isnan(nearest))
    assert numpy.all(same | (distance <= 0.501)), x[~same & (distance > 0.501)]


# f64


LONG: dict[str, Reference] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
}


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("name", [name.removeprefix("math.") for name in DOUBLE])
def test_the_error_in_double_precision(name: str, fma: bool) -> None:
    random = numpy.random.default_rng(3)
    if name.startswith("exp"):
        numbers = [random.uniform(-745, 709, 300), random.normal(0, 1, 300), random.normal(0, 1e-9, 60)]
    else:
        wide = numpy.ldexp(random.uniform(0.5, 1, 300), random.integers(-1074, 1024, 300))
        numbers = [wide, 1 + random.normal(0, 0.1, 300), 1 + random.normal(0, 1e-9, 60)]
        if name == "log1p":
            numbers = [wide, random.uniform(-0.99, 3, 300), random.normal(0, 1e-9, 60)]
    x = numpy.concatenate(numbers)
    x = x[: len(x) // 8 * 8]
    got = compile_elementwise(operation(f"math.{name}"), ["f8"], "f8", 8, fma=fma)(x)
    with mpmath.workdps(50):
        distances = []
        for argument, value in zip(x, got):
            exact = LONG[name](mpmath.mpf(float(argument)))
            exponent = max(mpmath.frexp(exact)[1] - 53, -1074) if exact else -1074
            distances.append(float(abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(2) ** int(exponent)))
    at = int(numpy.argmax(distances))
    assert distances[at] <= 1.6, (distances[at], x[at], got[at])


@pytest.mark.parametrize(
    ("name", "arguments", "results"),
    [
        ("exp", [0.0, -0.0, INF, -INF, NAN, 709.9, -746.0, -745.2], [1, 1, INF, 0, NAN, INF, 0, 0]),
        ("exp2", [0.0, -0.0, INF, -INF, NAN, 1024.0, -1074.0, -1075.5], [1, 1, INF, 0, NAN, INF, 5e-324, 0]),
        ("expm1", [0.0, -0.0, INF, -INF, NAN, 709.9, -746.0, 5e-324], [0.0, -0.0, INF, -1, NAN, INF, -1, 5e-324]),
        ("log", [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, -5e-324], [-INF, -INF, INF, NAN, NAN, 0, NAN, NAN]),
        ("log2", [0.0, 8.0, INF, 5e-324, NAN, 1.0, -1.0, 0.5], [-INF, 3, INF, -1074, NAN, 0, NAN, -1]),
        ("log10", [0.0, 100.0, INF, 1e10, NAN, 1.0, -1.0, 10.0], [-INF, 2, INF, 10, NAN, 0, NAN, 1]),
        ("log1p", [0.0, -0.0, INF, -1.0, NAN, -2.0, 5e-324, -INF], [0.0, -0.0, INF, -INF, NAN, NAN, 5e-324, NAN]),
    ],
)
def test_the_edges_of_double_precision(name: str, arguments: list[float], results: list[float]) -> None:
    got = compile_elementwise(operation(f"math.{name}"), ["f8"], "f8", 8)(numpy.array(arguments))
    expected = numpy.array(results, "f8")
    assert numpy.array_equal(got, expected, equal_nan=True), got
    assert numpy.array_equal(numpy.signbit(got[expected == 0]), numpy.signbit(expected[expected == 0]))


@pytest.mark.parametrize("name", ["sin", "atan", "tanh", "erf", "cbrt", "acosh", "erfc"])
def test_other_functions_of_double_precision_are_libm_s(name: str) -> None:
    reference = REFERENCES[name][0]
    x = numpy.linspace(1, 3, 48)
    got = compile_elementwise(operation(f"math.{name}"), ["f8"], "f8", 4)(x)
    assert numpy.allclose(got, reference(x), rtol=2e-15, atol=0)
