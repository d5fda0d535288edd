"""Arithmetic rounded up, down or towards 0: the nearest result, and its neighbour where that is not the wanted one.

What decides is the sign of ``exact - nearest``. It is computed without an error: for f32 in f64, for f64 with
error-free transformations (Dekker, Knuth) on numbers whose exponents were taken away, so that nothing can overflow or
vanish on the way.
"""

from __future__ import annotations

import math

from tle_raw.flir.cpu.libdevice.operations import LaneFunction, is_finite, multiply_add, nan_where
from tle_raw.flir.cpu.libdevice.representation import exponent_of, next_down, next_up
from tle_raw.flir.cpu.math_functions.lanes import FORMATS, Lanes, power_of_two, select

DIRECTIONS = ("rn", "rz", "rd", "ru")


def rounded(nearest: Lanes, error: Lanes, direction: str) -> Lanes:
    """The neighbour in the direction, where ``error`` has the sign of exact - nearest; NaN stands for no error.

    An infinite result whose error is negative is one that overflowed: its neighbour is the largest finite number.
    """
    is_below, is_above = error < 0.0, error > 0.0
    if direction == "ru":
        return select(is_above, next_up(nearest), nearest)
    if direction == "rd":
        return select(is_below, next_down(nearest), nearest)
    too_large = (is_below & (nearest > 0.0)) | (is_above & (nearest < 0.0))
    return select(too_large, (nearest.bits - 1).as_float, nearest)


def add(direction: str) -> LaneFunction:
    def build(a: Lanes, b: Lanes) -> Lanes:
        if direction == "rn":
            return multiply_add(a, a.constant(1.0), b)  # an addition, as _product is a multiplication
        nearest = a + b
        is_ordered = abs(a) >= abs(b)
        large, small = select(is_ordered, a, b), select(is_ordered, b, a)
        error = small - (nearest - large)
        return _signed_zero(
            _directed(nearest, error, (a, b), direction), nearest.equals(0.0), a.bits | b.bits, direction
        )

    return build


def _product(a: Lanes, b: Lanes) -> Lanes:
    """a * b that is never fused with an addition, though the kernel's own products may be: LLVM sees that this is a
    multiplication, but it carries no leave to contract it."""
    return multiply_add(a, b, a.constant(-0.0))


def subtract(direction: str) -> LaneFunction:
    return lambda a, b: add(direction)(a, -b)


def multiply(direction: str) -> LaneFunction:
    def build(a: Lanes, b: Lanes) -> Lanes:
        if direction == "rn":
            return _product(a, b)
        nearest = _product(a, b)
        if a.width == 32:
            return rounded(nearest, a.f64 * b.f64 - nearest.f64, direction)
        (ma, ea), (mb, eb), (mr, er) = _parts(a), _parts(b), _parts(nearest)
        error = multiply_add(ma, mb, -(mr * _power(er - ea - eb)))
        return _directed(nearest, error, (a, b), direction)

    return build


def divide(direction: str) -> LaneFunction:
    def build(a: Lanes, b: Lanes) -> Lanes:
        nearest = a / b
        if direction == "rn":
            return nearest
        if a.width == 32:
            rest = a.f64 - nearest.f64 * b.f64
            return rounded(nearest, _with_sign_times(rest, b.f64), direction)
        (ma, ea), (mb, eb), (mr, er) = _parts(a), _parts(b), _parts(nearest)
        rest = multiply_add(-mr, mb, ma * _power(ea - er - eb))
        rest = nan_where(b.equals(0.0), rest)  # infinity is exact then
        return _directed(nearest, _with_sign_times(rest, b), (a, b), direction)

    return build


def reciprocal(direction: str) -> LaneFunction:
    return lambda x: divide(direction)(x.constant(1.0), x)


def square_root(direction: str) -> LaneFunction:
    def build(a: Lanes) -> Lanes:
        nearest = a.sqrt()
        if direction == "rn":
            return nearest
        if a.width == 32:
            return rounded(nearest, a.f64 - nearest.f64 * nearest.f64, direction)
        (ma, ea), (mr, er) = _parts(a), _parts(nearest)
        error = multiply_add(-mr, mr, ma * _power(ea - er - er))
        return _directed(nearest, error, (a,), direction)

    return build


def fused_multiply_add(direction: str) -> LaneFunction:
    def build(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
        nearest = multiply_add(a, b, c)
        if direction == "rn":
            return nearest
        error = (_error_in_double if a.width == 32 else _error_of_parts)(a, b, c, nearest)
        is_zero = nearest.equals(0.0) & error.equals(0.0)
        signs = (a.bits ^ b.bits) | c.bits  # negative unless product and c are both +0 or cancel
        signs = select(c.equals(0.0) & (a.equals(0.0) | b.equals(0.0)), signs & ~_magnitude(signs), -1)
        return _signed_zero(_directed(nearest, error, (a, b, c), direction), is_zero, signs, direction)

    return build


def _magnitude(bits: Lanes) -> int:
    return (1 << (bits.width - 1)) - 1


def _error_in_double(a: Lanes, b: Lanes, c: Lanes, nearest: Lanes) -> Lanes:
    """The product is exact in f64, the sum is two f64, and the difference from its nearest f32 is exact again."""
    total, lost = _two_sum(a.f64 * b.f64, c.f64)
    return (total - nearest.f64) + lost


def _error_of_parts(a: Lanes, b: Lanes, c: Lanes, nearest: Lanes) -> Lanes:
    """Product, c and result over one power of two; where c is very far from the product only its sign counts."""
    (ma, ea), (mb, eb), (mc, ec), (mr, er) = _parts(a), _parts(b), _parts(c), _parts(nearest)
    product = _product(ma, mb)
    product_low = multiply_add(ma, mb, -product)
    far = 160
    ep = ea + eb
    anchor = select(product.equals(0.0), ec, select(ec - ep > far, ec - far, ep))
    terms = [product_low, product, mc * _power(ec - anchor, far), -(mr * _power(er - anchor, 2 * far))]
    return _sum_with_right_sign(terms)


def _sum_with_right_sign(terms: list[Lanes]) -> Lanes:
    """Passes of error-free sums push what is left upwards until the last term outweighs all others."""
    for _ in range(4):
        for i in range(1, len(terms)):
            terms[i], terms[i - 1] = _two_sum(terms[i], terms[i - 1])
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _two_sum(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """Knuth's: the sum and exactly what it lacks."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _parts(x: Lanes) -> tuple[Lanes, Lanes]:
    """m and e of x = m * 2**e, 1 <= |m| < 2 or m = 0; of infinities and NaN some numbers."""
    mantissa, bias = FORMATS[x.width]
    exponent = exponent_of(x)
    is_small = abs(x) < 2.0**-1022
    bits = select(is_small, x * 2.0 ** (mantissa + 1), x).bits
    kept = -1 << (x.width - 1) | ((1 << mantissa) - 1)
    m = ((bits & kept) | (bias << mantissa)).as_float
    return select(x.equals(0.0), 0.0, m), exponent


def _power(exponent: Lanes, bound: int = 200) -> Lanes:
    """2**exponent, of an exponent that is cut off at the bounds."""
    return power_of_two(select(exponent > bound, bound, select(exponent < -bound, -bound, exponent)))


def _with_sign_times(x: Lanes, y: Lanes) -> Lanes:
    """x with its sign changed where y is negative."""
    return (x.bits ^ (y.bits & (-1 << (y.width - 1)))).as_float


def _directed(nearest: Lanes, error: Lanes, operands: tuple[Lanes, ...], direction: str) -> Lanes:
    """As ``rounded``, where the error means nothing if an operand is infinite or NaN, or the result overflowed."""
    error = select(abs(nearest).equals(math.inf), select(error.is_nan(), error, -nearest.to(error.element)), error)
    for operand in operands:
        error = nan_where(~is_finite(operand), error)
    return rounded(nearest, error, direction)


def _signed_zero(result: Lanes, is_zero: Lanes, signs: Lanes, direction: str) -> Lanes:
    """A sum that is exactly 0 is -0 when rounding down, but for +0 + +0."""
    return select(is_zero & signs.differs(0), -0.0, result) if direction == "rd" else result
