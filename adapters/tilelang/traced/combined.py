"""Two values made one, as TileLang's reductions and scans name it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.language import core

from tle_raw.adapters.common.control_flow import Values
from tle_raw.regions.small_floats import is_small


def combine(tracer: Any, kind: str, a: core.tensor, b: core.tensor) -> core.tensor:
    """Two elements of a reduction."""
    semantic = tracer.semantic
    if kind == "sum":
        return tracer.widened(lambda x, y: semantic.add(x, y, False), a, b)
    if kind in ("max", "min"):
        choose = semantic.maximum if kind == "max" else semantic.minimum
        return tracer.widened(lambda x, y: choose(x, y, core.PropagateNan.NONE), a, b)
    if kind == "bitand":
        return semantic.and_(a, b)
    if kind == "bitxor":
        return semantic.xor_(a, b)
    assert kind == "bitor", kind
    return semantic.or_(a, b)


def reduced(tracer: Any, value: core.tensor, axis: int, kind: str) -> core.tensor:
    """Without that axis."""
    (result,) = tracer.flow.reduce(tracer, [_wide(tracer, value)], axis, _combining(tracer, kind))
    return tracer.cast(result, value.type.scalar)


def scanned(tracer: Any, value: core.tensor, axis: int, kind: str, reverse: bool) -> core.tensor:
    """Each element with all that lie before it."""
    (result,) = tracer.flow.scan(tracer, [_wide(tracer, value)], axis, _combining(tracer, kind), reverse)
    return tracer.cast(result, value.type.scalar)


def _wide(tracer: Any, value: core.tensor) -> core.tensor:
    """Floats of eight bits are combined as f32, and rounded once."""
    return tracer.cast(value, core.float32) if is_small(value.type.scalar) else value


def _combining(tracer: Any, kind: str) -> Callable[[Values, Values], Values]:
    return lambda a, b: [combine(tracer, kind, a[0], b[0])]
