"""j and r of x = j * pi/2 + r, |r| <= pi/4, for f32 of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir
from torch_mlir.dialects import scf

from tle_raw.flir.cpu.math_functions.exponential import nearest_whole
from tle_raw.flir.cpu.math_functions.lanes import Lanes, fma, select

Reduced = tuple[Lanes, Lanes]
_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = 1.5707963267948966
# pi/2 in three f32 (72 bits), for fused multiply-add; in two f64 of 33 bits and a rest, whose products with a whole
# number below 2**20 are exact without it.
_HALF_PI_F32 = (1.5707963705062866, -4.371138828673793e-08, -1.7151244994428829e-15)
_HALF_PI_F64 = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
# Up to here what the parts leave out stays below the last bit of r.
_LARGE_FOR_F32 = 2.0**16
_LARGE_FOR_F64 = 2.0**20
# The binary digits of 2/pi, 32 zeros before them.
_DIGITS = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)


def reduced(x: Lanes) -> Reduced:
    """j (modulo 4, an i32) and r as f32."""
    if not x.fused:
        j, wide = reduced_in_f64(x)
        return j, wide.f32
    whole, j = nearest_whole(x * _TWO_OVER_PI)
    r = _subtract(x, whole, _HALF_PI_F32)

    def large() -> Reduced:
        j, wide = _of_large(x)
        return j, wide.f32

    return _unless_large(x, _LARGE_FOR_F32, (j, r), large)


def reduced_in_f64(x: Lanes) -> Reduced:
    """j (modulo 4, an i32) and r as f64."""
    wide = x.f64
    whole, j = nearest_whole(wide * _TWO_OVER_PI)
    r = _subtract(wide, whole, _HALF_PI_F64)
    return _unless_large(x, _LARGE_FOR_F64, (j.i32, r), lambda: _of_large(x))


def _subtract(x: Lanes, whole: Lanes, parts: Sequence[float]) -> Lanes:
    for part in parts:
        x = fma(-whole, part, x)
    return x


def _unless_large(x: Lanes, bound: float, usual: Reduced, of_large: Callable[[], Reduced]) -> Reduced:
    """The usual values, and others in lanes of at least ``bound``: computed only when there is such a lane."""
    is_large = abs(x) >= bound
    choice = scf.IfOp(is_large.any(), [v.value.type for v in usual], has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.YieldOp([select(is_large, other, v).value for other, v in zip(of_large(), usual)])
    with ir.InsertionPoint(choice.else_block):
        scf.YieldOp([v.value for v in usual])
    j, r = choice.results
    return Lanes(j, x.fused), Lanes(r, x.fused)


def _of_large(x: Lanes) -> Reduced:
    """Payne and Hanek's reduction of |x| >= 1: only those digits of 2/pi count whose product with x is no multiple
    of 4 and not too small. x is m * 2**e, m a whole number of 24 bits; 96 digits are taken, from weight 2 on.
    """
    bits = x.bits
    m = ((bits & 0x7FFFFF) | 0x800000).i64
    exponent = (bits.logical_shift_right(23) & 0xFF) - 150
    first = exponent + 30  # in _DIGITS
    high, low = _digits_from(first)
    turns = m * high + (m * low).logical_shift_right(32)  # of a quarter, modulo 4, 62 bits after the point
    j = (turns + (1 << 61)).logical_shift_right(62)
    r = (turns - (j << 62)).f64 * (_HALF_PI * 2.0**-62)
    j = j.i32
    is_negative = x < 0.0
    r = r.with_sign_of((r.bits ^ (x.f64.bits & (1 << 63))).as_float)
    return select(is_negative, -j, j), r + (x * 0.0).f64  # NaN where x is infinite


def _digits_from(first: Lanes) -> tuple[Lanes, Lanes]:
    """64 digits from a place on and the 32 after them, as i64."""
    word = first >> 5
    shift = (first & 31).i64
    leading = _chosen(word, [_DIGITS[w] << 32 | _DIGITS[w + 1] for w in range(5)], shift)
    following = _chosen(word, [_DIGITS[w + 2] << 32 | _DIGITS[w + 3] for w in range(5)], shift)
    high = (leading << shift) | following.logical_shift_right(1).logical_shift_right(63 - shift)
    return high, (following << shift).logical_shift_right(32)


def _chosen(index: Lanes, numbers: Sequence[int], model: Lanes) -> Lanes:
    """``numbers[index]``, by comparisons: five numbers are too few for a table in memory."""
    result = model.constant(numbers[0])
    for i, number in enumerate(numbers[1:], start=1):
        result = select(index >= i, number, result)
    return result
