"""Python's operators on values: their types meet, then one or a few operations of ``arith`` follow."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.mathematics import apply
from tle_raw.adapters.mlir.edsl.memory import element_pointer
from tle_raw.adapters.mlir.edsl.types import BOOL, F32, I32, I64, Number, PointerType, TileType, Vector, meet, promote
from tle_raw.adapters.mlir.edsl.values import EdslValue, describe, is_literal, is_positive
from tle_raw.errors import Row

SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.UAdd: "+",
    ast.USub: "-",
    ast.Invert: "~",
}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
# Numbers of arith's predicates: ordered but for !=, which is true for a NaN, as in Python.
_FLOAT_PREDICATES = {"==": 1, "!=": 13, "<": 4, "<=": 5, ">": 2, ">=": 3}
_SIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_UNSIGNED_PREDICATES = {"==": 0, "!=": 1, "<": 6, "<=": 7, ">": 8, ">=": 9}


def binary(emit: Emitter, symbol: str, left: object, right: object) -> Any:
    """``left <symbol> right``; constants are computed now."""
    if not isinstance(left, EdslValue) and not isinstance(right, EdslValue):
        return _fold(emit, symbol, left, right)
    if isinstance(left, EdslValue) and isinstance(left.type, PointerType):
        return _pointer_arithmetic(emit, symbol, left, right)
    if isinstance(left, EdslValue) and isinstance(left.type, Vector):
        return _vector(emit, symbol, left, right)
    if isinstance(right, EdslValue) and isinstance(right.type, Vector):
        return _vector(emit, symbol, left, right)
    for side in (left, right):
        if not _is_number(side):
            _refuse(emit, symbol, left, right)
    if symbol in ("<<", ">>"):
        return _shift(emit, symbol, left, right)
    type_ = common_type(left, right)
    if symbol in COMPARISONS:
        one, other = _both(emit, left, right, type_)
        return _compare(emit, symbol, one, other, type_)
    if type_.is_fp8:
        emit.fail(f"`{symbol}` is not for {type_}", _rows(left, right), "convert it first: f32(x)")
    return _arithmetic(emit, symbol, left, right, type_)


def common_type(left: object, right: object) -> Number:
    """The type in which two numbers meet, of which one at least is no literal."""
    if not isinstance(left, EdslValue):
        return meet(left, right.type)  # type: ignore[arg-type,attr-defined]
    if not isinstance(right, EdslValue):
        return meet(right, left.type)  # type: ignore[arg-type]
    return promote(left.type, right.type)  # type: ignore[arg-type]


_UNARY: dict[str, Callable[[Any], Any]] = {"+": operator.pos, "-": operator.neg, "~": operator.invert}


def unary(emit: Emitter, symbol: str, operand: object) -> Any:
    """``+x``, ``-x``, ``~x``."""
    if is_literal(operand):
        if symbol == "~" and isinstance(operand, float):
            emit.fail("`~` is for integers and bools")
        if symbol == "~" and isinstance(operand, bool):
            return not operand
        return _UNARY[symbol](operand)
    if not isinstance(operand, EdslValue):
        emit.mismatch(f"`{symbol}` needs a number", "a number", operand)
    type_ = operand.type
    if isinstance(type_, Vector):
        lanes = [unary(emit, symbol, emit.extract(operand, lane)) for lane in range(type_.length)]
        return emit.vector(lanes)
    if not isinstance(type_, Number) or type_.is_fp8 or (symbol == "~" and type_.is_float):
        emit.mismatch(f"`{symbol}` is not for this type", "an integer" if symbol == "~" else "a number", operand)
    if symbol == "+":
        return operand
    if symbol == "~":
        ones = emit.constant(True) if type_.is_bool else emit.constant(-1 if type_.is_signed else type_.range[1], type_)
        return emit.op("arith.xori", (operand, ones), type_)
    if type_.is_float:
        return emit.op("arith.negf", (operand,), type_)
    wide = emit.convert(operand, I32) if type_.is_bool else operand
    return emit.op("arith.subi", (emit.constant(0, wide.type), wide), wide.type)  # type: ignore[arg-type]


def floor_divide(emit: Emitter, left: EdslValue, right: EdslValue, positive: bool) -> tuple[EdslValue, EdslValue]:
    """Quotient and remainder of signed integers, rounded down as in Python; ``positive``: the divisor is."""
    type_ = left.type
    assert isinstance(type_, Number)
    quotient = emit.op("arith.divsi", (left, right), type_)
    rest = emit.op("arith.subi", (left, emit.op("arith.muli", (quotient, right), type_)), type_)
    zero = emit.constant(0, type_)
    if positive:
        wrong = _compare(emit, "<", rest, zero, type_)
    else:
        signs = _compare(emit, "<", emit.op("arith.xori", (rest, right), type_), zero, type_)
        wrong = emit.op("arith.andi", (signs, _compare(emit, "!=", rest, zero, type_)), BOOL)
    below = emit.op("arith.subi", (quotient, emit.constant(1, type_)), type_)
    lifted = emit.op("arith.addi", (rest, right), type_)
    return emit.select(wrong, below, quotient), emit.select(wrong, lifted, rest)


def minimum_or_maximum(emit: Emitter, left: object, right: object, larger: bool) -> Any:
    """The smaller or the larger of two numbers; of a number and a NaN the number."""
    if is_literal(left) and is_literal(right):
        return (max if larger else min)(left, right)  # type: ignore[call-overload]
    for side in (left, right):
        if not _is_number(side):
            emit.mismatch("min and max take numbers", "a number", side)
    type_ = common_type(left, right)
    one, other = _both(emit, left, right, type_)
    if type_.is_fp8:
        emit.mismatch("min and max are not for this type", "f32, …", str(type_))
    if type_.is_float:
        return emit.op("llvm.intr.maxnum" if larger else "llvm.intr.minnum", (one, other), type_)
    if type_.is_bool:
        return emit.op("arith.ori" if larger else "arith.andi", (one, other), type_)
    return emit.op(f"arith.{'max' if larger else 'min'}{'s' if type_.is_signed else 'u'}i", (one, other), type_)


def _fold(emit: Emitter, symbol: str, left: Any, right: Any) -> Any:
    if symbol == "@" or symbol not in _PYTHON:
        _refuse(emit, symbol, left, right)
    numbers = is_literal(left) and is_literal(right)
    if not numbers and not (
        symbol in ("==", "!=") or (isinstance(left, (tuple, str)) and isinstance(right, type(left)))
    ):
        _refuse(emit, symbol, left, right)
    if isinstance(left, tuple) and isinstance(right, tuple) and symbol in COMPARISONS and _has_values(left + right):
        emit.fail("tuples of values cannot be compared", _rows(left, right), "compare their elements")
    if symbol in ("<<", "**") and isinstance(right, int) and right > 4096:
        emit.mismatch(f"the constant is too large for `{symbol}`", "at most 4096", repr(right), "value")
    try:
        return _PYTHON[symbol](left, right)
    except (ArithmeticError, TypeError, ValueError) as error:
        emit.fail(f"`{symbol}` of these constants fails: {error}", _rows(left, right))


def _has_values(items: tuple[Any, ...]) -> bool:
    return any(isinstance(i, EdslValue) or (isinstance(i, tuple) and _has_values(i)) for i in items)


def _is_number(value: object) -> bool:
    return is_literal(value) or (isinstance(value, EdslValue) and isinstance(value.type, Number))


def _rows(left: object, right: object) -> list[Row]:
    return [Row("left", "a number", describe(left)), Row("right", "a number", describe(right))]


def _refuse(emit: Emitter, symbol: str, left: object, right: object) -> None:
    rows = [
        Row(name, describe(side) if _is_number(side) else "a number", describe(side))
        for name, side in (("left", left), ("right", right))
    ]
    tile = any(isinstance(side, EdslValue) and isinstance(side.type, TileType) for side in (left, right))
    hint = "the threads share out a tile's elements: loop over them, t[i]" if tile else ""
    emit.fail(f"`{symbol}` is not defined for these", rows, hint)


def _both(emit: Emitter, left: object, right: object, type_: Number) -> tuple[EdslValue, EdslValue]:
    return _as(emit, left, type_), _as(emit, right, type_)


def _as(emit: Emitter, side: object, type_: Number) -> EdslValue:
    """A literal as exactly this type, a value converted to it."""
    if isinstance(side, EdslValue):
        return emit.convert(side, type_)
    return emit.constant(float(side) if type_.is_float else side, type_)  # type: ignore[arg-type]


def _compare(emit: Emitter, symbol: str, left: EdslValue, right: EdslValue, type_: Number) -> EdslValue:
    if type_.is_fp8:
        left, right, type_ = emit.convert(left, F32), emit.convert(right, F32), F32
    if type_.is_float:
        return emit.op("arith.cmpf", (left, right), BOOL, {"predicate": f"{_FLOAT_PREDICATES[symbol]} : i64"})
    predicates = _SIGNED_PREDICATES if type_.is_signed else _UNSIGNED_PREDICATES
    return emit.op("arith.cmpi", (left, right), BOOL, {"predicate": f"{predicates[symbol]} : i64"})


def _arithmetic(emit: Emitter, symbol: str, left: object, right: object, type_: Number) -> EdslValue:
    if symbol in ("&", "|", "^"):
        if type_.is_float:
            _refuse_float(emit, symbol, left, right)
        names = {"&": "arith.andi", "|": "arith.ori", "^": "arith.xori"}
        return emit.op(names[symbol], _both(emit, left, right, type_), type_)
    if type_.is_bool:
        type_ = I32  # as Python's own bools
    if symbol == "/":
        return _divide(emit, left, right, type_)
    if symbol == "**":
        return _power(emit, left, right, type_)
    if symbol == "@":
        _refuse(emit, symbol, left, right)
    one, other = _both(emit, left, right, type_)
    if symbol in ("//", "%"):
        if is_literal(right) and right == 0 and not type_.is_float:
            emit.fail(f"`{symbol}` by zero")
        return _floor(emit, symbol, one, other, type_, right)
    name = {"+": "add", "-": "sub", "*": "mul"}[symbol]
    result = emit.op(f"arith.{name}{'f' if type_.is_float else 'i'}", (one, other), type_)
    result.positive = name != "sub" and is_positive(left) and is_positive(right)
    return result


def _refuse_float(emit: Emitter, symbol: str, left: object, right: object) -> None:
    rows = [Row(n, "an integer or a bool", describe(s)) for n, s in (("left", left), ("right", right))]
    emit.fail(f"`{symbol}` is for integers and bools", rows)


def _divide(emit: Emitter, left: object, right: object, type_: Number) -> EdslValue:
    """A quotient is a float: of integers f32; of f16 and bf16 it is rounded once, from f32."""
    wanted = type_ if type_.is_float else F32
    inner = F32 if wanted.bits < 32 else wanted
    one, other = (
        emit.convert(emit.convert(_as(emit, side, type_), wanted), inner)
        if isinstance(side, EdslValue)
        else _as(emit, side, inner)
        for side in (left, right)
    )
    return emit.convert(emit.op("arith.divf", (one, other), inner), wanted)


def _floor(emit: Emitter, symbol: str, one: EdslValue, other: EdslValue, type_: Number, right: object) -> EdslValue:
    if type_.is_float:
        return _floor_float(emit, symbol, one, other, type_)
    if not type_.is_signed:
        return emit.op("arith.divui" if symbol == "//" else "arith.remui", (one, other), type_)
    literal = right if isinstance(right, int) and not isinstance(right, bool) else 0
    if literal > 0 and literal & (literal - 1) == 0:
        if symbol == "//":
            return emit.op("arith.shrsi", (one, emit.constant(literal.bit_length() - 1, type_)), type_)
        return emit.op("arith.andi", (one, emit.constant(literal - 1, type_)), type_)
    quotient, rest = floor_divide(emit, one, other, literal > 0)
    return quotient if symbol == "//" else rest


def _floor_float(emit: Emitter, symbol: str, one: EdslValue, other: EdslValue, type_: Number) -> EdslValue:
    """The remainder has the divisor's sign; the quotient is what is left of the dividend, divided."""
    inner = F32 if type_.bits < 32 else type_
    one, other = emit.convert(one, inner), emit.convert(other, inner)
    rest = emit.call("__nv_fmodf" if inner is F32 else "__nv_fmod", (one, other), inner)
    assert rest is not None
    zero = emit.constant(0.0, inner)
    wrong = _compare(emit, "<", emit.op("arith.mulf", (rest, other), inner), zero, inner)
    rest = emit.select(wrong, emit.op("arith.addf", (rest, other), inner), rest)
    if symbol == "%":
        return emit.convert(rest, type_)
    whole = emit.op("arith.divf", (emit.op("arith.subf", (one, rest), inner), other), inner)
    return emit.convert(emit.op("llvm.intr.rint", (whole,), inner), type_)


def _power(emit: Emitter, left: object, right: object, type_: Number) -> EdslValue:
    if isinstance(right, int) and not isinstance(right, bool) and 0 <= right <= 64:
        return _repeated(emit, _as(emit, left, type_), right, type_)
    if not type_.is_float:
        hint = "convert the base: f32(x) ** n" if isinstance(left, EdslValue) else "shift instead: 1 << n"
        emit.fail("an integer power needs a constant exponent from 0 to 64", _rows(left, right), hint)
    power: EdslValue = apply(emit, "pow", (_as(emit, left, type_), _as(emit, right, type_)))
    return power


def _repeated(emit: Emitter, base: EdslValue, exponent: int, type_: Number) -> EdslValue:
    multiply = "arith.mulf" if type_.is_float else "arith.muli"
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else emit.op(multiply, (result, base), type_)
        exponent >>= 1
        if exponent:
            base = emit.op(multiply, (base, base), type_)
    return result or emit.constant(1.0 if type_.is_float else 1, type_)


def _shift(emit: Emitter, symbol: str, left: object, right: object) -> EdslValue:
    """The left operand's type stays; a shift by as many bits as it has, or more, has no defined result."""
    if not isinstance(left, EdslValue):
        left = emit.integer(left, "what is shifted")
    if left.type is BOOL:
        left = emit.convert(left, I32)
    type_ = left.type
    for side in (left, right):
        if isinstance(side, float) or (isinstance(side, EdslValue) and getattr(side.type, "is_float", False)):
            _refuse_float(emit, symbol, left, right)
    assert isinstance(type_, Number)
    if isinstance(right, int) and not 0 <= right < type_.bits:
        emit.mismatch(f"a shift of {type_}", f"0 to {type_.bits - 1}", repr(right), "bits")
    amount = emit.convert(right, type_)
    name = "arith.shli" if symbol == "<<" else "arith.shrsi" if type_.is_signed else "arith.shrui"
    return emit.op(name, (left, amount), type_)


def _pointer_arithmetic(emit: Emitter, symbol: str, left: EdslValue, right: object) -> Any:
    if symbol in ("+", "-") and (isinstance(right, int) or (isinstance(right, EdslValue) and _is_number(right))):
        amount = emit.integer(right, "the distance")
        if symbol == "-":
            amount = unary(emit, "-", emit.convert(amount, I64))
        return element_pointer(emit, left, amount)
    return _refuse(emit, symbol, left, right)


def _vector(emit: Emitter, symbol: str, left: object, right: object) -> EdslValue:
    """Element by element; a number meets each element."""
    lengths = {s.type.length for s in (left, right) if isinstance(s, EdslValue) and isinstance(s.type, Vector)}
    if len(lengths) > 1:
        emit.fail("the vectors have different lengths", _rows(left, right))
    (length,) = lengths

    def lane(side: object, index: int) -> object:
        return emit.extract(side, index) if isinstance(side, EdslValue) and isinstance(side.type, Vector) else side

    return emit.vector([binary(emit, symbol, lane(left, i), lane(right, i)) for i in range(length)])
