"""Conversions between floats and integers in a given rounding direction; what does not fit becomes the nearest end."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith

from tle_raw.flir.cpu.libdevice.operations import LaneFunction, operation
from tle_raw.flir.cpu.libdevice.rounding import rounded
from tle_raw.flir.cpu.math_functions.lanes import Lanes, select

TO_WHOLE = {"rn": "math.roundeven", "rz": "math.trunc", "rd": "math.floor", "ru": "math.ceil"}


def float_to_integer(width: int, signed: bool, whole: LaneFunction) -> LaneFunction:
    """As PTX's ``cvt`` does it. NaN becomes 0 when no 64-bit type is involved, else the integer's highest bit."""

    def build(x: Lanes) -> Lanes:
        integer = ir.IntegerType.get_signless(width)
        of_nan = 0 if width == 32 and x.width == 32 else 1 << (width - 1)
        low, high = (-(1 << (width - 1)), 1 << (width - 1)) if signed else (0, 1 << width)
        number = whole(x).f64
        fits = (number >= float(low)) & (number < float(high))
        convert = arith.FPToSIOp if signed else arith.FPToUIOp
        inside = select(fits, number, 0.0)
        result = Lanes(convert(number.shaped(integer), inside.value).result, x.fused)
        result = select(number >= float(high), high - 1, result)
        result = select(number < float(low), low, result)
        return select(number.is_nan(), of_nan, result)

    return build


def round_to_integer(width: int, signed: bool, direction: str) -> LaneFunction:
    return float_to_integer(width, signed, operation(TO_WHOLE[direction]))


def integer_to_float(width: int, signed: bool, direction: str) -> LaneFunction:
    def build(x: Lanes) -> Lanes:
        nearest = _nearest_float(x, width, signed)
        if direction == "rn":
            return nearest
        return rounded(nearest, _what_is_lost(x, nearest, signed), direction)

    return build


def _nearest_float(x: Lanes, width: int, signed: bool) -> Lanes:
    kind = x.shaped(ir.F32Type.get() if width == 32 else ir.F64Type.get())
    return Lanes((arith.SIToFPOp if signed else arith.UIToFPOp)(kind, x.value).result, x.fused)


def _what_is_lost(x: Lanes, nearest: Lanes, signed: bool) -> Lanes:
    """A float with the sign of x - nearest. Converted back, nearest may be one more than the largest integer."""
    limit = 2.0 ** (x.width - signed)
    is_beyond = nearest >= limit
    inside = select(is_beyond, 0.0, nearest)
    back = (arith.FPToSIOp if signed else arith.FPToUIOp)(x.value.type, inside.value).result
    lost = (x - Lanes(back, x.fused)).to(nearest.element)  # at most half a step: no overflow, and it has a sign
    return select(is_beyond, -1.0, lost)


def double_to_float(direction: str) -> LaneFunction:
    def build(x: Lanes) -> Lanes:
        nearest = x.f32
        if direction == "rn":
            return nearest
        return rounded(nearest, x - nearest.f64, direction)

    return build
