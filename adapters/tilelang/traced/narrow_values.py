"""Values of the types that Triton has none of: in registers each is a byte, the element's code.

``float8_e8m0fnu`` is the exponent of a power of two; it rounds up, as TileLang converts, and has no sign.
``float4_e2m1fn`` has 0, 0.5, 1, 1.5, 2, 3, 4, 6 and a sign; it rounds to nearest even and saturates. Integers of four
bits are cut off. They are moved, chosen, and converted: arithmetic is that of the types that they are converted to.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.narrow import is_narrow

E8M0, FP4, INT4 = "float8_e8m0fnu", "float4_e2m1fn", "int4"
# The least number that is rounded to each code of E2M1 from 1 on, and whether that number itself is.
_STEPS = ((0.25, False), (0.75, True), (1.25, False), (1.75, True), (2.5, False), (3.5, True), (5.0, False))


def convert(tracer: Any, value: core.tensor, before: object, after: object) -> core.tensor:
    """A value of TIR's dtype ``before`` as one of ``after``, rounded where that has fewer numbers."""
    if str(before) == str(after):
        return value
    if is_narrow(before):
        value = decode(tracer, value, str(before))
    if is_narrow(after):
        return encode(tracer, value, str(after))
    dtype = tracer.dtype(after)
    if dtype.is_int1():
        return tracer.semantic.not_equal(value, tracer.number(0, value.type.scalar))
    return tracer.cast(value, dtype)


def decode(tracer: Any, code: core.tensor, name: str) -> core.tensor:
    """The numbers of codes: float32, or int32 for integers."""
    if name == E8M0:
        return _decode_exponent(tracer, code)
    if name == FP4:
        return _decode_fp4(tracer, code)
    wide = tracer.cast(code, core.int32)
    if name != INT4:
        return wide
    semantic, shift = tracer.semantic, tracer.number(28, core.int32)
    return semantic.ashr(semantic.shl(wide, shift), shift)


def encode(tracer: Any, value: core.tensor, name: str) -> core.tensor:
    """The codes of the numbers next to these."""
    if name == E8M0:
        return _encode_exponent(tracer, value)
    if name == FP4:
        return _encode_fp4(tracer, value)
    low = tracer.semantic.and_(tracer.cast(value, core.int32), tracer.number(15, core.int32))
    return tracer.cast(low, core.uint8)


def _decode_exponent(tracer: Any, code: core.tensor) -> core.tensor:
    semantic = tracer.semantic
    wide = tracer.cast(code, core.int32)
    bits = semantic.shl(wide, tracer.number(23, core.int32))
    smallest, nan = tracer.number(0x00400000, core.int32), tracer.number(0x7FC00000, core.int32)
    bits = tracer.choose(semantic.equal(wide, tracer.number(0, core.int32)), smallest, bits)
    bits = tracer.choose(semantic.equal(wide, tracer.number(255, core.int32)), nan, bits)
    return semantic.bitcast(bits, core.float32)


def _encode_exponent(tracer: Any, value: core.tensor) -> core.tensor:
    semantic = tracer.semantic

    def number(n: int) -> core.tensor:
        return tracer.number(n, core.int32)

    bits = semantic.bitcast(tracer.cast(value, core.float32), core.int32)
    bits = semantic.and_(bits, number(0x7FFFFFFF))
    exponent, rest = semantic.ashr(bits, number(23)), semantic.and_(bits, number(0x007FFFFF))
    least = semantic.equal(exponent, number(0))  # subnormal: up to 2^-127 they are that
    up = semantic.greater_than(rest, tracer.choose(least, number(0x00400000), number(0)))
    code = semantic.add(exponent, tracer.cast(up, core.int32), False)
    code = semantic.minimum(code, number(254), core.PropagateNan.NONE)
    code = tracer.choose(semantic.greater_than(bits, number(0x7F800000)), number(255), code)
    return tracer.cast(code, core.uint8)


def _decode_fp4(tracer: Any, code: core.tensor) -> core.tensor:
    semantic = tracer.semantic

    def number(n: int) -> core.tensor:
        return tracer.number(n, core.int32)

    wide = tracer.cast(code, core.int32)
    size = semantic.and_(wide, number(7))
    # From 1.0 on the code is the end of a float32's exponent and the start of its mantissa; below stand 0 and 0.5.
    bits = semantic.add(semantic.shl(size, number(22)), number(126 << 23), False)
    low = tracer.choose(semantic.equal(size, number(0)), number(0), number(126 << 23))
    bits = tracer.choose(semantic.less_than(size, number(2)), low, bits)
    sign = semantic.shl(semantic.and_(wide, number(8)), number(28))
    return semantic.bitcast(semantic.or_(bits, sign), core.float32)


def _encode_fp4(tracer: Any, value: core.tensor) -> core.tensor:
    semantic = tracer.semantic
    if not value.type.scalar.is_fp64():
        value = tracer.cast(value, core.float32)
    element = value.type.scalar
    whole = core.int64 if element.is_fp64() else core.int32
    size = core.tensor(semantic.builder.create_fabs(value.handle), value.type)
    code = None
    for limit, included in _STEPS:
        compare = semantic.greater_equal if included else semantic.greater_than
        step = tracer.cast(compare(size, tracer.number(limit, element)), core.int32)
        code = step if code is None else semantic.add(code, step, False)
    negative = semantic.less_than(semantic.bitcast(value, whole), tracer.number(0, whole))
    sign = semantic.mul(tracer.cast(negative, core.int32), tracer.number(8, core.int32), False)
    is_nan = semantic.not_equal(value, value)
    code = tracer.choose(is_nan, tracer.number(7, core.int32), semantic.or_(code, sign))
    return tracer.cast(code, core.uint8)
