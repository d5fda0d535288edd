"""TIR's expressions as those of tile programs."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.tile_programs.names import Names
from tle_raw.adapters.tilelang.tir_types import Expression, Node
from tle_raw.errors import UnsupportedFeatureError
from tle_raw.tile_program import Apply, Load, Name, Number
from tle_raw.tile_program import Expression as Made

_BINARY = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "Max": "max",
    "Min": "min",
    "EQ": "eq",
    "NE": "ne",
    "LT": "lt",
    "LE": "le",
    "GT": "gt",
    "GE": "ge",
    "And": "and",
    "Or": "or",
}
_FUNCTIONS = (
    *("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "floor", "ceil"),
    *("pow",),
)
_CALLS = {
    **{f"tirx.{name}": name for name in _FUNCTIONS},
    "tirx.fabs": "abs",
    "tirx.abs": "abs",
    "tirx.if_then_else": "select",
    "tl.__exp": "exp",
    "tl.__log": "log",
    "tl.__log2": "log2",
    "tl.fast_rcp": "recip",
    "tl.ieee_frcp": "recip",
    "tl.ieee_add": "add",
    "tl.ieee_sub": "sub",
    "tl.ieee_mul": "mul",
    "tl.fmul": "mul",
    "tl.ieee_fdiv": "div",
}
_THROUGH = ("tirx.likely", "tl.__ldg")


def read_expression(names: Names, expression: Expression | int | float) -> Made:
    """The expression in a tile program's words.

    Raises
    ------
    UnsupportedFeatureError : it holds something that those have no word for.
    """
    if isinstance(expression, (int, float)):
        return Number(expression, "int32" if isinstance(expression, int) else "float32")
    kind = type(expression).__name__
    if kind in _BINARY:
        return Apply(
            _BINARY[kind],
            (read_expression(names, expression.a), read_expression(names, expression.b)),
            _dtype(expression),
        )
    handler = _KINDS.get(kind)
    if handler is None:
        raise UnsupportedFeatureError(f"{kind} ({expression}) has no word in tile programs")
    return handler(names, expression)


def _dtype(expression: Node) -> str:
    return str(expression.dtype)


def _variable(names: Names, variable: Any) -> Made:
    if variable in names.bound:
        return read_expression(names, names.bound[variable])
    if str(variable.name).startswith("thread") or str(variable.name) in ("tx", "ty", "tz"):
        raise UnsupportedFeatureError(
            f"`{variable.name}` is an index of one thread", hint="use T.Parallel and tile operations"
        )
    return Name(names.variable(variable), _dtype(variable))


def _cast(names: Names, expression: Expression) -> Made:
    return Apply("cast", (read_expression(names, expression.value),), _dtype(expression))


def _select(names: Names, expression: Expression) -> Made:
    parts = (expression.condition, expression.true_value, expression.false_value)
    return Apply("select", tuple(read_expression(names, part) for part in parts), _dtype(expression))


def _load(names: Names, expression: Expression) -> Made:
    indices = tuple(read_expression(names, index) for index in expression.indices)
    return Load(names.buffer(expression.buffer), indices, _dtype(expression))


def _call(names: Names, expression: Any) -> Made:
    name = str(getattr(expression.op, "name", expression.op))
    if name in _THROUGH:
        return read_expression(names, expression.args[0])
    if name == "tl.clamp":
        value, low, high = (read_expression(names, argument) for argument in expression.args)
        dtype = _dtype(expression)
        return Apply("min", (Apply("max", (value, low), dtype), high), dtype)
    if name == "tl.infinity":
        return Number(float("inf"), _dtype(expression))
    if name not in _CALLS:
        raise UnsupportedFeatureError(f"the function {name} has no word in tile programs")
    arguments = tuple(read_expression(names, argument) for argument in expression.args)
    return Apply(_CALLS[name], arguments, _dtype(expression))


_KINDS = {
    "IntImm": lambda names, e: Number(int(e.value), _dtype(e)),
    "FloatImm": lambda names, e: Number(float(e.value), _dtype(e)),
    "Var": _variable,
    "SizeVar": _variable,
    "Cast": _cast,
    "Not": lambda names, e: Apply("not", (read_expression(names, e.a),), "bool"),
    "Select": _select,
    "BufferLoad": _load,
    "Call": _call,
}
