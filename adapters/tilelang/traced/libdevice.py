"""Elementary functions that Triton has no operation of: libdevice's, which both of its targets have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core

from tle_raw.adapters.common.libdevice import by_numpy, call_libdevice
from tle_raw.adapters.tilelang.traced.tracer import Tracer

UNARY = {
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "log10": "log10",
    "log1p": "log1p",
    "exp10": "",
    "trunc": "trunc",
    "nearbyint": "rint",
    "round": "",
}
BINARY = {"fmod": "fmod", "atan2": "arctan2", "hypot": "hypot", "copysign": "copysign", "nextafter": "nextafter"}
_NUMPY = {**UNARY, **BINARY, "pow": "power", "ldexp": "ldexp"}
# TIR's round is the C function of that name: halves go away from zero.


def call(tracer: Tracer, name: str, operands: Sequence[core.tensor]) -> core.tensor:
    """The function of float32 or float64 operands."""
    builder = tracer.semantic.builder
    operands = _alike(tracer, operands)
    type_ = operands[0].type
    if not hasattr(builder, "create_for_op"):
        return by_numpy(_numpy_function(name), operands)
    symbol = f"__nv_{name}{'f' if type_.scalar.primitive_bitwidth == 32 else ''}"
    return call_libdevice(builder, symbol, operands)


def count_bits(tracer: Tracer, name: str, value: core.tensor) -> core.tensor:
    """``popc``, ``clz`` or ``ffs`` of int32 or int64, as int32."""
    builder, is_long = tracer.semantic.builder, value.type.scalar.primitive_bitwidth == 64
    if not hasattr(builder, "create_for_op"):
        return tracer.cast(by_numpy(_COUNTS[name], [value]), core.int32)
    result = value.type.with_element_ty(core.int32) if value.type.is_block() else core.int32
    return call_libdevice(builder, f"__nv_{name}{'ll' if is_long else ''}", [value], result)


def _count_ones(values: Any) -> Any:
    """Of an array of integers, byte by byte."""
    import numpy as np

    table = np.array([bin(byte).count("1") for byte in range(256)])
    return table[np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)].sum(axis=1).reshape(values.shape)


def _leading_zeros(values: Any) -> Any:
    bits = 8 * values.dtype.itemsize
    spread, shift = values.astype(f"uint{bits}"), 1
    while shift < bits:
        spread, shift = spread | spread >> shift, 2 * shift
    return bits - _count_ones(spread)


def _first_one(values: Any) -> Any:
    import numpy as np

    return np.where(values == 0, 0, _count_ones(values ^ (values - 1)))


_COUNTS = {"popc": _count_ones, "clz": _leading_zeros, "ffs": _first_one}


def _alike(tracer: Tracer, operands: Sequence[core.tensor]) -> list[core.tensor]:
    """All of one shape."""
    first = operands[0]
    for other in operands[1:]:
        first, _ = tracer.semantic.broadcast_impl_value(first, other)
    return [tracer.semantic.broadcast_impl_value(o, first)[0] for o in operands]


def _numpy_function(name: str) -> Callable[..., Any]:
    import numpy as np

    if name == "exp10":
        return lambda x: np.power(10.0, x)
    if name == "round":
        return lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)
    function: Callable[..., Any] = getattr(np, _NUMPY[name])
    return function
