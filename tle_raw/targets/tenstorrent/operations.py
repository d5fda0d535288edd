"""Functions of elements as steps on registers: which operations of the kernel API compute them.

Sums, differences and products of two buffers in 16 bits are done by the matrix unit, as tiles arrive; it has 19 bits
for an element, so those in 32 bits are done by the vector unit, on registers.
"""

from __future__ import annotations

import math
from typing import Any

from tle_raw.errors import UnsupportedFeatureError
from tle_raw.targets.tenstorrent.ir import Bits, Call, Int, Var, Word
from tle_raw.targets.tenstorrent.tiles import Register, Step
from tle_raw.tile_program import Number

# The function of one register, where name and init follow the rule.
_UNARY = {
    "exp": "exp",
    "exp2": "exp2",
    "log": "log",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "tanh": "tanh",
    "abs": "abs",
    "sigmoid": "sigmoid",
    "neg": "negative",
    "recip": "recip",
    "sin": "sin",
    "cos": "cos",
    "relu": "relu",
    "erf": "erf",
}
_OF_INT32 = ("abs", "neg", "relu")
_ROUNDING = ("floor", "ceil")
_BINARY = {
    "add": "add_binary",
    "sub": "sub_binary",
    "mul": "mul_binary",
    "div": "div_binary",
    "pow": "power_binary",
    "max": "binary_max",
    "min": "binary_min",
    "lt": "lt_binary",
    "le": "le_binary",
    "gt": "gt_binary",
    "ge": "ge_binary",
    "eq": "eq_binary",
    "ne": "ne_binary",
}
_OF_INTEGERS = {"add": "add_int", "sub": "sub_int", "mul": "mul_int"}
_INT32 = (Word("DataFormat::Int32"),)


def unary(function: str, place: Register, dtype: str) -> list[Step]:
    """A function of what a register holds, into that register."""
    if dtype == "int32":
        if function not in _OF_INT32:
            raise UnsupportedFeatureError(f"the function {function} of int32")
        name = _UNARY[function]
        return [_step(f"{name}_tile_int32", (place,), init=f"{name}_tile_init")]
    if function in _ROUNDING:
        return [_step(f"{function}_tile", (place,), init="rounding_op_tile_init")]
    if function == "log2":
        return [*unary("log", place, dtype), _scalar("mul", place, Bits(1 / math.log(2)))]
    if function not in _UNARY:
        raise UnsupportedFeatureError(f"the function {function} of elements")
    return [_step(f"{_UNARY[function]}_tile", (place,))]


def binary(function: str, a: Register, b: Register, dtype: str) -> Step:
    """A function of two registers, into the first."""
    if dtype == "int32":
        if function in _OF_INTEGERS:
            name = _OF_INTEGERS[function]
            init = _INT32 if function == "mul" else ()
            return _step(f"{name}_tile", (a, b, a), _INT32, init=f"{name}_tile_init", init_template=init)
        if function in ("max", "min"):
            return _step(f"binary_{function}_int32_tile", (a, b, a))
        raise UnsupportedFeatureError(f"the function {function} of two int32")
    if function not in _BINARY:
        raise UnsupportedFeatureError(f"the function {function} of elements")
    return _step(f"{_BINARY[function]}_tile", (a, b, a))


def with_scalar(function: str, place: Register, scalar: Any, dtype: str, *, scalar_first: bool) -> list[Step] | None:
    """A function of a register and a number, into that register; None where it takes a register for the number."""
    if dtype == "int32":
        return None
    value = Bits(float(scalar.value)) if isinstance(scalar, Number) else Var(scalar.name)
    known = float(scalar.value) if isinstance(scalar, Number) else None
    if function in ("add", "mul") or (function == "sub" and not scalar_first):
        return [_scalar(function, place, value)]
    if function == "sub":
        return [*unary("neg", place, dtype), _scalar("add", place, value)]
    if function == "div" and scalar_first:
        return [*unary("recip", place, dtype), *([] if known == 1 else [_scalar("mul", place, value)])]
    if function == "div" and known:
        return [_scalar("mul", place, Bits(1 / known))]
    if function == "max" and known == 0:
        return unary("relu", place, dtype)
    if function in ("max", "min"):
        return [_step(f"unary_{function}_tile", (place, value))]
    if function == "pow" and known == 2 and not scalar_first:
        return [_step("square_tile", (place,))]
    if function in ("lt", "le", "gt", "ge", "eq", "ne"):
        turned = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
        word = turned.get(function, function) if scalar_first else function
        return [_step(f"unary_{word}_tile", (place, value))]
    return None


def _scalar(function: str, place: Register, value: Any) -> Step:
    return _step(f"{function}_unary_tile", (place, value), init="binop_with_scalar_tile_init")


def fill(place: Register, value: Any, dtype: str) -> list[Step]:
    """A number into all elements of a register; a scalar parameter comes as its bits, which zero is added to."""
    if dtype == "int32":
        number = Int(int(value.value) & 0xFFFFFFFF) if isinstance(value, Number) else Var(value.name)
        return [_step("fill_tile_int", (place, number), _INT32, init="fill_tile_init")]
    known = float(value.value) if isinstance(value, Number) else 0.0
    made = [_step("fill_tile", (place, Bits(known)))]
    return made if isinstance(value, Number) else [*made, _scalar("add", place, Var(value.name))]


def select(condition: Register, yes: Register, no: Register, *, wide: bool) -> Step:
    """``yes`` where the condition is not zero, else ``no``, into the condition's register."""
    format_ = (Word("DataFormat::Float32" if wide else "DataFormat::Float16_b"),)
    return _step("where_tile", (condition, yes, no, condition), format_)


def convert(place: Register, source: str, target: str) -> Step:
    """Between data formats, in a register."""
    formats = (Word(f"DataFormat::{source}"), Word(f"DataFormat::{target}"))
    return _step("typecast_tile", (place,), formats, init="typecast_tile_init", init_template=formats)


def _step(
    operation: str, arguments: tuple[Any, ...], template: Any = (), *, init: str = "", init_template: Any = ()
) -> Step:
    call = Call(init or f"{operation}_init", (), init_template)
    return Step(operation, arguments, template, call)
