"""How arithmetic rounds: cuTile's modes, and f32 arithmetic that flushes subnormal numbers to zero."""

from __future__ import annotations

from collections.abc import Callable

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced import libdevice
from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.types import bits_of
from tle_raw.adapters.cutile.traced.values import cast, choose, constant, like

DIRECTIONS = {"RZ": "rz", "RM": "rd", "RP": "ru"}
_SMALLEST_NORMAL = 2.0**-126


def mode_of(operation: Operation) -> str:
    """The name of the rounding mode; "RN" where none is given."""
    return operation.rounding_mode.name if operation.rounding_mode is not None else "RN"


def directed(tracer: Tracer, name: str, mode: str, *operands: core.tensor) -> core.tensor:
    """Arithmetic that is rounded towards zero, down or up.

    Small floats are computed in f32 and narrowed in the same direction: twice is as once then.
    """
    element = operands[0].type.scalar
    if element.primitive_bitwidth >= 32:
        return libdevice.call_directed(tracer, name, DIRECTIONS[mode], operands)
    wide = [cast(tracer, o, core.float32) for o in operands]
    return narrow(tracer, libdevice.call_directed(tracer, name, DIRECTIONS[mode], wide), element, mode)


def narrow(tracer: Tracer, value: core.tensor, element: core.dtype, mode: str) -> core.tensor:
    """f32 to f16 or bf16, rounded in a direction."""
    nearest = cast(tracer, value, element)
    back = cast(tracer, nearest, core.float32)
    above, below = _compare(tracer, "OGT", back, value), _compare(tracer, "OLT", back, value)
    positive = _compare(tracer, "OGT", value, constant(tracer, 0.0, value.type))
    bits = bits_of_floats(tracer, nearest)
    one = constant(tracer, 1, bits.type)
    # The next number towards zero has the next smaller bits, away from zero the next larger ones, of either sign.
    smaller, larger = tracer.make("create_sub", bits.type, bits, one), tracer.make("create_add", bits.type, bits, one)
    negative = tracer.make("create_xor", positive.type, positive, constant(tracer, True, positive.type))

    def both(a: core.tensor, b: core.tensor) -> core.tensor:
        return tracer.make("create_and", a.type, a, b)

    if mode in ("RZ", "RM"):
        bits = choose(tracer, both(above, positive), smaller, bits)
    if mode in ("RZ", "RP"):
        bits = choose(tracer, both(below, negative), smaller, bits)
    if mode == "RM":
        bits = choose(tracer, both(above, negative), larger, bits)
    if mode == "RP":
        bits = choose(tracer, both(below, positive), larger, bits)
    return core.tensor(tracer.builder.create_bitcast(bits.handle, nearest.type.to_ir(tracer.builder)), nearest.type)


def nearest_away(tracer: Tracer, value: core.tensor, element: core.dtype) -> core.tensor:
    """f32 to f16: of two numbers that are as near the one away from zero, where casts take the even one."""
    nearest = cast(tracer, value, element)
    bits = bits_of_floats(tracer, nearest)
    next_bits = tracer.make("create_add", bits.type, bits, constant(tracer, 1, bits.type))
    beyond = core.tensor(
        tracer.builder.create_bitcast(next_bits.handle, nearest.type.to_ir(tracer.builder)), nearest.type
    )
    size, low, high = (
        tracer.make("create_fabs", value.type, cast(tracer, v, core.float32)) for v in (value, nearest, beyond)
    )
    down, up = tracer.make("create_fsub", size.type, size, low), tracer.make("create_fsub", size.type, high, size)
    positive = _compare(tracer, "OGT", down, constant(tracer, 0.0, down.type))
    tie = tracer.make("create_and", positive.type, positive, _compare(tracer, "OEQ", down, up))
    return choose(tracer, tie, beyond, nearest)


def bits_of_floats(tracer: Tracer, value: core.tensor) -> core.tensor:
    """The bits of floats."""
    return tracer.semantic.bitcast(value, bits_of(value.type.scalar.primitive_bitwidth))


def _compare(tracer: Tracer, kind: str, a: core.tensor, b: core.tensor) -> core.tensor:
    return tracer.make(f"create_fcmp{kind}", like(a, core.int1), a, b)


def flushing(tracer: Tracer, compute: Callable[..., core.tensor], *operands: core.tensor) -> core.tensor:
    """f32 arithmetic where subnormal operands and results are zeros of their sign."""
    return flushed(tracer, compute(*(flushed(tracer, o) for o in operands)))


def flushed(tracer: Tracer, value: core.tensor) -> core.tensor:
    size = tracer.make("create_fabs", value.type, value)
    is_small = _compare(tracer, "OLT", size, constant(tracer, _SMALLEST_NORMAL, value.type))
    bits = bits_of_floats(tracer, value)
    sign = tracer.make("create_and", bits.type, bits, constant(tracer, 1 << 31, bits.type))
    kept = choose(tracer, is_small, sign, bits)
    return tracer.semantic.bitcast(kept, core.float32)
