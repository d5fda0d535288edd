"""Functions of mathematics: LLVM's own where the hardware has them, else CUDA's libdevice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.types import BOOL, F32, Number, Vector, promote
from tle_raw.adapters.mlir.edsl.values import EdslValue, is_literal

INTRINSICS = {
    "sqrt": "llvm.intr.sqrt",
    "fabs": "llvm.intr.fabs",
    "floor": "llvm.intr.floor",
    "ceil": "llvm.intr.ceil",
    "trunc": "llvm.intr.trunc",
    "round": "llvm.intr.rint",
    "fma": "llvm.intr.fma",
    "copysign": "llvm.intr.copysign",
}
# The names of Python's math module, of NumPy and of CUDA; each is __nv_<name> for f64 and __nv_<name>f for f32.
LIBRARY = {
    **{
        name: name
        for name in (
            *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos"),
            *("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "rsqrt", "cbrt"),
            *("pow", "atan2", "fmod", "hypot", "tgamma", "lgamma", "remainder", "nextafter"),
        )
    },
    "gamma": "tgamma",
}
COUNTS = {"fma": 3, "copysign": 2, "pow": 2, "atan2": 2, "fmod": 2, "hypot": 2, "remainder": 2, "nextafter": 2}
TESTS = ("isnan", "isinf", "isfinite")
NAMES = (*INTRINSICS, *LIBRARY, *TESTS)


def apply(emit: Emitter, name: str, arguments: Sequence[object]) -> Any:
    """A function of floats. Integers become f32; f16 and bf16 are computed in f32; constants are computed now."""
    expected = COUNTS.get(name, 1)
    if len(arguments) != expected:
        emit.mismatch(f"`{name}` takes {expected} arguments", str(expected), str(len(arguments)), "arguments")
    if all(is_literal(a) for a in arguments):
        return _fold(emit, name, arguments)
    if any(isinstance(a, EdslValue) and isinstance(a.type, Vector) for a in arguments):
        return _each_lane(emit, name, arguments)
    numbers = [emit.number(a, f"the argument of {name}") if isinstance(a, EdslValue) else a for a in arguments]
    type_ = _type(emit, name, [n.type for n in numbers if isinstance(n, EdslValue)])  # type: ignore[misc]
    inner = F32 if type_.bits < 32 else type_
    values = [emit.convert(n, inner) for n in numbers]
    if name in TESTS:
        return _test(emit, name, values[0], inner)
    if name in INTRINSICS:
        result = emit.op(INTRINSICS[name], values, inner)
    else:
        called = emit.call(f"__nv_{LIBRARY[name]}{'f' if inner is F32 else ''}", values, inner)
        assert called is not None
        result = called
    return emit.convert(result, type_)


def absolute(emit: Emitter, given: object) -> Any:
    """``abs(x)``; of an integer too."""
    if is_literal(given):
        return abs(given)  # type: ignore[arg-type]
    value = emit.number(given, "the argument of abs")
    type_ = value.type
    assert isinstance(type_, Number)
    if type_.is_float:
        return apply(emit, "fabs", (value,))
    if not type_.is_signed:
        return value
    return emit.op("llvm.intr.abs", (value,), type_, {"is_int_min_poison": "false"})


def _type(emit: Emitter, name: str, types: list[Number]) -> Number:
    type_ = types[0]
    for other in types[1:]:
        type_ = promote(type_, other)
    if type_.is_fp8:
        emit.mismatch(f"`{name}` is not for {type_}", "f32, …", str(type_), hint="convert it first: f32(x)")
    return type_ if type_.is_float else F32


def _each_lane(emit: Emitter, name: str, arguments: Sequence[object]) -> EdslValue:
    vectors = [a for a in arguments if isinstance(a, EdslValue) and isinstance(a.type, Vector)]
    lengths = {v.type.length for v in vectors}  # type: ignore[attr-defined]
    if len(lengths) > 1:
        emit.mismatch("the vectors have different lengths", str(min(lengths)), str(max(lengths)), "elements")
    lanes = []
    for lane in range(lengths.pop()):
        row = [emit.extract(a, lane) if any(a is v for v in vectors) else a for a in arguments]  # type: ignore[arg-type]
        lanes.append(apply(emit, name, row))
    return emit.vector(lanes)


def _test(emit: Emitter, name: str, value: EdslValue, type_: Number) -> EdslValue:
    if name == "isnan":
        return emit.op("arith.cmpf", (value, value), BOOL, {"predicate": "14 : i64"})  # uno
    size = emit.op("llvm.intr.fabs", (value,), type_)
    infinity = emit.constant(math.inf, type_)
    # oeq, or one together with ordered: a NaN is neither.
    predicate = "1 : i64" if name == "isinf" else "4 : i64"
    return emit.op("arith.cmpf", (size, infinity), BOOL, {"predicate": predicate})


def _fold(emit: Emitter, name: str, arguments: Sequence[Any]) -> Any:
    values = [float(a) for a in arguments]
    try:
        if name in ("floor", "ceil", "trunc", "round"):
            return float({"round": round}.get(name, getattr(math, name, round))(values[0]))
        if name == "fma":
            return values[0] * values[1] + values[2]
        if name == "rsqrt":
            return 1 / math.sqrt(values[0])
        if hasattr(math, name):
            return getattr(math, name)(*values)
    except (ArithmeticError, ValueError) as error:
        emit.fail(f"`{name}` of these constants fails: {error}")
    return apply(emit, name, [emit.constant(v, F32) for v in values])  # Python does not have it
