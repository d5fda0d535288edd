"""What cuTile knows of values and of order, and what Triton does with it."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.values import constant
from tle_raw.regions.shapes import shape_of


@operation("make_token", "join_tokens")
def order_only(tracer: Tracer, op: Operation) -> None:
    """Barriers say it: see ``order``."""


@operation("assume_div_by")
def divisible(tracer: Tracer, op: Operation) -> Any:
    """An index keeps its multiple where it is known: Triton's alignment analysis sees the multiplication."""
    value = tracer.value(op.x)
    if not isinstance(value, core.tensor) or shape_of(value) or not value.type.is_int() or tracer.is_interpreted:
        return value
    divisor = constant(tracer, op.divisor, value.type)
    return tracer.make("create_mul", value.type, tracer.make("create_sdiv", value.type, value, divisor), divisor)


@operation("assume_bounded")
def bounded(tracer: Tracer, op: Operation) -> core.tensor:
    value = tracer.value(op.x)
    if op.x.name in tracer.multiples:
        tracer.multiples[op.result_vars[0].name] = tracer.multiples[op.x.name]
    if shape_of(value) or not value.type.is_int() or tracer.is_interpreted:
        return value
    signed = value.type.is_int_signed()
    if op.lower_bound is not None and signed:
        limit = constant(tracer, op.lower_bound, value.type)
        tracer.semantic.assume(tracer.make("create_icmpSGE", core.int1, value, limit))
    if op.upper_bound is not None:
        limit = constant(tracer, op.upper_bound, value.type)
        tracer.semantic.assume(tracer.make(f"create_icmp{'S' if signed else 'U'}LE", core.int1, value, limit))
    return value
