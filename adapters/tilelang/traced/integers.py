"""Division of integers: TIR's rounds down, Triton's towards zero."""

from __future__ import annotations

from triton.language import core

from tle_raw.adapters.tilelang.traced.tracer import Tracer


def floor_divide(
    tracer: Tracer, a: core.tensor, b: core.tensor, positive: bool, divisor: int | None = None
) -> core.tensor:
    """``a // b`` as Python has it. ``positive``: neither is below zero, and so Triton's own does."""
    semantic = tracer.semantic
    if a.type.scalar.is_floating():
        return _floor(tracer, semantic.truediv(a, b))
    if positive or a.type.scalar.is_int_unsigned():
        return semantic.floordiv(a, b)
    if _is_power(divisor):
        return semantic.ashr(a, tracer.number(divisor.bit_length() - 1, a.type.scalar))  # type: ignore[union-attr]
    quotient = semantic.floordiv(a, b)
    down = tracer.cast(_rounds_up(tracer, a, b), a.type.scalar)
    return semantic.sub(quotient, down, False)


def floor_remainder(
    tracer: Tracer, a: core.tensor, b: core.tensor, positive: bool, divisor: int | None = None
) -> core.tensor:
    """``a % b`` as Python has it: with the sign of ``b``."""
    semantic = tracer.semantic
    if a.type.scalar.is_floating():
        whole = _floor(tracer, semantic.truediv(a, b))
        return semantic.sub(a, semantic.mul(whole, b, False), False)
    if positive or a.type.scalar.is_int_unsigned():
        return semantic.mod(a, b)
    if _is_power(divisor):
        return semantic.and_(a, tracer.number(divisor - 1, a.type.scalar))  # type: ignore[operator]
    remainder = semantic.mod(a, b)
    return tracer.choose(_rounds_up(tracer, a, b), semantic.add(remainder, b, False), remainder)


def _is_power(divisor: int | None) -> bool:
    return divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0


def _rounds_up(tracer: Tracer, a: core.tensor, b: core.tensor) -> core.tensor:
    """Where rounding towards zero goes up: a rest is left, and its sign is not the divisor's."""
    semantic, zero = tracer.semantic, tracer.number(0, a.type.scalar)
    remainder = semantic.mod(a, b)
    differs = semantic.less_than(semantic.xor_(remainder, b), zero)
    return semantic.and_(semantic.not_equal(remainder, zero), differs)


def _floor(tracer: Tracer, value: core.tensor) -> core.tensor:
    return core.tensor(tracer.semantic.builder.create_floor(value.handle), value.type)
