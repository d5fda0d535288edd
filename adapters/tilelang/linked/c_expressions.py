"""Prints TIR's integer expressions as C++ text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.adapters.tilelang.tir_types import Expression

_BINARY = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "/", "FloorMod": "%", "Div": "/", "Mod": "%"}
_CHOICES = {"Max": ">", "Min": "<"}
_SHIFTS = {"tirx.shift_right": ">>", "tirx.shift_left": "<<", "tirx.bitwise_and": "&"}
CASTS = {"int32": "int", "int64": "long long", "uint32": "unsigned"}


def c_expression(expression: Expression, names: Mapping[Any, str]) -> str:
    """The text, with ``names`` for variables; "" where the expression holds something else.

    Extents are no less than zero, so that a floored division is C++'s own.
    """
    try:
        return _print(expression, names)
    except (KeyError, ValueError):
        return ""


def _print(e: Any, names: Mapping[Any, str]) -> str:
    kind = type(e).__name__
    if kind == "IntImm":
        return str(int(e.value))
    if kind in ("Var", "SizeVar"):
        return names[e]
    if kind in _BINARY:
        return f"({_print(e.a, names)} {_BINARY[kind]} {_print(e.b, names)})"
    if kind in _CHOICES:
        a, b = _print(e.a, names), _print(e.b, names)
        return f"({a} {_CHOICES[kind]} {b} ? {a} : {b})"
    if kind == "Cast":
        return f"({CASTS[str(e.dtype)]}){_print(e.value, names)}"
    if kind == "Call":
        left, right = (_print(a, names) for a in e.args)
        return f"({left} {_SHIFTS[e.op.name]} {right})"
    raise KeyError(kind)
