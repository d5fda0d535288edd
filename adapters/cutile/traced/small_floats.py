"""Floats that Triton has no dtype for, carried by bytes: the number of a code, the code of a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.values import cast, choose, constant, like

# The numbers halfway between those of four bits; what lies on one goes to the even code.
_MIDDLES = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)


def number_of(tracer: Tracer, value: core.tensor, dtype: str) -> core.tensor:
    """As f32, which holds every number of these dtypes."""
    return NUMBERS[dtype](tracer, cast(tracer, value, core.uint32))


def _power(tracer: Tracer, code: core.tensor) -> core.tensor:
    """Two to an exponent; all ones are not a number."""
    power = _shifted(tracer, code, 23)
    power = choose(tracer, _is(tracer, code, 0), constant(tracer, 1 << 22, code.type), power)  # subnormal in f32
    return _float(tracer, choose(tracer, _is(tracer, code, 255), constant(tracer, 0x7FC00000, code.type), power))


def _unsigned(tracer: Tracer, code: core.tensor) -> core.tensor:
    """Five bits of exponent and three of significand, without a sign; all ones are not a number."""
    bits = tracer.make("create_add", code.type, _shifted(tracer, code, 20), constant(tracer, 112 << 23, code.type))
    bits = choose(tracer, _is(tracer, code, 255), constant(tracer, 0x7FC00000, code.type), bits)
    return _or_subnormal(tracer, code, 8, 2.0**-17, bits)


def _four_bits(tracer: Tracer, code: core.tensor) -> core.tensor:
    """A sign, two bits of exponent and one of significand."""
    size = tracer.make("create_and", code.type, code, constant(tracer, 7, code.type))
    sign = tracer.make("create_and", code.type, code, constant(tracer, 8, code.type))
    bits = tracer.make("create_add", code.type, _shifted(tracer, size, 22), constant(tracer, 126 << 23, code.type))
    number = tracer.semantic.bitcast(_or_subnormal(tracer, size, 2, 0.5, bits), core.uint32)
    return _float(tracer, tracer.make("create_or", code.type, number, _shifted(tracer, sign, 28)))


def _or_subnormal(tracer: Tracer, code: core.tensor, first: int, step: float, bits: core.tensor) -> core.tensor:
    """Below the ``first`` code of a normal number, numbers are multiples of ``step``."""
    small = cast(tracer, code, core.float32)
    small = tracer.make("create_fmul", small.type, small, constant(tracer, step, small.type))
    is_small = tracer.make("create_icmpULT", like(code, core.int1), code, constant(tracer, first, code.type))
    return choose(tracer, is_small, small, _float(tracer, bits))


def _shifted(tracer: Tracer, code: core.tensor, by: int) -> core.tensor:
    return tracer.make("create_shl", code.type, code, constant(tracer, by, code.type))


def _is(tracer: Tracer, code: core.tensor, wanted: int) -> core.tensor:
    return tracer.make("create_icmpEQ", like(code, core.int1), code, constant(tracer, wanted, code.type))


def _float(tracer: Tracer, bits: core.tensor) -> core.tensor:
    return tracer.semantic.bitcast(bits, core.float32)


NUMBERS: dict[str, Callable[[Tracer, core.tensor], core.tensor]] = {
    "float8_e8m0fnu": _power,
    "float8_e5m3fnu": _unsigned,
    "float4_e2m1fn": _four_bits,
}


def four_bits_of(tracer: Tracer, value: core.tensor) -> core.tensor:
    """The code of the nearest number of four bits; the largest for what is beyond it, and for what is no number."""
    code_type, truth = like(value, core.uint8), like(value, core.int1)
    size = tracer.make("create_fabs", value.type, value)
    code = constant(tracer, 0, code_type)
    for number, middle in enumerate(_MIDDLES):
        compare = "create_fcmpOGE" if number % 2 else "create_fcmpOGT"
        above = tracer.make(compare, truth, size, constant(tracer, middle, value.type))
        code = tracer.make("create_add", code_type, code, cast(tracer, above, core.uint8))
    width = value.type.scalar.primitive_bitwidth
    bits = tracer.semantic.bitcast(value, core.dtype(f"uint{width}"))
    sign = tracer.make("create_lshr", bits.type, bits, constant(tracer, width - 1, bits.type))
    sign = cast(tracer, sign, core.uint8)
    sign = tracer.make("create_shl", code_type, sign, constant(tracer, 3, code_type))
    no_number = tracer.make("create_fcmpUNE", truth, value, value)
    return choose(tracer, no_number, constant(tracer, 7, code_type), tracer.make("create_or", code_type, code, sign))


def code_of_constant(tracer: Tracer, number: Any, dtype: str) -> int:
    """As cuTile writes a constant."""
    from cuda.tile._bytecode import SimpleType
    from cuda.tile._bytecode.float import float_to_bits

    kind = {"float8_e8m0fnu": "F8E8M0FNU", "float8_e5m3fnu": "FNV8E5M3FNU", "float4_e2m1fn": "F4E2M1FN"}[dtype]
    found = getattr(SimpleType, kind, None)
    if found is None or not math.isfinite(number):
        raise tracer.fail(f"{number} as a constant of {dtype}")
    return int(float_to_bits(float(number), found))
