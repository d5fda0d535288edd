"""Integer expressions: as sums of products, divided, bounded, and as expressions of the generated kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.targets.tenstorrent import ir
from tle_raw.tile_program import Apply, Expression, Name, Number

Sum = dict[Any, int]  # a factor for each term; the constant under None


def linear(expression: Any) -> Sum:
    """The expression as factors of terms that are no sums; the terms are names and products, quotients, minima."""
    if isinstance(expression, Number):
        return {None: int(expression.value)} if expression.value else {}
    if isinstance(expression, Apply):
        name = expression.function
        if name == "cast":
            return linear(expression.arguments[0])
        if name in ("add", "sub"):
            a, b = (linear(argument) for argument in expression.arguments)
            return _added(a, b, 1 if name == "add" else -1)
        if name == "mul":
            a, b = (linear(argument) for argument in expression.arguments)
            for known, other in ((a, b), (b, a)):
                if set(known) <= {None}:
                    factor = known.get(None, 0)
                    return {term: count * factor for term, count in other.items() if count * factor}
        if name in ("floordiv", "div"):
            a, b = (linear(argument) for argument in expression.arguments)
            divisor = b.get(None, 0)
            if set(b) <= {None} and divisor > 0 and all(count % divisor == 0 for count in a.values()):
                return {term: count // divisor for term, count in a.items()}
            if set(a) <= {None} and set(b) <= {None} and divisor > 0:
                whole = a.get(None, 0) // divisor
                return {None: whole} if whole else {}
    return {expression: 1}


def _added(a: Sum, b: Sum, sign: int) -> Sum:
    found = dict(a)
    for term, count in b.items():
        found[term] = found.get(term, 0) + sign * count
    return {term: count for term, count in found.items() if count}


def difference(a: Any, b: Any) -> Sum:
    return _added(linear(a), linear(b), -1)


def divided(expression: Any, by: int) -> Any | None:
    """The expression over ``by``, where that is known to leave no rest; else None."""
    found = linear(expression)
    if any(count % by for count in found.values()):
        return None
    return summed({term: count // by for term, count in found.items()})


def summed(terms: Sum) -> Any:
    """An expression of a sum."""
    made: Any = None
    for term, count in terms.items():
        one = Number(count) if term is None else term if count == 1 else Apply("mul", (term, Number(count)), "int32")
        made = one if made is None else Apply("add", (made, one), "int32")
    return Number(0) if made is None else made


def bounds(expression: Any, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """The least and the greatest value, where each name lies in its range, both ends included.

    Raises
    ------
    UnsupportedFeatureError : the expression holds a name without a range, or a function that is not bounded here.
    """
    low = high = 0
    for term, count in linear(expression).items():
        a, b = (1, 1) if term is None else _term_bounds(term, ranges)
        low, high = low + min(a * count, b * count), high + max(a * count, b * count)
    return low, high


def _term_bounds(term: Any, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    if isinstance(term, Name) and term.name in ranges:
        return ranges[term.name]
    if isinstance(term, Apply) and len(term.arguments) == 2:
        (a, b), (c, d) = (bounds(argument, ranges) for argument in term.arguments)
        if term.function == "min":
            return min(a, c), min(b, d)
        if term.function == "max":
            return max(a, c), max(b, d)
        if term.function == "mul":
            ends = [a * c, a * d, b * c, b * d]
            return min(ends), max(ends)
        if term.function in ("floordiv", "div") and a >= 0 and c > 0:
            return a // d, b // c
        if term.function in ("floormod", "mod") and a >= 0 and c > 0:
            return 0, min(b, d - 1)
    if isinstance(term, Apply) and term.function == "select":
        (a, b), (c, d) = (bounds(argument, ranges) for argument in term.arguments[1:])
        return min(a, c), max(b, d)
    raise UnsupportedFeatureError(f"nothing says how large `{term}` may become")


_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "/",
    "div": "/",
    "floormod": "%",
    "min": "min",
    "max": "max",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "&&",
    "or": "||",
}
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def lower(expression: Expression) -> ir.Expr:
    """The expression in the kernels' words. What is compared is put so that nothing is subtracted.

    Raises
    ------
    UnsupportedFeatureError : a function that the kernels do not compute, or a difference that may be negative.
    """
    if isinstance(expression, Number):
        return ir.Int(int(expression.value))
    if isinstance(expression, Name):
        return ir.Var(expression.name)
    if not isinstance(expression, Apply):
        raise UnsupportedFeatureError(f"`{expression}` decides what the kernels do, and is data", hint="a mask will do")
    name = expression.function
    if name == "not":
        return lower(_negated(expression.arguments[0]))
    if name in _COMPARISONS:
        terms = difference(*expression.arguments)
        left = {term: count for term, count in terms.items() if count > 0}
        right = {term: -count for term, count in terms.items() if count < 0}
        return ir.Op(_SIGNS[name], _sum(left), _sum(right))
    if name in ("and", "or", "min", "max"):
        a, b = (lower(argument) for argument in expression.arguments)
        return ir.Op(_SIGNS[name], a, b)
    if name == "select":
        return _chosen(*expression.arguments)
    terms = linear(expression)
    if set(terms) == {expression}:
        if name not in ("mul", "floordiv", "div", "floormod"):
            raise UnsupportedFeatureError(f"the function {name} of integers")
        a, b = (lower(argument) for argument in expression.arguments)
        return ir.Op(_SIGNS[name], a, b)
    left = {term: count for term, count in terms.items() if count > 0}
    right = {term: -count for term, count in terms.items() if count < 0}
    return ir.Op("-", _sum(left), _sum(right)) if right else _sum(left)


def _chosen(condition: Any, yes: Any, no: Any) -> ir.Expr:
    """One of two numbers, by products with 0 and 1."""
    taken, left = lower(condition), lower(_negated(condition))
    return ir.Op("+", ir.Op("*", taken, lower(yes)), ir.Op("*", left, lower(no)))


def _negated(expression: Any) -> Any:
    if isinstance(expression, Apply) and expression.function in _OPPOSITE:
        return Apply(_OPPOSITE[expression.function], expression.arguments, "bool")
    if isinstance(expression, Apply) and expression.function in ("and", "or"):
        other = "or" if expression.function == "and" else "and"
        return Apply(other, tuple(_negated(argument) for argument in expression.arguments), "bool")
    raise UnsupportedFeatureError(f"the opposite of `{expression}`")


def _sum(terms: Sum) -> ir.Expr:
    made: ir.Expr | None = None
    for term, count in sorted(terms.items(), key=lambda item: item[0] is None):
        one = ir.Int(count) if term is None else times(lower(term), count)
        made = one if made is None else ir.Op("+", made, one)
    return made if made is not None else ir.Int(0)


def times(expression: ir.Expr, count: int) -> ir.Expr:
    """The product with a constant, the simple ones done."""
    if isinstance(expression, ir.Int):
        return ir.Int(expression.value * count)
    return ir.Int(0) if count == 0 else expression if count == 1 else ir.Op("*", expression, ir.Int(count))


def plus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """The sum, the simple ones done."""
    if isinstance(a, ir.Int) and isinstance(b, ir.Int):
        return ir.Int(a.value + b.value)
    if isinstance(a, ir.Int) and a.value == 0:
        return b
    return a if isinstance(b, ir.Int) and b.value == 0 else ir.Op("+", a, b)


def substituted(expression: Any, change: Callable[[Name], Any]) -> Any:
    """The expression with something in its names' place."""
    if isinstance(expression, Name):
        return change(expression)
    if isinstance(expression, Apply):
        arguments = tuple(substituted(argument, change) for argument in expression.arguments)
        return Apply(expression.function, arguments, expression.dtype)
    return expression
