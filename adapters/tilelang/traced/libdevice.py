"""Elementary functions that Triton has no operation of: libdevice's, which both of its targets have."""

from __future__ import annotations

from collections.abc import Sequence

from triton.language import core

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
        return _interpreted(tracer, name, operands)
    symbol = f"__nv_{name}{'f' if type_.scalar.primitive_bitwidth == 32 else ''}"
    handles = [o.handle for o in operands]
    made = builder.create_extern_elementwise("libdevice", "", symbol, handles, type_.to_ir(builder), True)
    return core.tensor(made, type_)


def _alike(tracer: Tracer, operands: Sequence[core.tensor]) -> list[core.tensor]:
    """All of one shape."""
    first = operands[0]
    for other in operands[1:]:
        first, _ = tracer.semantic.broadcast_impl_value(first, other)
    return [tracer.semantic.broadcast_impl_value(o, first)[0] for o in operands]


def _interpreted(tracer: Tracer, name: str, operands: Sequence[core.tensor]) -> core.tensor:
    import numpy as np
    from triton.runtime.interpreter import TensorHandle

    arrays = [o.handle.data for o in operands]
    if name == "exp10":
        data = np.power(10.0, arrays[0])
    elif name == "round":
        data = np.copysign(np.floor(np.abs(arrays[0]) + 0.5), arrays[0])
    else:
        data = getattr(np, _NUMPY[name])(*arrays)
    scalar = operands[0].type.scalar
    return core.tensor(TensorHandle(data.astype(arrays[0].dtype), scalar), operands[0].type)
