"""Arithmetic and conversions in the four rounding directions, against fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest

from tests.flir.cpu.elementwise_jit import compile_elementwise
from tests.flir.cpu.libdevice.running import assert_same, run
from tle_raw.flir.cpu import libdevice
from tle_raw.flir.cpu.libdevice.functions import FUNCTIONS
from tle_raw.host.cpu import host_cpu

pytestmark = pytest.mark.one_triton
DIRECTIONS = ("rn", "rz", "rd", "ru")
DTYPES = {"f": numpy.float32, "d": numpy.float64}
Compare = Callable[[Fraction], int]
"""Below 0, 0 or above 0 as the exact result is below, at or above a fraction."""


def directed(nearest: Any, compare: Compare, direction: str) -> Any:
    """The float in the direction, from one that is the nearest or its neighbour."""
    kind = type(nearest)
    largest = numpy.finfo(kind).max
    below = nearest if math.isfinite(nearest) else math.copysign(largest, nearest)
    below = kind(below)
    while compare(Fraction(float(below))) < 0:
        if below == -largest:
            below = kind(-math.inf)
            break
        below = numpy.nextafter(below, kind(-math.inf))
    # now the largest float that is not above
    while below < largest and compare(Fraction(float(numpy.nextafter(below, kind(math.inf))))) >= 0:
        below = numpy.nextafter(below, kind(math.inf))
    if math.isfinite(below) and compare(Fraction(float(below))) == 0:
        return below
    with numpy.errstate(over="ignore"):
        above = numpy.nextafter(below, kind(math.inf))
    if direction == "rd":
        return below
    if direction == "ru":
        return above
    is_positive = compare(Fraction(0)) > 0
    return below if is_positive else above


def exact(value: Fraction) -> Compare:
    return lambda candidate: (value > candidate) - (value < candidate)


def square_root_of(x: Fraction) -> Compare:
    return lambda candidate: 1 if candidate < 0 else exact(x)(candidate * candidate)


OPERATIONS: dict[str, tuple[int, Callable[..., Any], Callable[..., Compare]]] = {
    "add": (2, lambda a, b: a + b, lambda a, b: exact(a + b)),
    "sub": (2, lambda a, b: a - b, lambda a, b: exact(a - b)),
    "mul": (2, lambda a, b: a * b, lambda a, b: exact(a * b)),
    "div": (2, lambda a, b: a / b, lambda a, b: exact(a / b)),
    "rcp": (1, lambda a: type(a)(1) / a, lambda a: exact(1 / a)),
    "sqrt": (1, numpy.sqrt, square_root_of),
    "fma": (3, None, lambda a, b, c: exact(a * b + c)),  # type: ignore[dict-item]
}


def hard_numbers(kind: Any, random: numpy.random.Generator, count: int) -> Any:
    """Few bits and many, exponents near and far apart, subnormals, the ends of the range, infinities, NaN."""
    limits = numpy.finfo(kind)
    with numpy.errstate(all="ignore"):
        near = random.integers(-9, 10, count) * numpy.ldexp(1.0, random.integers(-3, 4, count))
        wide = random.normal(0, 1, count) * numpy.ldexp(1.0, random.integers(limits.minexp, limits.maxexp, count))
        tiny = random.normal(0, 1, count) * numpy.ldexp(1.0, random.integers(limits.minexp - 50, limits.minexp, count))
        steps = 1 + random.integers(-3, 4, count) * float(limits.eps)
        ends = random.choice([limits.max, -limits.max, limits.tiny, 0.0, -0.0, math.inf, -math.inf, math.nan], count)
        numbers = numpy.concatenate([near, wide, wide, tiny, steps, ends]).astype(kind)
    return random.permutation(numbers)


def operand_sets(name: str, kind: Any, arity: int) -> list[Any]:
    random = numpy.random.default_rng(7)
    operands = [hard_numbers(kind, random, 150) for _ in range(arity)]
    with numpy.errstate(all="ignore"):
        if name in ("add", "sub"):  # cancellation
            operands[1][::5] = (operands[0][::5] * kind(random.choice([-1, 1]))).astype(kind)
        if name == "fma":  # the product cancels, all but its last bits
            products = (operands[0] * operands[1]).astype(kind)
            operands[2][::3] = -products[::3]
            operands[2][1::6] = (products[1::6] * kind(2.0**60)).astype(kind)
    return operands


def expected_of(name: str, direction: str, operands: tuple[Any, ...]) -> Any:
    """The reference; where no fraction exists, or the result is 0, IEEE's rules."""
    kind = type(operands[0])
    _, nearest, compare = OPERATIONS[name]
    values = [float(o) for o in operands]
    if name == "fma":
        return _fma(direction, operands, values)
    with numpy.errstate(all="ignore"):
        guess = nearest(*operands)
    if not all(map(math.isfinite, values)) or math.isnan(guess):
        return guess
    if (name == "div" and values[1] == 0) or (name == "rcp" and values[0] == 0):
        return guess
    comparison = compare(*map(Fraction, values))
    if comparison(Fraction(0)) == 0:
        is_sum = name in ("add", "sub")
        second = -values[1] if name == "sub" else values[-1]
        plus = all(math.copysign(1, v) > 0 for v in (values[0], second))
        return kind(-0.0) if is_sum and direction == "rd" and not plus else guess
    if direction == "rn":
        return guess
    result = directed(guess, comparison, direction)
    return numpy.copysign(result, kind(comparison(Fraction(0)))) if result == 0 else result


def _fma(direction: str, operands: tuple[Any, ...], values: list[float]) -> Any:
    kind = type(operands[0])
    a, b, c = values
    if not all(map(math.isfinite, values)):
        with numpy.errstate(all="ignore"):
            if math.isfinite(a) and math.isfinite(b):
                return operands[2]
            return operands[0] * operands[1] + operands[2]
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        product = math.copysign(1, a) * math.copysign(1, b)
        if a * b == 0 and Fraction(a) * Fraction(b) == 0 and product == math.copysign(1, c):
            return kind(c)
        return kind(-0.0 if direction == "rd" else 0.0)
    low = directed(_some_float(total, kind), exact(total), "rd")
    high = directed(_some_float(total, kind), exact(total), "ru")
    if direction in ("rd", "ru"):
        result = low if direction == "rd" else high
    elif direction == "rz":
        result = low if total > 0 else high
    else:
        result = _nearest(total, low, high)
    return numpy.copysign(result, kind(1 if total > 0 else -1)) if result == 0 else result


def _some_float(x: Fraction, kind: Any) -> Any:
    try:
        with numpy.errstate(all="ignore"):
            return kind(float(x))
    except OverflowError:
        return kind(math.inf if x > 0 else -math.inf)


def _nearest(x: Fraction, low: Any, high: Any) -> Any:
    if low == high:
        return low
    beyond = Fraction(2) ** (128 if low.dtype == numpy.float32 else 1024)

    def value(v: Any) -> Fraction:
        return Fraction(float(v)) if math.isfinite(v) else (beyond if v > 0 else -beyond)

    down, up = x - value(low), value(high) - x
    if down != up:
        return low if down < up else high
    return low if int(low.view(f"i{low.itemsize}")) % 2 == 0 else high


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("letter", DTYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_result_is_the_neighbour_in_that_direction(name: str, letter: str, direction: str) -> None:
    kind = DTYPES[letter]
    prefix = {"f": "fmaf", "d": "fma"}[letter] if name == "fma" else letter + name
    symbol = f"__nv_{prefix}_{direction}"
    operands = operand_sets(name, kind, OPERATIONS[name][0])
    expected = [expected_of(name, direction, values) for values in zip(*operands)]
    assert_same(symbol, run(symbol, *operands), expected, *operands)


def test_the_reciprocal_square_root_is_rounded_correctly() -> None:
    x = numpy.random.default_rng(3).uniform(1, 4, 2000).astype("f4")
    got = run("__nv_frsqrt_rn", x)
    for value, root in zip(x, got):
        half = Fraction(float(numpy.spacing(root))) / 2
        low, high = Fraction(float(root)) - half, Fraction(float(root)) + half
        assert low**2 * Fraction(float(value)) <= 1 <= high**2 * Fraction(float(value))


INTEGERS = {"int": (32, True), "uint": (32, False), "ll": (64, True), "ull": (64, False)}
TO_WHOLE = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}


def integer_samples(width: int) -> Any:
    random = numpy.random.default_rng(5)
    bits = random.integers(0, 2**63, 600, dtype="u8") >> random.integers(0, 63, 600, dtype="u8")
    ends = numpy.array([0, 2**63, 2**64 - 1, 2**31, 2**32 - 1, 2**24 + 1, 2**53 + 1], "u8")
    bits = numpy.concatenate([bits, ~bits, ends])
    return bits.view("i8") if width == 64 else bits.astype("u4").view("i4")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("target", ["float", "double"])
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_become_floats(source: str, target: str, direction: str) -> None:
    symbol = f"__nv_{source}2{target}_{direction}"
    if symbol not in FUNCTIONS:
        pytest.skip("always exact: libdevice has no such function")
    width, signed = INTEGERS[source]
    kind = numpy.float32 if target == "float" else numpy.float64
    numbers = integer_samples(width)
    values = numbers if signed else numbers.view(f"u{width // 8}")
    expected = []
    for value in map(int, values):
        nearest = _some_float(Fraction(value), kind)
        low = directed(nearest, exact(Fraction(value)), "rd")
        high = directed(nearest, exact(Fraction(value)), "ru")
        toward_zero = low if value > 0 else high
        expected.append(
            {"rd": low, "ru": high, "rz": toward_zero, "rn": _nearest(Fraction(value), low, high)}[direction]
        )
    assert_same(symbol, run(symbol, numbers), expected, values)


def float_samples(kind: Any) -> Any:
    random = numpy.random.default_rng(6)
    sizes = random.normal(0, 1, 800) * numpy.ldexp(1.0, random.integers(-3, 68, 800))
    halves = random.integers(-9, 9, 50) / 2
    ends = [s * 2.0**p + d for s in (-1, 1) for p in (31, 32, 63, 64) for d in (-1, -0.5, 0, 0.5, 1)]
    return numpy.array([*sizes, *halves, *ends, math.inf, -math.inf, math.nan, 0.0, -0.0, 1e-40]).astype(kind)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize("target", INTEGERS)
def test_floats_become_integers_and_stop_at_the_ends(target: str, source: str, direction: str) -> None:
    _check_to_integer(f"__nv_{source}2{target}_{direction}", source, *INTEGERS[target], TO_WHOLE[direction])


def half_away_from_zero(x: float) -> int:
    size = math.floor(abs(Fraction(x)) + Fraction(1, 2))
    return size if x > 0 else -size


@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize("name", ["llrint", "llround"])
def test_floats_are_rounded_to_long_integers(name: str, source: str) -> None:
    symbol = f"__nv_{name}f" if source == "float" else f"__nv_{name}"
    whole = (
        round if name == "llrint" else lambda x: int(math.copysign(math.floor(abs(Fraction(x)) + Fraction(1, 2)), x))
    )
    _check_to_integer(symbol, source, 64, True, whole)


def _check_to_integer(symbol: str, source: str, width: int, signed: bool, whole: Callable[[float], int]) -> None:
    numbers = float_samples(numpy.float32 if source == "float" else numpy.float64)
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
    of_nan = 0 if width == 32 and source == "float" else 2 ** (width - 1)

    def reference(x: float) -> int:
        if math.isnan(x):
            return of_nan
        if math.isinf(x):
            return high if x > 0 else low
        return min(max(whole(x), low), high)

    expected = [(reference(x) + 2 ** (width - 1)) % 2**width - 2 ** (width - 1) for x in map(float, numbers)]
    assert_same(symbol, run(symbol, numbers), expected, numbers)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_doubles_become_floats(direction: str) -> None:
    numbers = hard_numbers(numpy.float64, numpy.random.default_rng(8), 200)
    numbers = numpy.concatenate([numbers, hard_numbers(numpy.float32, numpy.random.default_rng(9), 200) * (1 + 1e-12)])
    expected = []
    for x in map(float, numbers):
        with numpy.errstate(all="ignore"):
            nearest = numpy.float32(x)
        if direction == "rn" or not math.isfinite(x) or x == 0:
            expected.append(nearest)
        else:
            result = directed(nearest, exact(Fraction(x)), direction)
            expected.append(numpy.copysign(result, numpy.float32(x)) if result == 0 else result)
    symbol = f"__nv_double2float_{direction}"
    assert_same(symbol, run(symbol, numbers), expected, numbers)


@pytest.mark.parametrize("symbol", ["__nv_fmul_rn", "__nv_fmul_rz", "arith.mulf"])
def test_a_rounded_product_is_never_fused_with_a_sum(symbol: str) -> None:
    """An ordinary product is, when the kernel allows it: so the test can tell."""
    from torch_mlir import ir

    def body(operands: list[Any], result: Any) -> Any:
        if symbol == "arith.mulf":
            product = ir.Operation.create(symbol, results=[result], operands=operands[:2]).results[0]
        else:
            product = libdevice.emit(symbol, operands[:2], result)
        return ir.Operation.create("arith.addf", results=[result], operands=[product, operands[2]]).results[0]

    factor = 1 + 2.0**-12
    compiled = compile_elementwise(body, ["f4"] * 3, "f4", contract=True)
    got = compiled(*[numpy.full(16, v, "f4") for v in (factor, factor, -(1 + 2.0**-11))])
    assert list(got) == [2.0**-24 if symbol == "arith.mulf" and host_cpu().fma else 0.0] * 16
