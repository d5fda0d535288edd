"""Two values made one, as TileLang's reductions and scans name it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.language import core

from tle_raw.control_flow import Values


def combine(tracer: Any, kind: str, a: core.tensor, b: core.tensor) -> core.tensor:
    """Two elements of a reduction."""
    semantic = tracer.semantic
    if kind == "sum":
        return semantic.add(a, b, False)
    if kind in ("max", "min"):
        choose = semantic.maximum if kind == "max" else semantic.minimum
        return choose(a, b, core.PropagateNan.NONE)
    if kind == "bitand":
        return semantic.and_(a, b)
    if kind == "bitxor":
        return semantic.xor_(a, b)
    assert kind == "bitor", kind
    return semantic.or_(a, b)


def reduced(tracer: Any, value: core.tensor, axis: int, kind: str) -> core.tensor:
    """Without that axis."""
    (result,) = tracer.flow.reduce(tracer, [value], axis, _combining(tracer, kind))
    return result


def scanned(tracer: Any, value: core.tensor, axis: int, kind: str, reverse: bool) -> core.tensor:
    """Each element with all that lie before it."""
    (result,) = tracer.flow.scan(tracer, [value], axis, _combining(tracer, kind), reverse)
    return result


def _combining(tracer: Any, kind: str) -> Callable[[Values, Values], Values]:
    return lambda a, b: [combine(tracer, kind, a[0], b[0])]
