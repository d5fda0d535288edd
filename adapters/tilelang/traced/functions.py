"""TIR's and TileLang's functions of values: elementary functions, bits, choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.language import core

from tle_raw.adapters.tilelang.tir_types import Call
from tle_raw.adapters.tilelang.traced import libdevice
from tle_raw.adapters.tilelang.traced.choices import choose
from tle_raw.adapters.tilelang.traced.tracer import Tracer
from tle_raw.regions.shapes import shape_of

TracedFunction = Callable[[Tracer, Any], core.tensor]
FUNCTIONS: dict[str, TracedFunction] = {}


def function(*names: str) -> Callable[[TracedFunction], TracedFunction]:
    def register(handler: TracedFunction) -> TracedFunction:
        for name in names:
            FUNCTIONS[name] = handler
        return handler

    return register


def arguments(tracer: Tracer, call: Call) -> list[core.tensor]:
    return [tracer.evaluate(a) for a in call.args]


def in_float(tracer: Tracer, value: core.tensor, compute: Callable[[core.tensor], core.tensor]) -> core.tensor:
    """Functions of small floats are computed in float32 and rounded back, as CUDA's own do."""
    element = value.type.scalar
    if element.primitive_bitwidth >= 32 and element.is_floating():
        return compute(value)
    wide = compute(tracer.cast(value, core.float32))
    return tracer.cast(wide, element) if element.is_floating() else wide


def _builder_function(operation: str) -> TracedFunction:
    def call(tracer: Tracer, expression: Call) -> core.tensor:
        (value,) = arguments(tracer, expression)
        create = getattr(tracer.semantic.builder, operation)
        return in_float(tracer, value, lambda x: core.tensor(create(x.handle), x.type))

    return call


for _name, _operation in {
    "exp": "create_exp",
    "exp2": "create_exp2",
    "log": "create_log",
    "log2": "create_log2",
    "sqrt": "create_sqrt",
    "rsqrt": "create_rsqrt",
    "sin": "create_sin",
    "cos": "create_cos",
    "floor": "create_floor",
    "ceil": "create_ceil",
    "erf": "create_erf",
}.items():
    FUNCTIONS[f"tirx.{_name}"] = _builder_function(_operation)
for _name, _same in {
    "__exp": "exp",
    "__log": "log",
    "__log2": "log2",
    "__sin": "sin",
    "__cos": "cos",
    "ieee_fsqrt": "sqrt",
    "ieee_frsqrt": "rsqrt",
}.items():
    FUNCTIONS[f"tl.{_name}"] = FUNCTIONS[f"tirx.{_same}"]


def _libdevice_function(name: str) -> TracedFunction:
    def call(tracer: Tracer, expression: Call) -> core.tensor:
        values = arguments(tracer, expression)
        if len(values) == 1:
            return in_float(tracer, values[0], lambda x: libdevice.call(tracer, name, [x]))
        first, second = values
        return in_float(tracer, first, lambda x: libdevice.call(tracer, name, [x, tracer.cast(second, x.type.scalar)]))

    return call


for _name in (*libdevice.UNARY, *libdevice.BINARY):
    FUNCTIONS[f"tirx.{_name}"] = _libdevice_function(_name)
FUNCTIONS["tl.__tan"], FUNCTIONS["tl.__log10"] = FUNCTIONS["tirx.tan"], FUNCTIONS["tirx.log10"]
FUNCTIONS["tl.__exp10"] = FUNCTIONS["tirx.exp10"]


@function("tirx.fabs", "tirx.abs")
def _abs(tracer: Tracer, expression: Call) -> core.tensor:
    return absolute(tracer, arguments(tracer, expression)[0])


def absolute(tracer: Tracer, value: core.tensor) -> core.tensor:
    builder, element = tracer.semantic.builder, value.type.scalar
    if element.is_floating():
        return core.tensor(builder.create_fabs(value.handle), value.type)
    return value if element.is_int_unsigned() else core.tensor(builder.create_iabs(value.handle), value.type)


@function("tirx.sigmoid")
def _sigmoid(tracer: Tracer, expression: Call) -> core.tensor:
    (value,) = arguments(tracer, expression)
    semantic = tracer.semantic

    def compute(x: core.tensor) -> core.tensor:
        one = tracer.number(1.0, x.type.scalar)
        power = core.tensor(semantic.builder.create_exp(semantic.minus(x).handle), x.type)
        return semantic.truediv(one, semantic.add(one, power, False))

    return in_float(tracer, value, compute)


@function("tirx.pow", "tl.pow_of_int")
def _power(tracer: Tracer, expression: Call) -> core.tensor:
    base, exponent = arguments(tracer, expression)
    value = getattr(expression.args[1], "value", None)
    if isinstance(value, (int, float)) and value in (1, 2, 3, 4):
        result = base
        for _ in range(int(value) - 1):
            result = tracer.semantic.mul(result, base, False)
        return result
    if not base.type.scalar.is_floating():
        if not isinstance(value, int) or value < 0:
            raise tracer.fail("an integer to a power that is no constant")
        return _whole_power(tracer, base, value)
    return in_float(tracer, base, lambda x: libdevice.call(tracer, "pow", [x, tracer.cast(exponent, x.type.scalar)]))


def _whole_power(tracer: Tracer, base: core.tensor, exponent: int) -> core.tensor:
    """By squares, of which the exponent's bits say which are factors."""
    result = tracer.full(shape_of(base), 1, base.type.scalar)
    while exponent:
        if exponent & 1:
            result = tracer.semantic.mul(result, base, False)
        exponent >>= 1
        if exponent:
            base = tracer.semantic.mul(base, base, False)
    return result


@function("tirx.ldexp")
def _scale(tracer: Tracer, expression: Call) -> core.tensor:
    value, exponent = arguments(tracer, expression)
    exponent = tracer.cast(exponent, core.int32)
    return in_float(tracer, value, lambda x: libdevice.call(tracer, "ldexp", [x, exponent]))


@function("tirx.popcount")
def _count_ones(tracer: Tracer, expression: Call) -> core.tensor:
    return _of_bits(tracer, expression, "popc")


@function("tirx.clz")
def _leading_zeros(tracer: Tracer, expression: Call) -> core.tensor:
    return _of_bits(tracer, expression, "clz")


@function("tl.__ffs")
def _first_one(tracer: Tracer, expression: Call) -> core.tensor:
    """Its number, counted from 1; 0 where there is none."""
    return _of_bits(tracer, expression, "ffs")


def _of_bits(tracer: Tracer, expression: Call, name: str) -> core.tensor:
    """What is counted in the bits of integers, those of less than 32 bits widened by zeros."""
    (value,) = arguments(tracer, expression)
    element = value.type.scalar
    bits = element.primitive_bitwidth
    whole = core.int64 if bits == 64 else core.int32
    if bits < 32 and element.is_int_signed():
        value = tracer.semantic.bitcast(value, core.uint8 if bits == 8 else core.uint16)
    value = tracer.cast(value, whole)
    count = libdevice.count_bits(tracer, name, value)
    if name == "clz" and bits < 32:
        count = tracer.semantic.sub(count, tracer.number(32 - bits, core.int32), False)
    return tracer.cast(count, tracer.dtype(expression.dtype))


@function("tirx.if_then_else")
def _if_then_else(tracer: Tracer, expression: Call) -> core.tensor:
    return choose(tracer, *expression.args)


@function("tirx.bitwise_and")
def _bitwise_and(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.and_(*arguments(tracer, expression))


@function("tirx.bitwise_or")
def _bitwise_or(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.or_(*arguments(tracer, expression))


@function("tirx.bitwise_xor")
def _bitwise_xor(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.xor_(*arguments(tracer, expression))


@function("tirx.bitwise_not")
def _bitwise_not(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.invert(*arguments(tracer, expression))


@function("tirx.shift_left")
def _shift_left(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.shl(*arguments(tracer, expression))


@function("tirx.shift_right")
def _shift_right(tracer: Tracer, expression: Call) -> core.tensor:
    value, by = arguments(tracer, expression)
    shift = tracer.semantic.lshr if value.type.scalar.is_int_unsigned() else tracer.semantic.ashr
    return shift(value, by)


@function("tirx.reinterpret")
def _reinterpret(tracer: Tracer, expression: Call) -> core.tensor:
    (value,) = arguments(tracer, expression)
    dtype = tracer.storage(expression.dtype)
    if dtype.primitive_bitwidth != value.type.scalar.primitive_bitwidth:
        raise tracer.fail(f"{value.type.scalar} reinterpreted as {dtype}, which has another width")
    return tracer.semantic.bitcast(value, dtype)


@function("tl.infinity")
def _infinity(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.number(float("inf"), tracer.dtype(expression.dtype))


@function("tirx.fma", "tl.fma", "tl.ieee_fmaf")
def _fma(tracer: Tracer, expression: Call) -> core.tensor:
    a, b, c = _nearest(tracer, expression, 3)
    semantic = tracer.semantic
    return semantic.add(semantic.mul(a, b, False), c, False)


@function("tl.ieee_add")
def _add(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.add(*_nearest(tracer, expression), False)


@function("tl.ieee_sub")
def _sub(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.sub(*_nearest(tracer, expression), False)


@function("tl.ieee_mul", "tl.fmul")
def _mul(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.mul(*_nearest(tracer, expression), False)


@function("tl.ieee_fdiv")
def _div(tracer: Tracer, expression: Call) -> core.tensor:
    a, b = _nearest(tracer, expression)
    return tracer.semantic.fdiv(a, b, True)


def _nearest(tracer: Tracer, expression: Call, count: int = 2) -> list[core.tensor]:
    """The operands; a last argument may name how to round, and Triton rounds to nearest."""
    mode = str(getattr(expression.args[count], "value", "rn")) if len(expression.args) > count else "rn"
    if mode != "rn":
        raise tracer.fail(f"rounding {mode!r}")
    return [tracer.evaluate(a) for a in expression.args[:count]]


@function("tl.fast_rcp", "tl.ieee_frcp")
def _reciprocal(tracer: Tracer, expression: Call) -> core.tensor:
    value = tracer.evaluate(expression.args[0])
    return tracer.semantic.truediv(tracer.number(1.0, value.type.scalar), value)


@function("tl.clamp")
def _clamp(tracer: Tracer, expression: Call) -> core.tensor:
    value, low, high = arguments(tracer, expression)
    semantic, ignore = tracer.semantic, core.PropagateNan.NONE
    return semantic.minimum(semantic.maximum(value, low, ignore), high, ignore)


@function("tl.max_nan")
def _max_nan(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.maximum(*arguments(tracer, expression), core.PropagateNan.ALL)


@function("tl.min_nan")
def _min_nan(tracer: Tracer, expression: Call) -> core.tensor:
    return tracer.semantic.minimum(*arguments(tracer, expression), core.PropagateNan.ALL)


@function("tirx.isnan")
def _is_nan(tracer: Tracer, expression: Call) -> core.tensor:
    (value,) = arguments(tracer, expression)
    return tracer.semantic.not_equal(value, value)


@function("tirx.isinf")
def _is_infinite(tracer: Tracer, expression: Call) -> core.tensor:
    (value,) = arguments(tracer, expression)
    size = absolute(tracer, value)
    return tracer.semantic.equal(size, tracer.number(float("inf"), size.type.scalar))


@function("tirx.isfinite")
def _is_finite(tracer: Tracer, expression: Call) -> core.tensor:
    (value,) = arguments(tracer, expression)
    size = absolute(tracer, value)
    return tracer.semantic.less_than(size, tracer.number(float("inf"), size.type.scalar))


@function("tirx.likely", "tl.__ldg")
def _itself(tracer: Tracer, expression: Call) -> core.tensor:
    return arguments(tracer, expression)[0]
