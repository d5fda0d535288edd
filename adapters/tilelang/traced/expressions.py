"""TIR's expressions: each is a scalar, or inside parallel loops a block tensor with an axis for each loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.narrow import is_narrow
from tle_raw.adapters.tilelang.regions import constant
from tle_raw.adapters.tilelang.tir_types import Expression, Variable
from tle_raw.adapters.tilelang.traced import access, integers
from tle_raw.adapters.tilelang.traced.choices import choose
from tle_raw.adapters.tilelang.traced.functions import FUNCTIONS
from tle_raw.adapters.tilelang.traced.narrow_values import convert, encode
from tle_raw.adapters.tilelang.traced.tracer import Tracer

_ARITHMETIC = {
    "Add": lambda s, a, b: _add(s, a, b),
    "Sub": lambda s, a, b: s.sub(a, b, False),
    "Mul": lambda s, a, b: s.mul(a, b, False),
    "Max": lambda s, a, b: s.maximum(a, b, core.PropagateNan.NONE),
    "Min": lambda s, a, b: s.minimum(a, b, core.PropagateNan.NONE),
    "EQ": lambda s, a, b: s.equal(a, b),
    "NE": lambda s, a, b: s.not_equal(a, b),
    "LT": lambda s, a, b: s.less_than(a, b),
    "LE": lambda s, a, b: s.less_equal(a, b),
    "GT": lambda s, a, b: s.greater_than(a, b),
    "GE": lambda s, a, b: s.greater_equal(a, b),
    "And": lambda s, a, b: s.and_(a, b),
    "Or": lambda s, a, b: s.or_(a, b),
}


def _add(semantic: Any, a: core.tensor, b: core.tensor) -> core.tensor:
    """The sum; of booleans it is whether one of them holds, as in C, where any number but zero is true."""
    if a.type.scalar.is_int1() and b.type.scalar.is_int1():
        return semantic.or_(a, b)
    return semantic.add(a, b, False)


_DIVISIONS = ("Div", "Mod", "FloorDiv", "FloorMod")


def evaluate(tracer: Tracer, expression: Expression) -> core.tensor:
    """The value of an expression."""
    kind = type(expression).__name__
    if kind in _DIVISIONS or kind in _ARITHMETIC:
        tracer.dtype(expression.a.dtype)  # or there is no arithmetic of it
    handler = _KINDS.get(kind)
    if handler is not None:
        return handler(tracer, expression)
    if kind in _ARITHMETIC:
        a, b = evaluate(tracer, expression.a), evaluate(tracer, expression.b)
        return tracer.widened(lambda x, y: _ARITHMETIC[kind](tracer.semantic, x, y), a, b)
    raise tracer.fail(f"{kind} ({expression})")


def _constant(tracer: Tracer, expression: Expression) -> core.tensor:
    if is_narrow(expression.dtype):
        return tracer.number(int(expression.value) & 15, core.uint8)
    dtype = tracer.dtype(expression.dtype)
    return tracer.number(bool(expression.value) if dtype.is_int1() else expression.value, dtype)


def _float_constant(tracer: Tracer, expression: Expression) -> core.tensor:
    if is_narrow(expression.dtype):
        return encode(tracer, tracer.number(float(expression.value), core.float32), str(expression.dtype))
    return tracer.number(float(expression.value), tracer.dtype(expression.dtype))


def _variable(tracer: Tracer, expression: Variable) -> core.tensor:
    lane = tracer.lane(expression)
    if lane is not None:
        return tracer.cast(lane, tracer.dtype(expression.dtype))
    if expression in tracer.scalars:
        return tracer.scalars[expression]
    if expression in tracer.expressions:
        return evaluate(tracer, tracer.expressions[expression])
    is_thread = expression in tracer.threads or str(expression.name).startswith("thread")
    raise tracer.fail(
        f"`{expression.name}` is an index of one thread" if is_thread else f"the value of `{expression}`",
        hint="block tensors belong to all threads of a block: use T.Parallel and tile operations",
    )


def _cast(tracer: Tracer, expression: Expression) -> core.tensor:
    return convert(tracer, evaluate(tracer, expression.value), expression.value.dtype, expression.dtype)


def _not(tracer: Tracer, expression: Expression) -> core.tensor:
    return tracer.semantic.xor_(evaluate(tracer, expression.a), tracer.number(True, core.int1))


def _divide(tracer: Tracer, expression: Expression) -> core.tensor:
    """``/`` of TIR: of floats, and of integers towards zero."""
    a, b = evaluate(tracer, expression.a), evaluate(tracer, expression.b)
    if a.type.scalar.is_int():
        return tracer.semantic.floordiv(a, b)
    return tracer.widened(tracer.semantic.truediv, a, b)


def _remainder(tracer: Tracer, expression: Expression) -> core.tensor:
    """``%`` of TIR with the sign of the dividend, as C has it."""
    return tracer.semantic.mod(evaluate(tracer, expression.a), evaluate(tracer, expression.b))


def _floor_divide(tracer: Tracer, expression: Expression) -> core.tensor:
    a, b = evaluate(tracer, expression.a), evaluate(tracer, expression.b)
    return integers.floor_divide(tracer, a, b, *_signs(tracer, expression))


def _floor_remainder(tracer: Tracer, expression: Expression) -> core.tensor:
    a, b = evaluate(tracer, expression.a), evaluate(tracer, expression.b)
    return integers.floor_remainder(tracer, a, b, *_signs(tracer, expression))


def _signs(tracer: Tracer, expression: Expression) -> tuple[bool, int | None]:
    """Whether the dividend is known to be no less than zero, and the divisor where it is constant."""
    if str(expression.dtype).startswith("float"):
        return False, None
    dividend, divisor = tracer.simplify(expression.a), tracer.simplify(expression.b)
    positive = tracer.proves(dividend >= 0) and tracer.proves(divisor > 0)
    return positive, constant(divisor)


def _choose(tracer: Tracer, expression: Expression) -> core.tensor:
    return choose(tracer, expression.condition, expression.true_value, expression.false_value)


def _let(tracer: Tracer, expression: Expression) -> core.tensor:
    tracer.scalars[expression.var] = evaluate(tracer, expression.value)
    return evaluate(tracer, expression.body)


def _load(tracer: Tracer, expression: Expression) -> core.tensor:
    if getattr(expression, "predicate", None) is not None:
        raise tracer.fail("a load with a predicate of its own")
    return access.load(tracer, expression.buffer, expression.indices)


def _call(tracer: Tracer, expression: Expression) -> core.tensor:
    name = str(getattr(expression.op, "name", expression.op))
    handler = FUNCTIONS.get(name)
    if handler is None:
        raise tracer.fail(f"the function {name}")
    if name not in _OF_CODES:
        for argument in expression.args:
            if is_narrow(getattr(argument, "dtype", "")):
                raise tracer.fail(f"the function {name} of values of type {argument.dtype}")
    return handler(tracer, expression)


_OF_CODES = ("tirx.if_then_else", "tirx.reinterpret", "tirx.likely", "tl.__ldg")  # functions that do not compute

_KINDS: dict[str, Callable[[Tracer, Any], core.tensor]] = {
    "IntImm": _constant,
    "FloatImm": _float_constant,
    "Var": _variable,
    "SizeVar": _variable,
    "Cast": _cast,
    "Not": _not,
    "Div": _divide,
    "Mod": _remainder,
    "FloorDiv": _floor_divide,
    "FloorMod": _floor_remainder,
    "Select": _choose,
    "Let": _let,
    "BufferLoad": _load,
    "Call": _call,
}
