"""Python text, laid out as `ruff format` does: TIR's expressions, values, and lists that may not fit a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

WIDTH = 120
_OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%"}
_FUNCTIONS = {"Min": "min", "Max": "max"}


def expression(tir: Any, name_of: Callable[[Any], str | None]) -> str | None:
    """TIR as Python over the names of its variables; None where it is no arithmetic of these."""
    kind = type(tir).__name__
    if kind in ("int", "IntImm"):
        return str(int(tir))
    if kind in ("Var", "SizeVar"):
        return name_of(tir)
    if kind == "Cast":
        return expression(tir.value, name_of)
    if kind not in _OPERATORS and kind not in _FUNCTIONS:
        return None
    a, b = expression(tir.a, name_of), expression(tir.b, name_of)
    if a is None or b is None:
        return None
    return f"{_FUNCTIONS[kind]}({a}, {b})" if kind in _FUNCTIONS else f"{_part(a)} {_OPERATORS[kind]} {_part(b)}"


def _part(text: str) -> str:
    return f"({text})" if " " in text and not text.startswith(("min(", "max(")) else text


def tuple_text(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def literal(value: Any) -> str | None:
    """A value as Python text; None where it is none that text can say."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        items = [literal(item) for item in value]
        known = [item for item in items if item is not None]
        inside = tuple_text(known) if isinstance(value, tuple) and known else f"[{', '.join(known)}]"
        return inside if len(known) == len(items) else None
    return None


def dictionary(name: str, values: Mapping[str, str]) -> list[str]:
    """One line for each entry: the last comma keeps it so."""
    return [f"{name} = {{", *(f"    {json.dumps(key)}: {value}," for key, value in values.items()), "}"]


def broken(head: str, items: Sequence[str], tail: str, indent: int = 0) -> list[str]:
    """``head(items)tail`` on one line, or its items on the next, or each on its own."""
    space, inner = " " * indent, " " * (indent + 4)
    joined = ", ".join(items)
    if len(f"{space}{head}{joined}{tail}") <= WIDTH:
        return [f"{space}{head}{joined}{tail}"]
    if len(f"{inner}{joined}") <= WIDTH:
        return [f"{space}{head}", f"{inner}{joined}", f"{space}{tail}"]
    return [f"{space}{head}", *(f"{inner}{item}," for item in items), f"{space}{tail}"]
