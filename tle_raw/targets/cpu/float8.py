"""Conversions of fp8e4b15, which is no type of the IR: its elements are bytes there, and this is arithmetic on bits.

It is float16 with the lowest seven bits of the mantissa and the highest bit of the exponent left out.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

SIGN, REST = 0x80, 0x7F
DROPPED = 7
LARGEST = 0x3F00  # 1.75 as float16: what GPUs saturate at


def convert_custom_types(value: Any, to: Any, rounding: Any = None, _semantic: Any = None) -> Any:
    """What Triton calls for a conversion from or to fp8e4b15."""
    if value.type.scalar.is_fp8e4b15():
        wide = _to_float16(value, _semantic)
        return wide if to.scalar.is_fp16() else _semantic.cast(wide, to)
    if not value.type.scalar.is_fp16():
        value = _semantic.cast(value, _like(to, core.float16), "rtz")
    return _from_float16(value, to, _semantic)


def _like(type: Any, scalar: Any) -> Any:
    return type.with_element_ty(scalar) if type.is_block() else scalar


def _bits(value: Any, scalar: Any, semantic: Any) -> Any:
    return semantic.bitcast(value, _like(value.type, scalar))


def _number(value: int, like: Any, semantic: Any) -> Any:
    if like.type.is_block():
        return semantic.full(like.type.shape, value, like.dtype)
    return semantic.scalar_constant(value, like.dtype)


def _to_float16(value: Any, semantic: Any) -> Any:
    byte = semantic.cast(_bits(value, core.uint8, semantic), _like(value.type, core.uint16))

    def constant(number: int) -> Any:
        return _number(number, byte, semantic)

    sign = semantic.shl(semantic.and_(byte, constant(SIGN)), constant(8))
    rest = semantic.shl(semantic.and_(byte, constant(REST)), constant(DROPPED))
    return _bits(semantic.or_(sign, rest), core.float16, semantic)


def _from_float16(value: Any, to: Any, semantic: Any) -> Any:
    """Rounds to nearest, ties away from zero, and saturates, as on GPUs."""
    half = _bits(value, core.uint16, semantic)

    def constant(number: int) -> Any:
        return _number(number, half, semantic)

    sign = semantic.lshr(semantic.and_(half, constant(0x8000)), constant(8))
    rest = semantic.and_(half, constant(0x7FFF))
    rest = semantic.minimum(rest, constant(LARGEST), core.PropagateNan.NONE)
    rest = semantic.lshr(semantic.add(rest, constant(1 << (DROPPED - 1)), False), constant(DROPPED))
    rest = semantic.and_(rest, constant(REST))
    byte = semantic.cast(semantic.or_(sign, rest), _like(to, core.uint8))
    return semantic.bitcast(byte, to)
