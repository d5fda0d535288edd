"""Behind an obstacle: what else in the same statement cannot be traced.

A statement is left at the first thing that cannot be expressed: the bounds of a loop, one operand of a sum. The rest of
it is looked at here, so that all obstacles are told at once. Nothing that is written here is ever part of a kernel.
"""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.tir_types import Expression, Node
from tle_raw.adapters.tilelang.traced.functions import FUNCTIONS
from tle_raw.adapters.tilelang.traced.tracer import Tracer


def look_behind(tracer: Tracer, statement: Node) -> None:
    """Meet the obstacles of a statement that was left half way."""
    location = tracer.location
    for expression in _expressions(statement):
        _unknown_functions(tracer, expression)
    _enter_bodies(tracer, statement)
    tracer.location = location


def _expressions(statement: Node) -> list[Any]:
    """Operands that are values; a tile operation's are regions and settings."""
    kind = type(statement).__name__
    if kind in ("BufferStore", "Bind"):
        return [statement.value]
    return [statement.condition] if kind in ("IfThenElse", "While") else []


def _unknown_functions(tracer: Tracer, expression: Expression) -> None:
    from tvm.tirx.stmt_functor import post_order_visit

    def visit(node: Node) -> None:
        name = str(getattr(node.op, "name", node.op)) if type(node).__name__ == "Call" else ""
        if name and name not in FUNCTIONS:
            tracer.meet(tracer.fail(f"the function {name}"))

    post_order_visit(expression, visit)


def _enter_bodies(tracer: Tracer, statement: Node) -> None:
    """Bodies that were not reached; the loop's variable, which has no value then, is zero."""
    from tvm.tirx import IntImm

    for name in ("body", "then_case", "else_case"):
        body = getattr(statement, name, None)
        if body is None or body in tracer.entered:
            continue
        variable = getattr(statement, "loop_var", None)
        if variable is not None:
            tracer.expressions[variable] = IntImm(variable.dtype, 0)
        tracer.run_body(body)
