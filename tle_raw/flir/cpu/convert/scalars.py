"""One operation on scalars: for scalars of the kernel, elements of tiles, and the bodies of reductions alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.convert import build, casts, types
from tle_raw.flir.cpu.mlir_values import Operation, Type, Value

Emit = Callable[[Any, Sequence[Any]], Any]
_EMITTERS: dict[str, Emit] = {}


def emits(*names: str) -> Callable[[Emit], Emit]:
    """Register ``function(op, operands) -> result`` as the scalar form of these operations."""

    def register(function: Emit) -> Emit:
        _EMITTERS.update(dict.fromkeys(names, function))
        return function

    return register


def is_scalar_operation(name: str) -> bool:
    return name in _EMITTERS or name.startswith(("arith.", "math."))


def is_plain(name: str) -> bool:
    """Whether an operation is taken over as it is: then it works on vectors too."""
    return name in ("arith.constant", "arith.select") or (
        name.startswith(("arith.", "math.")) and name not in _EMITTERS
    )


def emit(op: Operation, operands: Sequence[Any]) -> Any:
    """The result of ``op`` on scalars; a tuple when it has several."""
    emitter = _EMITTERS.get(op.name)
    if emitter is not None:
        return emitter(op, operands)
    if not op.name.startswith(("arith.", "math.")):
        raise LoweringError(f"no way is known to compute `{op.name}` on a CPU")
    results = [types.computed(types.element_of(r.type)) for r in op.results]
    attributes = {name: op.attributes[name] for name in op.attributes}
    created = build.create(op.name, [types.plain(o) for o in operands], results, attributes)
    return created.results[0] if len(results) == 1 else tuple(created.results)


def result_type(op: Operation, number: int = 0) -> Any:
    """Triton's element type of a result."""
    return types.element_of(op.results[number].type)


def operand_type(op: Operation, number: int = 0) -> Any:
    return types.element_of(op.operands[number].type)


@emits("arith.constant")
def _constant(op: Operation, operands: Sequence[Any]) -> Any:
    attribute = op.attributes["value"]
    if types.is_small_float(attribute.type):
        return build.constant(casts.small_float_bits(attribute.value, str(attribute.type)), "i8")
    return build.value("arith.constant", [], attribute.type, {"value": attribute})


# --- integers: a division by zero or an overflowing one must not end the process -----------------------------------


@emits("arith.divsi", "arith.remsi", "arith.divui", "arith.remui", "arith.floordivsi", "arith.ceildivsi")
def _divide(op: Operation, operands: Sequence[Any]) -> Any:
    a, b = operands
    one, zero = build.constant(1, b.type), build.constant(0, b.type)
    trap = build.compare("eq", b, zero)
    if op.name.endswith("si"):
        lowest = build.constant(1 << (build.bits(a.type) - 1), a.type)
        overflow = build.binary(
            "andi", build.compare("eq", a, lowest), build.compare("eq", b, build.constant(-1, b.type))
        )
        trap = build.binary("ori", trap, overflow)
    safe = _constant_divisor(b) or build.select(trap, one, b)
    return build.value(op.name, [a, safe], a.type)


def _constant_divisor(value: Value) -> Value | None:
    """The divisor when it is a constant for which no division traps."""
    owner = value.owner
    if not hasattr(owner, "operation") or owner.operation.name != "arith.constant":
        return None
    number = owner.operation.attributes["value"].value
    return value if number not in (0, -1) else None


@emits("tt.mulhiui")
def _mulhiui(op: Operation, operands: Sequence[Any]) -> Any:
    a, b = operands
    width = build.bits(a.type)
    if width == 64:
        return build.create("arith.mului_extended", [a, b], [a.type, a.type]).results[1]
    wide = f"i{2 * width}"
    product = build.binary("muli", *(build.value("arith.extui", [x], wide) for x in (a, b)))
    high = build.binary("shrui", product, build.constant(width, wide))
    return build.value("arith.trunci", [high], a.type)


@emits("arith.fptosi", "arith.fptoui")
def _to_integer(op: Operation, operands: Sequence[Any]) -> Any:
    """Out of range saturates and NaN gives 0, as on a GPU."""
    (a,), to = operands, result_type(op)
    if str(a.type) == "bf16":
        a = build.value("arith.extf", [a], "f32")
    signed, width = op.name == "arith.fptosi", build.bits(to)
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if signed else (0, 1 << width)
    too_low = build.compare("olt", a, build.constant(float(low), a.type))
    too_high = build.compare("oge", a, build.constant(float(high), a.type))
    outside = build.binary("ori", build.compare("uno", a, a), build.binary("ori", too_low, too_high))
    inside = build.select(outside, build.constant(0.0, a.type), a)
    number = build.value(op.name, [inside], to)
    number = build.select(too_high, build.constant(high - 1, to), number)
    return build.select(too_low, build.constant(low, to), number)


# --- floats ---------------------------------------------------------------------------------------------------------


@emits("math.fma")
def _fma(op: Operation, operands: Sequence[Any]) -> Any:
    """Of 16-bit floats in f64, where their products are exact: in f32 the sum would be rounded twice."""
    type_ = operands[0].type
    if build.bits(type_) != 16:
        return build.value("math.fma", operands, type_)
    a, b, c = (build.value("arith.extf", [x], "f64") for x in operands)
    return casts.float_to_float(build.binary("addf", build.binary("mulf", a, b), c), a.type, type_)


@emits("tt.precise_sqrt")
def _precise_sqrt(op: Operation, operands: Sequence[Any]) -> Any:
    return build.value("math.sqrt", operands, operands[0].type)


@emits("tt.precise_divf", "tt.approx_divf")
def _precise_divf(op: Operation, operands: Sequence[Any]) -> Any:
    return build.binary("divf", *operands)


@emits("tt.clampf")
def _clampf(op: Operation, operands: Sequence[Any]) -> Any:
    x, low, high = operands
    # PropagateNan: 0 is none, 0xFFFF all.
    keeps_nan = op.attributes["propagateNan"].value != 0
    at_least, at_most = ("maximumf", "minimumf") if keeps_nan else ("maxnumf", "minnumf")
    return build.binary(at_most, build.binary(at_least, x, low), high)


@emits("tt.fp_to_fp", "arith.extf", "arith.truncf")
def _float_to_float(op: Operation, operands: Sequence[Any]) -> Any:
    toward_zero = "rounding" in op.attributes and op.attributes["rounding"].value == 0
    return casts.float_to_float(operands[0], operand_type(op), result_type(op), toward_zero=toward_zero)


# --- pointers and bits ----------------------------------------------------------------------------------------------


@emits("tt.addptr")
def _addptr(op: Operation, operands: Sequence[Any]) -> Any:
    pointer, offset = operands
    return _address(pointer, operand_type(op)).advanced(offset)


def _address(pointer: Any, type_: Type) -> types.Address:
    if isinstance(pointer, types.Address):
        return pointer
    return types.Address(pointer, None, types.pointee(type_))


@emits("tt.ptr_to_int")
def _ptr_to_int(op: Operation, operands: Sequence[Any]) -> Any:
    number = _address(operands[0], operand_type(op)).integer()
    return build.cast_integer(number, result_type(op), signed=False)


@emits("tt.int_to_ptr")
def _int_to_ptr(op: Operation, operands: Sequence[Any]) -> Any:
    number = build.cast_integer(operands[0], "i64", signed=False)
    return types.from_integer(number, types.pointee(result_type(op)))


@emits("tt.bitcast", "arith.bitcast")
def _bitcast(op: Operation, operands: Sequence[Any]) -> Any:
    (a,), to = operands, result_type(op)
    if types.is_pointer(to):
        address = _address(a, operand_type(op))
        element = types.pointee(to)
        if build.bits(element) == build.bits(address.element):
            return address._replace(element=element)
        return types.Address(address.pointer(), None, element)
    to = types.computed(to)
    if a.type == to:
        return a
    if str(a.type) == "i1" or str(to) == "i1":
        return types.from_memory(a, to) if str(to) == "i1" else build.cast_integer(a, to, signed=False)
    return build.value("arith.bitcast", [a], to)


@emits("arith.select")
def _select(op: Operation, operands: Sequence[Any]) -> Any:
    condition, a, b = operands
    if not types.is_pointer(result_type(op)):
        return build.select(condition, a, b)
    element = types.pointee(result_type(op))
    first, second = (_address(p, result_type(op)) for p in (a, b))
    if first.base == second.base and first.offset is not None and second.offset is not None:
        return first._replace(offset=build.select(condition, first.offset, second.offset))
    return types.from_integer(build.select(condition, first.integer(), second.integer()), element)


@emits("ub.poison")
def _poison(op: Operation, operands: Sequence[Any]) -> Any:
    """A value that nobody may rely on: zero."""
    type_ = result_type(op)
    computed = types.computed(type_)
    if types.is_pointer(type_):
        return types.from_integer(build.constant(0, "i64"), types.pointee(type_))
    return build.constant(0, computed)
