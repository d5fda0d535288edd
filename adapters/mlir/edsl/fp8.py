"""fp8 values: their bits as bytes, converted by integer operations that every target has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tle_raw.adapters.mlir.edsl.types import BOOL, F32, U8, U32, Number, Type
from tle_raw.adapters.mlir.edsl.values import EdslValue

# Bits of the mantissa, bias of the exponent, largest finite number.
_FORMATS = {"f8e4m3": (3, 7, 448.0), "f8e5m2": (2, 15, 57344.0)}


class Arithmetic(Protocol):
    """What the conversions need of the emitter, which calls them for its own constants and conversions."""

    def op(
        self, name: str, operands: Sequence[EdslValue], result: Type, attributes: Mapping[str, str] | None = None
    ) -> EdslValue: ...

    def constant(self, value: bool | int | float, type_: Number | None = None) -> EdslValue: ...

    def convert(self, given: object, type_: Number) -> EdslValue: ...

    def select(self, condition: EdslValue, one: EdslValue, other: EdslValue) -> EdslValue: ...


def decode_fp8(emit: Arithmetic, value: EdslValue) -> EdslValue:
    """The f32 of the same value: exact."""
    type_ = value.type
    assert isinstance(type_, Number)
    mantissa, bias, _ = _FORMATS[type_.name]
    bits = emit.convert(EdslValue(value.handle, U8), U32)
    magnitude = _and(emit, bits, 0x7F)
    sign = _shift_left(emit, _and(emit, bits, 0x80), 24)
    normal = _add(emit, _shift_left(emit, magnitude, 23 - mantissa), (127 - bias) << 23)
    # Below the smallest normal number the bits count units of the smallest one.
    unit = emit.constant(2.0 ** (1 - bias - mantissa), F32)
    small = _bits(emit, emit.op("arith.mulf", (emit.convert(magnitude, F32), unit), F32))
    result = emit.select(_below(emit, magnitude, 1 << mantissa), small, normal)
    infinity = 0x7F if type_.name == "f8e4m3" else 0x7C
    special = emit.constant(0x7FC00000 if type_.name == "f8e4m3" else 0x7F800000, U32)
    if type_.name == "f8e5m2":
        nan = emit.constant(0x7FC00000, U32)
        special = emit.select(_below(emit, magnitude, infinity + 1), special, nan)
    result = emit.select(_below(emit, magnitude, infinity), result, special)
    return emit.op("arith.bitcast", (emit.op("arith.ori", (result, sign), U32),), F32)


def encode_fp8(emit: Arithmetic, value: EdslValue, type_: Number) -> EdslValue:
    """An f32 rounded to the nearest, ties to even; what is too large becomes the largest finite number."""
    mantissa, bias, largest = _FORMATS[type_.name]
    bits = _bits(emit, value)
    magnitude_bits = _and(emit, bits, 0x7FFFFFFF)
    sign = emit.op("arith.shrui", (_and(emit, bits, 0x80000000), emit.constant(24, U32)), U32)
    limit = _bits(emit, emit.constant(largest, F32))
    clamped = emit.op("arith.minui", (magnitude_bits, limit), U32)
    dropped = 23 - mantissa
    odd = _and(emit, emit.op("arith.shrui", (clamped, emit.constant(dropped, U32)), U32), 1)
    rounded = emit.op("arith.addi", (_add(emit, clamped, (1 << (dropped - 1)) - 1), odd), U32)
    normal = emit.op("arith.shrui", (rounded, emit.constant(dropped, U32)), U32)
    normal = emit.op("arith.subi", (normal, emit.constant((127 - bias) << mantissa, U32)), U32)
    number = emit.op("arith.bitcast", (clamped,), F32)
    units = emit.op("arith.mulf", (number, emit.constant(2.0 ** (bias + mantissa - 1), F32)), F32)
    small = emit.convert(emit.op("llvm.intr.rint", (units,), F32), U32)
    smallest_normal = (128 - bias) << 23
    result = emit.select(_below(emit, clamped, smallest_normal), small, normal)
    finite_or_infinite = _below(emit, magnitude_bits, 0x7F800001)
    result = emit.select(finite_or_infinite, result, emit.constant(0x7F, U32))
    byte = emit.convert(emit.op("arith.ori", (result, sign), U32), U8)
    return EdslValue(byte.handle, type_)


def _bits(emit: Arithmetic, value: EdslValue) -> EdslValue:
    return emit.op("arith.bitcast", (value,), U32)


def _and(emit: Arithmetic, value: EdslValue, mask: int) -> EdslValue:
    return emit.op("arith.andi", (value, emit.constant(mask, U32)), U32)


def _add(emit: Arithmetic, value: EdslValue, amount: int) -> EdslValue:
    return emit.op("arith.addi", (value, emit.constant(amount, U32)), U32)


def _shift_left(emit: Arithmetic, value: EdslValue, amount: int) -> EdslValue:
    return emit.op("arith.shli", (value, emit.constant(amount, U32)), U32)


def _below(emit: Arithmetic, value: EdslValue, limit: int) -> EdslValue:
    return emit.op("arith.cmpi", (value, emit.constant(limit, U32)), BOOL, {"predicate": "6 : i64"})
