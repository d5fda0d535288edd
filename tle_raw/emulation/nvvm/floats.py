"""Floats, and conversions from and to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.emulation.instructions import FunctionBody
from tle_raw.emulation.numbers import (
    ROUNDINGS,
    approximate,
    float_to_integer,
    flushed,
    integer_to_float,
    llvm_suffix,
    narrowed,
    rounded,
    saturated,
)
from tle_raw.emulation.nvvm.table import intrinsic


@intrinsic(r"bitcast\.(?:f2i|i2f|ll2d|d2ll)")
def _bitcast(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return body.value(f"bitcast {types[0]} %a0 to {result}")


@intrinsic(r"lohi\.i2d")
def _from_halves(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    low, high = (body.value(f"zext i32 %a{i} to i64") for i in range(2))
    upper = body.value(f"shl i64 {high}, 32")
    both = body.value(f"or i64 {low}, {upper}")
    return body.value(f"bitcast i64 {both} to double")


@intrinsic(r"d2i\.(lo|hi)")
def _half_of_double(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    bits = body.value("bitcast double %a0 to i64")
    if match[1] == "hi":
        bits = body.value(f"lshr i64 {bits}, 32")
    return body.value(f"trunc i64 {bits} to i32")


_UNARY = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "fabs": "fabs"}


@intrinsic(r"(floor|ceil|trunc|round|fabs)(\.ftz)?\.(f|d|f32|f64|f16|v2f16|bf16|v2bf16)")
def _unary(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    function = f"llvm.{_UNARY[match[1]]}.{llvm_suffix(result)}"
    return flushed(body, body.call(result, function, f"{result} %a0"), result, bool(match[2]))


@intrinsic(r"f(min|max)(\.ftz)?(\.nan)?\.(f|d|f16|f16x2|bf16|bf16x2)")
def _extreme(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    if result not in ("float", "double", "half", "<2 x half>"):
        return None
    kind = "imum" if match[3] else "num"
    function = f"llvm.{match[1]}{kind}.{llvm_suffix(result)}"
    return flushed(body, body.call(result, function, f"{result} %a0", f"{result} %a1"), result, bool(match[2]))


@intrinsic(r"saturate(\.ftz)?\.(f|d)")
def _saturate(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return saturated(body, "%a0", result)


@intrinsic(r"(add|mul|div|fma|rcp|sqrt)\.(rn|rz|rm|rp)(\.ftz)?\.(f|d)")
def _rounded(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    operands = [flushed(body, f"%a{i}", result, bool(match[3])) for i in range(len(types))]
    return flushed(body, rounded(body, match[1], match[2], result, operands), result, bool(match[3]))


@intrinsic(r"(ex2|lg2|sin|cos|rsqrt|rcp|sqrt|div|tanh)\.(?:approx|full)(\.ftz)?(?:\.(?:f|d|f32|f64|f16|v2f16))?")
def _approximate(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    ftz = bool(match[2])
    operands = [flushed(body, f"%a{i}", result, ftz) for i in range(len(types))]
    return flushed(body, approximate(body, match[1], result, operands), result, ftz)


@intrinsic(r"sqrt\.f")
def _root(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return approximate(body, "sqrt", result, ["%a0"])


@intrinsic(r"(f|d)2(i|ui|ll|ull)\.(rn|rz|rm|rp)(\.ftz)?")
def _to_integer(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = flushed(body, "%a0", types[0], bool(match[4]))
    return float_to_integer(body, value, types[0], match[3], result, signed="u" not in match[2])


@intrinsic(r"(i|ui|ll|ull)2(f|d)\.(rn|rz|rm|rp)")
def _from_integer(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    return integer_to_float(body, "%a0", types[0], match[3], result, signed="u" not in match[1])


@intrinsic(r"d2f\.(rn|rz|rm|rp)(\.ftz)?")
def _to_float(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    if match[1] == "rn":
        value = body.value("fptrunc double %a0 to float")
    else:
        value = body.call("float", "tle_team_narrow_f32", "double %a0", f"i32 {ROUNDINGS[match[1]]}")
    return flushed(body, value, "float", bool(match[2]))


@intrinsic(r"f2h\.rn(\.ftz)?")
def _to_half(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str:
    value = flushed(body, "%a0", "float", bool(match[1]))
    return body.value(f"bitcast half {body.value(f'fptrunc float {value} to half')} to i16")


@intrinsic(r"f2(bf16)\.(rn|rz)(\.relu)?")
def _to_bfloat(body: FunctionBody, match: re.Match[str], types: Sequence[str], result: str) -> str | None:
    if match[3]:
        return None
    bits = narrowed(body, body.value("fpext float %a0 to double"), "bf16", match[2])
    low = body.value(f"trunc i32 {bits} to i16")
    return low if result == "i16" else body.value(f"bitcast i16 {low} to {result}")
