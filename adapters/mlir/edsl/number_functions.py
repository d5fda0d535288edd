"""Mathematics, choices and bits of numbers, in eDSL code: functions of ``tle_raw.mlir``."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.edsl import mathematics
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.merging import Phi, as_type, merge
from tle_raw.adapters.mlir.edsl.outer import as_dtype
from tle_raw.adapters.mlir.edsl.types import I32, NUMBERS, Number, Type
from tle_raw.adapters.mlir.edsl.values import EdslValue


def _mathematical(name: str) -> Intrinsic:
    def apply(emit: Emitter, *arguments: Any) -> Any:
        return mathematics.apply(emit, name, arguments)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"``{name}`` of floats; integers become f32, f16 and bf16 are computed in f32."
    return Intrinsic(apply)


exp, exp2, exp10, expm1, log, log2, log10, log1p = map(
    _mathematical, ("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p")
)
sin, cos, tan, asin, acos, atan, sinh, cosh, tanh = map(
    _mathematical, ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
)
asinh, acosh, atanh, erf, erfc, erfinv, rsqrt, cbrt = map(
    _mathematical, ("asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "rsqrt", "cbrt")
)
sqrt, fabs, floor, ceil, trunc, fma, copysign, atan2 = map(
    _mathematical, ("sqrt", "fabs", "floor", "ceil", "trunc", "fma", "copysign", "atan2")
)
fmod, hypot, tgamma, lgamma, isnan, isinf, isfinite = map(
    _mathematical, ("fmod", "hypot", "tgamma", "lgamma", "isnan", "isinf", "isfinite")
)


@Intrinsic
def where(emit: Emitter, condition: Any, one: Any, other: Any) -> Any:
    """``one if condition else other``, with both computed."""
    if not isinstance(condition, EdslValue):
        return one if condition else other
    merged = merge("", [one, other], emit.location, promoting=True)
    if not isinstance(merged, Phi):
        if merged is one:
            return one
        emit.mismatch("where takes two numbers", "a number", other)
    first, second = (as_type(emit, entry, merged.type) for entry in merged.entries)
    return emit.select(emit.truth(condition), first, second)


@Intrinsic
def bitcast(emit: Emitter, value: Any, dtype: Any) -> EdslValue:
    """The same bits, as another dtype of the same size."""
    type_ = as_dtype(dtype)
    if type_ is None:
        emit.mismatch("this is no dtype", "a dtype, for example f32", dtype)
    return emit.reinterpret(value, type_)


@Intrinsic
def popcount(emit: Emitter, value: Any) -> EdslValue:
    """The number of bits that are 1, as an i32."""
    given = emit.integer(value, "the argument of popcount")
    return emit.convert(EdslValue(emit.op("llvm.intr.ctpop", (given,), given.type).handle, _unsigned(given.type)), I32)


@Intrinsic
def count_leading_zeros(emit: Emitter, value: Any) -> EdslValue:
    """The number of zeros above the highest 1, as an i32; of 0 all bits."""
    given = emit.integer(value, "the argument of count_leading_zeros")
    zeros = emit.op("llvm.intr.ctlz", (given,), given.type, {"is_zero_poison": "false"})
    return emit.convert(EdslValue(zeros.handle, _unsigned(given.type)), I32)


def _unsigned(type_: Type) -> Number:
    assert isinstance(type_, Number)
    return NUMBERS.get(f"u{type_.bits}", type_)
