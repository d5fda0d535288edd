"""Operations of one tile: signs, roundings to whole numbers, roots, elementary functions."""

from __future__ import annotations

from collections.abc import Callable

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced import libdevice
from tle_raw.adapters.cutile.traced.rounding import DIRECTIONS, directed, flushing, mode_of
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.values import constant, in_float32

_BUILDER = ("floor", "ceil", "rsqrt", "exp2")
_FLUSHED_BY_NVIDIA = ("exp2", "rsqrt")  # Triton's are ex2.approx.ftz and rsqrt.approx.ftz there
_LIBDEVICE = ("exp", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh")


@operation("unaryop")
def unary(tracer: Tracer, op: Operation) -> core.tensor:
    value, fn = tracer.value(op.operand), op.fn
    if fn in ("neg", "abs", "invert", "bitwise_not"):
        return _SIMPLE[fn](tracer, value)
    mode = mode_of(op) if op.rounding_mode is not None else ""

    def compute(x: core.tensor) -> core.tensor:
        return _function(tracer, fn, mode, x)

    if op.flush_to_zero and not (fn in _FLUSHED_BY_NVIDIA and _flushes_itself(tracer)):
        return flushing(tracer, compute, value)
    return compute(value)


def _flushes_itself(tracer: Tracer) -> bool:
    return tracer.is_for_nvidia and getattr(tracer.builder.options, "enable_reflect_ftz", False)


def _negative(tracer: Tracer, value: core.tensor) -> core.tensor:
    if not value.type.scalar.is_floating():
        return tracer.make("create_sub", value.type, constant(tracer, 0, value.type), value)
    if hasattr(tracer.builder, "create_fneg"):  # from Triton 3.8 on
        return tracer.make("create_fneg", value.type, value)
    return tracer.make("create_fsub", value.type, constant(tracer, -0.0, value.type), value)


def _absolute(tracer: Tracer, value: core.tensor) -> core.tensor:
    element = value.type.scalar
    if element.is_floating():
        return tracer.make("create_fabs", value.type, value)
    return tracer.make("create_iabs", value.type, value) if element.is_int_signed() else value


def _inverted(tracer: Tracer, value: core.tensor) -> core.tensor:
    return tracer.make("create_xor", value.type, value, constant(tracer, -1, value.type))


_SIMPLE: dict[str, Callable[[Tracer, core.tensor], core.tensor]] = {
    "neg": _negative,
    "abs": _absolute,
    "invert": _inverted,
    "bitwise_not": _inverted,
}


def _function(tracer: Tracer, fn: str, mode: str, value: core.tensor) -> core.tensor:
    if fn == "sqrt":
        return _square_root(tracer, mode, value)
    if fn in _BUILDER or (fn == "exp" and mode == "APPROX"):
        return in_float32(tracer, lambda x: tracer.make(f"create_{fn}", x.type, x), value)
    if fn in _LIBDEVICE:  # APPROX leaves bits open that these do have
        return in_float32(tracer, lambda x: libdevice.call(tracer, fn, [x]), value)
    raise tracer.fail(f"{fn} of {value.type.scalar}")


def _square_root(tracer: Tracer, mode: str, value: core.tensor) -> core.tensor:
    if mode in DIRECTIONS:
        return directed(tracer, "sqrt", mode, value)
    exact = mode != "APPROX" and not value.type.scalar.is_fp64()
    create = "create_precise_sqrt" if exact else "create_sqrt"
    return in_float32(tracer, lambda x: tracer.make(create, x.type, x), value)
