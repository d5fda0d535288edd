"""Functions that Triton has no operation of: libdevice's, which both of its targets have."""

from __future__ import annotations

from collections.abc import Sequence

from triton.language import core

from tle_raw.adapters.common.libdevice import by_numpy, call_libdevice
from tle_raw.adapters.cutile.traced.tracer import Tracer
from tle_raw.adapters.cutile.traced.values import like

# Where f32's name differs from "__nv_<name>f": the directed ones carry the width in front.
_DIRECTED = ("add", "sub", "mul", "div", "sqrt", "fma")
_NUMPY = {
    "exp": "exp",
    "log": "log",
    "log2": "log2",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "pow": "power",
    "powi": "power",
    "atan2": "arctan2",
    "fmod": "fmod",
}


def call(tracer: Tracer, name: str, operands: Sequence[core.tensor]) -> core.tensor:
    """The function of f32 or f64 operands; the result has the first one's type."""
    type_ = operands[0].type
    if tracer.is_interpreted:
        return _interpreted(name, operands)
    symbol = f"__nv_{name}{'f' if type_.scalar.is_fp32() else ''}"
    return call_libdevice(tracer.builder, symbol, operands)


def call_directed(tracer: Tracer, name: str, direction: str, operands: Sequence[core.tensor]) -> core.tensor:
    """Arithmetic of f32 or f64 that is rounded in a direction: "rn", "rz", "rd" or "ru"."""
    assert name in _DIRECTED
    if tracer.is_interpreted:
        raise tracer.fail(f"arithmetic rounded by {direction} in the interpreter")
    single = operands[0].type.scalar.is_fp32()
    if name == "fma":
        symbol = f"__nv_fma{'f' if single else ''}_{direction}"
    else:
        symbol = f"__nv_{'f' if single else 'd'}{name}_{direction}"
    return call_libdevice(tracer.builder, symbol, operands)


def to_single(tracer: Tracer, value: core.tensor, direction: str) -> core.tensor:
    """f64 to f32, rounded in a direction."""
    if tracer.is_interpreted:
        raise tracer.fail(f"conversions rounded by {direction} in the interpreter")
    return call_libdevice(tracer.builder, f"__nv_double2float_{direction}", [value], like(value, core.float32))


def _interpreted(name: str, operands: Sequence[core.tensor]) -> core.tensor:
    import numpy as np

    with np.errstate(all="ignore"):
        return by_numpy(getattr(np, _NUMPY[name]), operands)
