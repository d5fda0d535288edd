"""Conversions between float types, with the small ones that no CPU computes with."""

from __future__ import annotations

import math
from typing import NamedTuple

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.convert import build, types
from tle_raw.flir.cpu.mlir_values import Type, Value


class Format(NamedTuple):
    """A float format of one byte: widths, the bias, and what stands for NaN and infinity."""

    exponent: int
    mantissa: int
    bias: int
    has_infinity: bool
    nan: int  # a NaN's bits
    largest: int  # the bits of the largest finite number
    negative_zero: bool = True


# OCP 8-bit Floating Point Specification 1.0 (E5M2, E4M3FN); the `b` forms are those of AMD's and Graphcore's chips,
# with no negative zero and one NaN at 0x80; b15 is Triton's own e4m3 with bias 15, which Triton itself documents.
FORMATS = {
    "f8E5M2": Format(5, 2, 15, True, 0x7F, 0x7B),
    "f8E4M3FN": Format(4, 3, 7, False, 0x7F, 0x7E),
    "f8E4M3FNUZ": Format(4, 3, 8, False, 0x80, 0x7F, False),
    "f8E5M2FNUZ": Format(5, 2, 16, False, 0x80, 0x7F, False),
    "f8E4M3B11FNUZ": Format(4, 3, 11, False, 0x80, 0x7F, False),
}
_ROUND_TO_ZERO_BITS = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}


def small_float_bits(number: float, name: str) -> int:
    """The byte of a number that the format ``name`` holds exactly."""
    form = FORMATS[name]
    if math.isnan(number):
        return form.nan
    sign = 0x80 if math.copysign(1.0, number) < 0 else 0
    if math.isinf(number):
        return sign | ((1 << form.exponent) - 1) << form.mantissa
    fraction, power = math.frexp(abs(number))  # 0.5 <= fraction < 1
    exponent = max(power - 1 + form.bias, 1)
    units = round(math.ldexp(fraction, power - (exponent - form.bias) + form.mantissa))
    return sign | ((exponent - 1 << form.mantissa) + units if units else 0)


def float_to_float(number: Value, source: Type, target: Type, *, toward_zero: bool = False) -> Value:
    """``number`` of Triton's type ``source`` as ``target``: rounded to nearest even, or toward zero."""
    if source == target:
        return number
    if types.is_small_float(source):
        return _between(_from_small(number, FORMATS[str(source)]), target, toward_zero)
    if types.is_small_float(target):
        if str(target) not in FORMATS:
            raise LoweringError(f"no conversion to {target} is known on a CPU")
        wide = _between(number, build.type_of("f32"), False) if str(source) != "f64" else _odd_f32(number)
        return _to_small(wide, FORMATS[str(target)], toward_zero)
    return _between(number, target, toward_zero)


def _between(number: Value, target: Type, toward_zero: bool) -> Value:
    if number.type == target:
        return number
    from_bits, to_bits = build.bits(number.type), build.bits(target)
    if from_bits == to_bits:  # f16 and bf16
        return _between(build.value("arith.extf", [number], "f32"), target, toward_zero)
    if from_bits < to_bits:
        return build.value("arith.extf", [number], target)
    if toward_zero:
        number = _cut(number, target)
    if to_bits == 16 and from_bits == 64:  # hosts round an f64 to 32 bits only
        number = _odd_f32(number) if not toward_zero else build.value("arith.truncf", [number], "f32")
    return build.value("arith.truncf", [number], target)


def _cut(number: Value, target: Type) -> Value:
    """``number`` with the mantissa bits cleared that ``target`` does not have: rounding it then changes nothing.

    Below the target's normal range more bits would have to go; there the nearest-even rounding steps down by hand.
    """
    width = build.bits(number.type)
    integer = f"i{width}"
    mantissa, _ = _ROUND_TO_ZERO_BITS[str(number.type)]
    kept, exponent = _ROUND_TO_ZERO_BITS[str(target)]
    bits = build.value("arith.bitcast", [number], integer)
    cleared = build.binary("andi", bits, build.constant(-(1 << (mantissa - kept)), integer))
    # NaN payloads may live in the cleared bits.
    is_nan = build.compare("uno", number, number)
    exact = build.select(is_nan, number, build.value("arith.bitcast", [cleared], number.type))
    if str(target) in ("bf16", "f32") and str(number.type) in ("f32",):
        return exact  # the same exponent range
    largest = build.constant((2.0 - 2.0**-kept) * 2.0 ** (2 ** (exponent - 1) - 1), number.type)
    size = build.value("math.absf", [exact], number.type)
    # Finite numbers beyond the range stop at the largest one; infinities stay.
    infinite = build.compare("oeq", size, build.constant(float("inf"), number.type))
    limited = build.value("math.copysign", [build.binary("minnumf", size, largest), exact], number.type)
    exact = build.select(build.binary("ori", infinite, is_nan), exact, limited)
    # Subnormal targets: scale so that the unit is 1, cut, scale back. All three steps are exact.
    smallest = 2.0 ** (2 - 2 ** (exponent - 1))
    unit = smallest * 2.0**-kept
    scaled = build.binary("mulf", exact, build.constant(1.0 / unit, number.type))
    whole = build.value("math.trunc", [scaled], number.type)
    stepped = build.binary("mulf", whole, build.constant(unit, number.type))
    signed = build.value("math.copysign", [stepped, exact], number.type)
    return build.select(build.compare("olt", size, build.constant(smallest, number.type)), signed, exact)


def _odd_f32(number: Value) -> Value:
    """An f64 as f32, rounded to odd: a second rounding of it gives what one rounding of the f64 would."""
    near = build.value("arith.truncf", [number], "f32")
    back = build.value("arith.extf", [near], "f64")
    bits = build.value("arith.bitcast", [near], "i32")
    away = build.compare("ogt", build.value("math.absf", [back], "f64"), build.value("math.absf", [number], "f64"))
    stepped = build.binary("subi", bits, build.value("arith.extui", [away], "i32"))
    odd = build.binary("ori", stepped, build.constant(1, "i32"))
    inexact = build.compare("one", back, number)
    return build.value("arith.bitcast", [build.select(inexact, odd, bits)], "f32")


def _from_small(byte: Value, form: Format) -> Value:
    """A byte as f32; exact."""
    bits = build.value("arith.extui", [byte], "i32")
    sign = build.binary("shli", build.binary("andi", bits, _i32(0x80)), _i32(24))
    size = build.binary("andi", bits, _i32(0x7F))
    # The bits moved into an f32's place, times 2^(127 - bias): subnormal bytes come out right as well.
    moved = build.value("arith.bitcast", [build.binary("shli", size, _i32(23 - form.mantissa))], "f32")
    number = build.binary("mulf", moved, build.constant(2.0 ** (127 - form.bias), "f32"))
    magnitude = build.value("arith.bitcast", [number], "i32")
    if form.has_infinity:
        infinity = ((1 << form.exponent) - 1) << form.mantissa
        special = build.binary("ori", magnitude, _i32(0x7F800000))
        magnitude = build.select(build.compare("uge", size, _i32(infinity)), special, magnitude)
    if form.negative_zero and not form.has_infinity:
        magnitude = build.select(build.compare("eq", size, _i32(form.nan & 0x7F)), _i32(0x7FC00000), magnitude)
    signed = build.binary("ori", magnitude, sign)
    if not form.negative_zero:
        signed = build.select(build.compare("eq", bits, _i32(form.nan)), _i32(0x7FC00000), signed)
    return build.value("arith.bitcast", [signed], "f32")


def _to_small(number: Value, form: Format, toward_zero: bool) -> Value:
    """An f32 as a byte; overflow saturates."""
    bits = build.value("arith.bitcast", [number], "i32")
    sign = build.binary("andi", build.binary("shrui", bits, _i32(24)), _i32(0x80))
    size = build.binary("andi", bits, _i32(0x7FFFFFFF))
    shift = 23 - form.mantissa
    # Normal range: rebias, then round at bit `shift` by integer arithmetic.
    rebiased = build.binary("subi", size, _i32((127 - form.bias) << 23))
    if toward_zero:
        normal = build.binary("shrui", rebiased, _i32(shift))
    else:
        odd = build.binary("andi", build.binary("shrui", size, _i32(shift)), _i32(1))
        half = build.binary("addi", odd, _i32((1 << (shift - 1)) - 1))
        normal = build.binary("shrui", build.binary("addi", rebiased, half), _i32(shift))
    # Below it: the unit is 2^(1 - bias - mantissa); a float of that scale rounds to an integer by itself.
    unit = 2.0 ** (form.bias - 1 + form.mantissa)
    magnitude = build.value("arith.bitcast", [size], "f32")
    scaled = build.binary("mulf", magnitude, build.constant(unit, "f32"))
    whole = build.value("math.trunc" if toward_zero else "math.roundeven", [scaled], "f32")
    is_small = build.compare("ult", size, _i32((127 - form.bias + 1) << 23))
    bounded = build.select(is_small, whole, build.constant(0.0, "f32"))
    small = build.value("arith.fptoui", [bounded], "i32")
    result = build.select(is_small, small, normal)
    # As the GPUs' conversions do (cvt.satfinite): what is too large, infinity too, becomes the largest number.
    too_large = build.compare("uge", size, _i32(0x7F800000))
    result = build.select(too_large, _i32(form.largest), build.binary("minui", result, _i32(form.largest)))
    if not form.negative_zero:
        sign = build.select(build.compare("eq", result, _i32(0)), _i32(0), sign)
    result = build.binary("ori", result, sign)
    is_nan = build.compare("ugt", size, _i32(0x7F800000))
    result = build.select(is_nan, _i32(form.nan), result)
    return build.value("arith.trunci", [result], "i8")


def _i32(number: int) -> Value:
    return build.constant(number, "i32")
