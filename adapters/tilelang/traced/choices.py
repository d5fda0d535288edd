"""A choice between two expressions, of which only one may touch memory."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.tir_types import Expression
from tle_raw.adapters.tilelang.traced.tracer import Tracer


def choose(tracer: Tracer, condition: Expression, yes: Any, no: Any) -> core.tensor:
    """Both sides are computed; each touches memory only where it is the one that is taken."""
    held = tracer.evaluate(condition)
    with tracer.guarded(held if _loads(yes) else None):
        a = tracer.evaluate(yes)
    with tracer.guarded(_opposite(tracer, held) if _loads(no) else None):
        b = tracer.evaluate(no)
    return tracer.choose(held, a, b)


def _opposite(tracer: Tracer, condition: core.tensor) -> core.tensor:
    return tracer.semantic.xor_(condition, tracer.number(True, core.int1))


def _loads(expression: Expression) -> bool:
    from tvm.tirx.stmt_functor import post_order_visit

    found: list[Any] = []
    post_order_visit(expression, lambda n: found.append(n) if type(n).__name__ == "BufferLoad" else None)
    return bool(found)
