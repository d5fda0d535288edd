"""Arithmetic, comparisons, casts and math functions, element by element. No operation here has an undefined result."""

from __future__ import annotations

import math

from tests.fuzz.building import Builder
from tests.fuzz.values import (
    FLOATS,
    FP8,
    INTEGERS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    WIDE_FLOATS,
    Value,
    bits,
    rounding,
)

LARGEST_OPERAND = 64.0  # of what is inexact: its products still fit into float16


def operands(b: Builder, dtypes: tuple[str, ...]) -> tuple[Value, Value]:
    """Two values, tamed if one of them is inexact, so that errors stay bounded."""
    return b.matched(*b.pair(dtypes), LARGEST_OPERAND)


def combined(b: Builder, text: str, x: Value, y: Value, largest: float, error: float) -> Value:
    """The error of exact operands is none: one IEEE operation gives one result."""
    if x.is_exact and y.is_exact:
        error = 0.0
        largest = largest if largest < 1e4 else math.inf
    else:
        error += rounding(x.dtype, largest)
    shape = x.shape if len(x.shape) > len(y.shape) else y.shape
    if len(x.shape) == len(y.shape):
        shape = tuple(map(max, x.shape, y.shape))
    return b.emit(text, x.dtype, shape, largest, error)


def add_or_subtract(b: Builder) -> Value:
    x, y = operands(b, NUMBERS)
    text = f"{x.name} {b.choice(['+', '-'])} {y.name}"
    return combined(b, text, x, y, x.largest + y.largest, x.error + y.error)


def multiply(b: Builder) -> Value:
    x, y = operands(b, NUMBERS)
    error = x.error * y.largest + y.error * x.largest if not (x.is_exact and y.is_exact) else 0.0
    return combined(b, f"{x.name} * {y.name}", x, y, x.largest * y.largest, error)


def divide(b: Builder) -> Value:
    """Float division; never by zero, whose sign nobody promises."""
    x, y = b.pair(FLOATS, exact=True)
    divisor = b.like(y, f"tl.where({y.name} == 0, 1.5, {y.name})")
    if x.dtype in ("float16", "bfloat16"):
        text = f"({x.name} / {divisor.name}).to(tl.{x.dtype})"
    else:
        text = b.choice(["{} / {}", "tl.fdiv({}, {})"] + ["tl.div_rn({}, {})"] * (x.dtype == "float32"))
        text = text.format(x.name, divisor.name)
    return combined(b, text, x, divisor, math.inf, 0.0)


def divide_integers(b: Builder) -> Value:
    """By neither 0 nor -1, which overflows with the smallest number."""
    x, y = b.pair(INTEGERS)
    if y.dtype in SIGNED:
        divisor = f"tl.where({y.name} < 0, -2 - ({y.name} & 7), 1 + ({y.name} & 7))"
    else:
        divisor = f"(({y.name} & 7) + 1)"
    divisor_value = b.like(y, f"({divisor}).to(tl.{y.dtype})")
    return combined(b, f"{x.name} {b.choice(['//', '%'])} {divisor_value.name}", x, y, math.inf, 0.0)


def remainder(b: Builder) -> Value:
    x, y = b.pair(WIDE_FLOATS, exact=True)
    x, y = b.bounded(x, 1e3), b.bounded(y, 1e3)
    divisor = b.like(y, f"tl.where(tl.abs({y.name}) < 0.01, 0.75, {y.name})")
    return combined(b, f"{x.name} % {divisor.name}", x, divisor, 1e3, 0.0)


def bitwise(b: Builder) -> Value:
    x, y = b.pair((*INTEGERS, "int1"))
    return combined(b, f"{x.name} {b.choice('&|^')} {y.name}", x, y, math.inf, 0.0)


def shift(b: Builder) -> Value:
    """By less than the width."""
    x, y = b.pair(INTEGERS)
    amount = b.like(y, f"{y.name} & {bits(y.dtype) - 1}")
    return combined(b, f"{x.name} {b.choice(['<<', '>>'])} {amount.name}", x, y, math.inf, 0.0)


def high_product(b: Builder) -> Value:
    x, y = b.pair(("int32", "uint32", "int64", "uint64"))
    return combined(b, f"tl.umulhi({x.name}, {y.name})", x, y, math.inf, 0.0)


def with_constant(b: Builder) -> Value:
    """An operand that is a literal has the type of the other one."""
    x = b.value(ranks=(0, 1, 2, 3), exact=True)
    if x.is_float:
        constant = b.choice(["2.0", "0.5", "3", "-1.25", "0.1"])
        text = b.choice(["{0} + {1}", "{0} * {1}", "{1} - {0}"])
    else:
        constant = b.choice(["1", "2", "7", "100"])
        text = b.choice(["{0} + {1}", "{0} * {1}", "{1} - {0}", "{0} & {1}", "{0} ^ {1}", "{0} // {1}", "{0} % {1}"])
    return b.like(x, text.format(x.name, constant), largest=math.inf)


def mixed_integers(b: Builder) -> Value:
    """The wider type wins; of two that are equally wide, the unsigned one."""
    x = b.value(INTEGERS)
    other = b.choice([d for d in INTEGERS if d != x.dtype])
    y = b.value((other,), x.shape)
    wide = max(x.dtype, y.dtype, key=lambda d: (bits(d), d in UNSIGNED))
    return b.emit(f"{x.name} {b.choice('+-*&|^')} {y.name}", wide, x.shape)


def fused_multiply_add(b: Builder) -> Value:
    x = b.value(WIDE_FLOATS, exact=True)
    y, z = (b.value((x.dtype,), x.shape, exact=True) for _ in range(2))
    x, y, z = (b.bounded(v, 1e3) for v in (x, y, z))
    return b.like(x, f"tl.fma({x.name}, {y.name}, {z.name})", largest=x.largest * y.largest + z.largest)


def negate(b: Builder) -> Value:
    x = b.value(ranks=(0, 1, 2, 3))
    if not x.is_float and b.flag():
        return b.like(x, f"~{x.name}")
    return b.like(x, f"-{x.name}")


def absolute(b: Builder) -> Value:
    x = b.value(ranks=(0, 1, 2, 3))
    return b.like(x, f"tl.abs({x.name})")


def minimum_or_maximum(b: Builder) -> Value:
    x, y = operands(b, NUMBERS)
    name = b.choice(["minimum", "maximum"])
    # A NaN gives way, unless the other is asked for.
    propagate = ", propagate_nan=tl.PropagateNan.ALL" if x.is_float and b.integer(0, 2) == 0 else ""
    text = f"tl.{name}({x.name}, {y.name}{propagate})"
    return _joined(b, text, x, y)


def clamp(b: Builder) -> Value:
    """Of a half it is a float: operations that want one dtype would not take it beside other halves."""
    x = b.value(FLOATS)
    return b.like(x, f"tl.clamp({x.name}, -1.5, 2.0).to(tl.{x.dtype})")


def compare(b: Builder) -> Value:
    x, y = b.pair(NUMBERS, exact=True)
    return _joined(b, f"{x.name} {b.choice(['<', '<=', '>', '>=', '==', '!='])} {y.name}", x, y, "int1")


def select(b: Builder) -> Value:
    x, y = operands(b, (*NUMBERS, "int1"))
    shape = _shape(x, y)
    if not shape:
        return compare(b)
    mask = b.value(("int1",), shape)
    return _joined(b, f"tl.where({mask.name}, {x.name}, {y.name})", x, y)


def math_function(b: Builder) -> Value:
    """Within the part of its domain where it is smooth; ``slope`` bounds how it carries an error on."""
    x = b.value(WIDE_FLOATS, ranks=(0, 1, 2, 3), exact=b.exact_only)
    if b.exact_only:
        return negate(b)
    x = b.bounded(x, 4.0)
    name, positive, largest, slope = b.choice(FUNCTIONS)
    argument = f"tl.abs({x.name}) + 0.25" if positive else x.name
    error = x.error * slope + 8 * rounding(x.dtype, largest) + rounding(x.dtype, 4.25) * slope
    return b.like(x, f"{name}({argument})", largest=largest, error=error)


# name, whether the argument must be positive (0.25 to 4.25), the largest result, the steepest slope
FUNCTIONS = (
    ("tl.exp", False, 54.7, 54.7),
    ("tl.exp2", False, 16.0, 11.2),
    ("tl.log", True, 1.5, 4.0),
    ("tl.log2", True, 2.1, 5.8),
    ("tl.sin", False, 1.0, 1.0),
    ("tl.cos", False, 1.0, 1.0),
    ("tl.sqrt", True, 2.1, 1.0),
    ("tl.rsqrt", True, 2.0, 4.0),
    ("tl.erf", False, 1.0, 1.2),
    ("tl.sigmoid", False, 1.0, 0.25),
)


def correctly_rounded_root(b: Builder) -> Value:
    x = b.value(("float32",), ranks=(0, 1, 2, 3), exact=True)
    return b.like(x, f"tl.sqrt_rn(tl.abs({x.name}))", largest=max(x.largest, 1.0))


def whole_number(b: Builder) -> Value:
    x = b.value(WIDE_FLOATS, ranks=(0, 1, 2, 3), exact=True)
    return b.like(x, f"tl.{b.choice(['floor', 'ceil'])}({x.name})", largest=x.largest + 1)


def cast(b: Builder) -> Value:
    """Any type to any other, where the language says what comes out."""
    source = b.choice((*NUMBERS, "int1", *FP8))
    x = b.load(source, b.shape()) if source in FP8 else b.value((source,), ranks=(0, 1, 2, 3))
    target = b.choice([d for d in (*NUMBERS, "int1", *FP8) if d != x.dtype and can_cast(x, d)])
    if x.is_float and target in INTEGERS:
        return float_to_integer(b, x, target)
    if target in FP8:
        return b.like(b.bounded(x, 100.0), f"{b.bounded(x, 100.0).name}.to(tl.{target})", dtype=target)
    name = x.name
    if x.dtype in INTEGERS and target in ("float16", "bfloat16"):
        name = f"({name} & 127)"  # larger ones are rounded once or twice
    if not x.is_float and x.dtype not in FP8:
        return b.emit(f"{name}.to(tl.{target})", target, x.shape)
    if not x.is_exact:
        x = b.bounded(x, LARGEST_OPERAND)
        return b.like(x, f"{x.name}.to(tl.{target})", dtype=target, error=x.error + rounding(target, x.largest))
    largest = x.largest if target in FLOATS and x.largest < 1e4 else math.inf
    return b.emit(f"{name}.to(tl.{target})", target, x.shape, largest)


def can_cast(x: Value, target: str) -> bool:
    if target == "int1":
        return x.is_exact and x.dtype in NUMBERS
    if target in FP8:  # what comes of too large ones is the machine's choice
        return x.is_float and x.is_exact
    if x.dtype in FP8:
        return target in FLOATS
    return target not in INTEGERS or x.is_exact


def float_to_integer(b: Builder, x: Value, target: str) -> Value:
    """Towards zero; only what is in range has a meaning."""
    x = b.bounded(x, 100.0)
    text = f"tl.abs({x.name})" if target in UNSIGNED else x.name
    return b.emit(f"{text}.to(tl.{target})", target, x.shape)


def bitcast(b: Builder) -> Value:
    """No float that may be a NaN: its bits are nobody's promise."""
    x = b.exact_finite(NUMBERS, ranks=(0, 1, 2, 3))
    target = b.choice([d for d in NUMBERS if d != x.dtype and bits(d) == bits(x.dtype)])
    return b.emit(f"{x.name}.to(tl.{target}, bitcast=True)", target, x.shape)


def random_numbers(b: Builder) -> Value:
    x = b.value(("int32",))
    name, dtype = b.choice([("rand", "float32"), ("randint", "int32")])
    text = f"tl.{name}(n, {x.name})" if b.flag() else f"tl.{name}({b.integer(0, 2**31)}, {x.name})"
    return b.emit(f"{text}.to(tl.{dtype})", dtype, x.shape, 1.0)


def logical(b: Builder) -> Value:
    x, y = b.pair(("int1",))
    text = b.choice(["{0}.logical_and({1})", "{0}.logical_or({1})", "tl.where({0}, {1}, {0})"])
    return _joined(b, text.format(x.name, y.name), x, y)


def hinted(b: Builder) -> Value:
    """Facts that are true, told to the compiler."""
    shape = b.choice([(16,), (64,), (128,)])
    start = b.emit(f"pid * {shape[0]}", "int32", ())
    b.values.pop()
    hint = b.choice(["assume", "multiple_of", "max_contiguous"])
    if hint == "assume":
        b.line(f"tl.assume({start.name} >= 0)")
    first = f"tl.multiple_of({start.name}, 16)" if hint == "multiple_of" else start.name
    tile = f"{first} + tl.arange(0, {shape[0]})"
    return b.emit(f"tl.max_contiguous({tile}, 16)" if hint == "max_contiguous" else tile, "int32", shape)


def _shape(x: Value, y: Value) -> tuple[int, ...]:
    if len(x.shape) != len(y.shape):
        return max(x.shape, y.shape, key=len)
    return tuple(map(max, x.shape, y.shape))


def _joined(b: Builder, text: str, x: Value, y: Value, dtype: str = "") -> Value:
    """One of the two, or a fact about them."""
    if dtype:
        return b.emit(text, dtype, _shape(x, y))
    return b.emit(text, x.dtype, _shape(x, y), max(x.largest, y.largest), max(x.error, y.error))


OPERATIONS = (
    add_or_subtract,
    multiply,
    compare,
    select,
    negate,
    absolute,
    minimum_or_maximum,
    with_constant,
    bitwise,
    shift,
    divide_integers,
    divide,
    remainder,
    high_product,
    mixed_integers,
    fused_multiply_add,
    clamp,
    math_function,
    correctly_rounded_root,
    whole_number,
    cast,
    bitcast,
    random_numbers,
    logical,
    hinted,
)
