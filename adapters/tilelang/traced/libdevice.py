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
_NUMPY = {**UNARY, **BINARY, "pow": "power"}
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
