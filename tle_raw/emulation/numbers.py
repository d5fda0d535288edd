"""Floats in LLVM IR for the host: rounding, flushing, approximations, and the formats that it has no types for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody

# By their numbers in team/arithmetic.h, and the formats of team/small_floats.h.
ROUNDINGS = {"rn": 0, "rm": 1, "rp": 2, "rz": 3, "rni": 0, "rmi": 1, "rpi": 2, "rzi": 3}
FORMATS = {"f16": 0, "bf16": 1, "e4m3": 2, "e5m2": 3, "e2m1": 4, "e2m3": 5, "e3m2": 6, "ue8m0": 7}
TF32_ROUNDINGS = {"rn": 0, "rz": 3, "rna": 4}
# What matrices of a warp are made of, by their numbers in team/matrix.h.
ELEMENTS = ("f16", "bf16", "e4m3", "e5m2", "tf32", "f64", "s8", "u8", "s4", "u4", "b1", "f32", "s32")
_TO_INTEGRAL = {0: "roundeven", 1: "floor", 2: "ceil", 3: "trunc"}
_APPROXIMATIONS = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "sqrt": "sqrt", "tanh": "tanh"}
_SUFFIX = {"float": "f32", "double": "f64", "half": "f16"}
_SMALLEST_NORMAL = {"float": "0x3810000000000000", "double": "0x0010000000000000"}


def flushed(body: FunctionBody, value: str, kind: str, ftz: bool) -> str:
    """A float whose subnormal values are zeros of their sign."""
    if not ftz or kind not in _SMALLEST_NORMAL:
        return value
    suffix = _SUFFIX[kind]
    size = body.call(kind, f"llvm.fabs.{suffix}", f"{kind} {value}")
    tiny = body.value(f"fcmp olt {kind} {size}, {_SMALLEST_NORMAL[kind]}")
    zero = body.call(kind, f"llvm.copysign.{suffix}", f"{kind} 0.0", f"{kind} {value}")
    return body.value(f"select i1 {tiny}, {kind} {zero}, {kind} {value}")


def rounded(body: FunctionBody, operation: str, rounding: str, kind: str, operands: Sequence[str]) -> str:
    """add, sub, mul, div, fma, rcp, sqrt with the rounding rn, rz, rm or rp."""
    if operation == "rcp":
        operation, operands = "div", ["1.0", *operands]
    if operation == "sub":
        operation, operands = "add", [operands[0], body.value(f"fneg {kind} {operands[1]}")]
    if rounding == "rn":
        if operation in ("fma", "sqrt"):
            return body.call(kind, f"llvm.{operation}.{_SUFFIX[kind]}", *(f"{kind} {o}" for o in operands))
        return body.value(f"f{operation} {kind} {', '.join(operands)}")
    function = f"tle_team_{operation}_{_SUFFIX[kind]}"
    return body.call(kind, function, *(f"{kind} {o}" for o in operands), f"i32 {ROUNDINGS[rounding]}")


def extreme(body: FunctionBody, operation: str, kind: str, operands: Sequence[str], parts: Sequence[str]) -> str:
    """min or max of two or more: with ``abs`` of their sizes, and with ``xorsign`` negative where one of two is."""
    suffix, values = _SUFFIX[kind], list(operands)
    if "abs" in parts:
        values = [body.call(kind, f"llvm.fabs.{suffix}", f"{kind} {o}") for o in operands]
    name = f"llvm.{operation}imum{'' if 'NaN' in parts else 'num'}.{suffix}"
    value = values[0]
    for other in values[1:]:
        value = body.call(kind, name, f"{kind} {value}", f"{kind} {other}")
    if "xorsign" not in parts:
        return value
    bits = f"i{suffix[1:]}"
    left, right = (body.value(f"bitcast {kind} {o} to {bits}") for o in operands[:2])
    sign = body.value(f"bitcast {bits} {body.value(f'xor {bits} {left}, {right}')} to {kind}")
    return body.call(kind, f"llvm.copysign.{suffix}", f"{kind} {value}", f"{kind} {sign}")


def approximate(body: FunctionBody, operation: str, kind: str, operands: Sequence[str]) -> str:
    """What the GPU gives to some bits, the host's library gives to all of them."""
    if operation in ("rcp", "div", "rsqrt"):
        numerator = operands[0] if operation == "div" else "1.0"
        denominator = operands[-1]
        if operation == "rsqrt":
            denominator = body.call(kind, f"llvm.sqrt.{_SUFFIX[kind]}", f"{kind} {denominator}")
        return body.value(f"fdiv {kind} {numerator}, {denominator}")
    function = f"llvm.{_APPROXIMATIONS[operation]}.{_SUFFIX[kind]}"
    return body.call(kind, function, f"{kind} {operands[0]}")


def float_to_integer(body: FunctionBody, value: str, kind: str, rounding: str, result: str, *, signed: bool) -> str:
    """Rounded, clamped to the integer's range; NaN is 0."""
    suffix = _SUFFIX[kind]
    integral = _TO_INTEGRAL[ROUNDINGS[rounding]]
    if integral != "trunc":
        value = body.call(kind, f"llvm.{integral}.{suffix}", f"{kind} {value}")
    function = f"llvm.fpto{'s' if signed else 'u'}i.sat.{result}.{suffix}"
    return body.call(result, function, f"{kind} {value}")


def integer_to_float(body: FunctionBody, value: str, kind: str, rounding: str, result: str, *, signed: bool) -> str:
    """An integer of any width as float or double."""
    sign = "s" if signed else "u"
    if rounding == "rn":
        return body.value(f"{sign}itofp {kind} {value} to {result}")
    if kind != "i64":
        value = body.value(f"{'s' if signed else 'z'}ext {kind} {value} to i64")
    function = f"tle_team_from_{'' if signed else 'un'}signed_{_SUFFIX[result]}"
    return body.call(result, function, f"i64 {value}", f"i32 {ROUNDINGS[rounding]}")


def narrowed(body: FunctionBody, value: str, format: str, rounding: str = "rn", saturate: bool = False) -> str:
    """The bits, as i32, of a double in a small format."""
    return body.call(
        "i32",
        "tle_team_narrow",
        f"double {value}",
        f"i32 {FORMATS[format]}",
        f"i32 {ROUNDINGS[rounding]}",
        f"i32 {int(saturate)}",
    )


def narrowed_randomly(body: FunctionBody, value: str, format: str, random: str, saturate: bool) -> str:
    """The same, rounded up where 16 random bits (i32) carry into the last place."""
    numbers = (f"double {value}", f"i32 {FORMATS[format]}", f"i32 {random}", f"i32 {int(saturate)}")
    return body.call("i32", "tle_team_narrow_randomly", *numbers)


def widened(body: FunctionBody, bits: str, format: str) -> str:
    """The double that the bits (i32) of a small format stand for."""
    return body.call("double", "tle_team_widen", f"i32 {bits}", f"i32 {FORMATS[format]}")


def saturated(body: FunctionBody, value: str, kind: str) -> str:
    """Between 0 and 1; NaN becomes 0."""
    suffix = llvm_suffix(kind)
    above = body.call(kind, f"llvm.maxnum.{suffix}", f"{kind} {value}", f"{kind} 0.0")
    return body.call(kind, f"llvm.minnum.{suffix}", f"{kind} {above}", f"{kind} 1.0")


def llvm_suffix(kind: str) -> str:
    """``float`` is f32 in the name of an intrinsic, ``<2 x half>`` is v2f16."""
    vector = re.fullmatch(r"<(\d+) x (\w+)>", kind)
    if vector:
        return f"v{vector[1]}{llvm_suffix(vector[2])}"
    return {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(kind, kind)
