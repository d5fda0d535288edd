"""Operations of two tiles: arithmetic, comparisons, bits; choices; fused multiply-add."""

from __future__ import annotations

from triton.language import core

from tle_raw.adapters.cutile.ir_types import Operation
from tle_raw.adapters.cutile.traced import libdevice, limits
from tle_raw.adapters.cutile.traced.rounding import DIRECTIONS, directed, flushing, mode_of
from tle_raw.adapters.cutile.traced.tracer import Tracer, operation
from tle_raw.adapters.cutile.traced.values import cast, choose, constant, in_float32, like

_FLOAT = {"add": "create_fadd", "sub": "create_fsub", "mul": "create_fmul"}
_INTEGER = {"add": "create_add", "sub": "create_sub", "mul": "create_mul"}
_COMPARE_FLOATS = {"eq": "OEQ", "ne": "UNE", "lt": "OLT", "le": "OLE", "gt": "OGT", "ge": "OGE"}
_COMPARE_SIGNED = {"eq": "EQ", "ne": "NE", "lt": "SLT", "le": "SLE", "gt": "SGT", "ge": "SGE"}
_COMPARE_UNSIGNED = {"eq": "EQ", "ne": "NE", "lt": "ULT", "le": "ULE", "gt": "UGT", "ge": "UGE"}


@operation("raw_binary_arith")
def binary(tracer: Tracer, op: Operation) -> core.tensor:
    a, b = tracer.value(op.lhs), tracer.value(op.rhs)
    if not a.type.scalar.is_floating():
        result = _of_integers(tracer, op.fn, a, b)
        if op.fn in ("floordiv", "cdiv"):
            limits.note_division(tracer, op, a, result)
        elif op.fn == "min":
            limits.note_smaller(tracer, a, b, result)
        return result
    mode = mode_of(op)

    def compute(x: core.tensor, y: core.tensor) -> core.tensor:
        return _of_floats(tracer, op, mode, x, y)

    return flushing(tracer, compute, a, b) if op.flush_to_zero else compute(a, b)


def _of_floats(tracer: Tracer, op: Operation, mode: str, a: core.tensor, b: core.tensor) -> core.tensor:
    fn = op.fn
    if fn in _FLOAT:
        if mode in DIRECTIONS:
            return directed(tracer, fn, mode, a, b)
        return tracer.make(_FLOAT[fn], a.type, a, b)
    if fn == "truediv":
        return divide(tracer, mode, a, b)
    if fn == "floordiv":
        quotient = divide(tracer, "RN", a, b)
        return in_float32(tracer, lambda x: tracer.make("create_floor", x.type, x), quotient)
    if fn in ("min", "max"):
        kind = {"min": ("minnumf", "minimumf"), "max": ("maxnumf", "maximumf")}[fn][op.propagate_nan]
        return tracer.make(f"create_{kind}", a.type, a, b)
    if fn in ("pow", "atan2"):
        return in_float32(tracer, lambda x, y: libdevice.call(tracer, fn, [x, y]), a, b)
    if fn == "c_mod":  # arith.remf is lowered to x - trunc(x / y) * y, which is inexact
        return in_float32(tracer, lambda x, y: libdevice.call(tracer, "fmod", [x, y]), a, b)
    raise tracer.fail(f"{fn} of {a.type.scalar}")


def divide(tracer: Tracer, mode: str, a: core.tensor, b: core.tensor) -> core.tensor:
    """FULL and APPROX leave a few last bits open: Triton's own division is that of FULL."""
    if mode in DIRECTIONS:
        return directed(tracer, "div", mode, a, b)
    exact = mode == "RN" and not a.type.scalar.is_fp64()

    def compute(x: core.tensor, y: core.tensor) -> core.tensor:
        return tracer.make("create_precise_divf" if exact else "create_fdiv", x.type, x, y)

    return in_float32(tracer, compute, a, b)


def _of_integers(tracer: Tracer, fn: str, a: core.tensor, b: core.tensor) -> core.tensor:
    signed = a.type.scalar.is_int_signed()
    if fn in _INTEGER:
        return tracer.make(_INTEGER[fn], a.type, a, b)
    if fn in ("min", "max"):
        return tracer.make(f"create_{fn}{'si' if signed else 'ui'}", a.type, a, b)
    if fn == "c_mod":
        return tracer.make("create_srem" if signed else "create_urem", a.type, a, b)
    if fn in ("floordiv", "cdiv"):
        return _rounded_division(tracer, fn, a, b, signed)
    raise tracer.fail(f"{fn} of {a.type.scalar}")


def _rounded_division(tracer: Tracer, fn: str, a: core.tensor, b: core.tensor, signed: bool) -> core.tensor:
    """Triton's division drops the rest: where there is one, the quotient may have to move by one."""
    quotient = tracer.make("create_sdiv" if signed else "create_udiv", a.type, a, b)
    if not signed and fn == "floordiv":
        return quotient
    truth, zero = like(a, core.int1), constant(tracer, 0, a.type)
    rest = tracer.make("create_srem" if signed else "create_urem", a.type, a, b)
    moves = tracer.make("create_icmpNE", truth, rest, zero)
    if signed:
        signs_differ = tracer.make("create_icmpSLT", truth, tracer.make("create_xor", a.type, a, b), zero)
        if fn == "cdiv":
            signs_differ = tracer.make("create_xor", truth, signs_differ, constant(tracer, True, truth))
        moves = tracer.make("create_and", truth, moves, signs_differ)
    step = constant(tracer, -1 if fn == "floordiv" else 1, a.type)
    return choose(tracer, moves, tracer.make("create_add", a.type, quotient, step), quotient)


@operation("raw_cmp")
def compare(tracer: Tracer, op: Operation) -> core.tensor:
    a, b = tracer.value(op.lhs), tracer.value(op.rhs)
    element = a.type.scalar
    if element.is_floating():
        if element.is_fp8():
            a, b = cast(tracer, a, core.float32), cast(tracer, b, core.float32)
        return tracer.make(f"create_fcmp{_COMPARE_FLOATS[op.fn]}", like(a, core.int1), a, b)
    signed = element.is_int_signed() and not element.is_int1()
    kind = (_COMPARE_SIGNED if signed else _COMPARE_UNSIGNED)[op.fn]
    return tracer.make(f"create_icmp{kind}", like(a, core.int1), a, b)


@operation("raw_binary_bitwise")
def bitwise(tracer: Tracer, op: Operation) -> core.tensor:
    a, b = tracer.value(op.lhs), tracer.value(op.rhs)
    return tracer.make(f"create_{op.fn.rstrip('_')}", a.type, a, b)


@operation("raw_bitwise_shift")
def shift(tracer: Tracer, op: Operation) -> core.tensor:
    a, b = tracer.value(op.lhs), tracer.value(op.rhs)
    if op.fn == "lshift":
        return tracer.make("create_shl", a.type, a, b)
    return tracer.make("create_ashr" if a.type.scalar.is_int_signed() else "create_lshr", a.type, a, b)


@operation("raw_where")
def where(tracer: Tracer, op: Operation) -> core.tensor:
    return choose(tracer, tracer.value(op.cond), tracer.value(op.x), tracer.value(op.y))


@operation("fma")
def fused_multiply_add(tracer: Tracer, op: Operation) -> core.tensor:
    a, b, c = (tracer.value(v) for v in (op.lhs, op.rhs, op.acc))
    mode = mode_of(op)

    def compute(*operands: core.tensor) -> core.tensor:
        if mode in DIRECTIONS:
            return directed(tracer, "fma", mode, *operands)
        return tracer.make("create_fma", operands[0].type, *operands)

    return flushing(tracer, compute, a, b, c) if op.flush_to_zero else compute(a, b, c)


@operation("raw_fpowi")
def power_of_integer(tracer: Tracer, op: Operation) -> core.tensor:
    base, exponent = tracer.value(op.base), tracer.value(op.exponent)
    exponent = cast(tracer, exponent, core.int32)
    return in_float32(tracer, lambda x: libdevice.call(tracer, "powi", [x, exponent]), base)
