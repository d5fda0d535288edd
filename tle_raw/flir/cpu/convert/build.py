"""Short forms for building MLIR at the current insertion point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Block, Operation, Region, Type, Value


def type_of(text: str) -> Type:
    """A type by its spelling."""
    type_: Type = mlir().Type.parse(text)
    return type_


def create(
    name: str,
    operands: Sequence[Value] = (),
    results: Sequence[Type] = (),
    attributes: Mapping[str, Any] | None = None,
    regions: int = 0,
) -> Operation:
    """An operation by its name."""
    operation: Operation = mlir().Operation.create(
        name,
        results=list(results),
        operands=list(operands),
        attributes=dict(attributes or {}),
        regions=regions,
    )
    return operation


def value(
    name: str, operands: Sequence[Value], result: Type | str, attributes: Mapping[str, Any] | None = None
) -> Value:
    """The result of an operation that has one."""
    type_ = type_of(result) if isinstance(result, str) else result
    return create(name, operands, [type_], attributes).results[0]


def attribute(text: str) -> Any:
    return mlir().Attribute.parse(text)


def constant(number: int | float | bool, type_: Type | str) -> Value:
    """A constant of an integer, index or float type."""
    ir = mlir()
    type_ = type_of(type_) if isinstance(type_, str) else type_
    if is_float(type_):
        attr = ir.FloatAttr.get(type_, float(number))
    else:
        attr = ir.IntegerAttr.get(type_, _signed(int(number), type_))
    return value("arith.constant", [], type_, {"value": attr})


def _signed(number: int, type_: Type) -> int:
    """Integer attributes are made of signed numbers."""
    if str(type_) == "index":
        return number
    width = type_.width
    number &= (1 << width) - 1
    return number - (1 << width) if width > 1 and number >> (width - 1) else number


def index(number: int) -> Value:
    return constant(number, "index")


def is_float(type_: Type) -> bool:
    return str(type_)[0] in "bf"


def is_index(type_: Type) -> bool:
    return str(type_) == "index"


def bits(type_: Type) -> int:
    """Width of an integer or float type."""
    width: int = type_.width
    return width


def binary(name: str, a: Value, b: Value) -> Value:
    """``arith.<name>`` of two values of one type."""
    return value(f"arith.{name}", [a, b], a.type)


def compare(predicate: str, a: Value, b: Value) -> Value:
    """``arith.cmpi`` or ``arith.cmpf`` with the predicate's usual name."""
    names = FLOAT_PREDICATES if is_float(a.type) else INTEGER_PREDICATES
    operation = "arith.cmpf" if is_float(a.type) else "arith.cmpi"
    return value(operation, [a, b], "i1", {"predicate": attribute(f"{names.index(predicate)} : i64")})


INTEGER_PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
FLOAT_PREDICATES = [
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
]  # fmt: skip


def negated(condition: Value) -> Value:
    return binary("xori", condition, constant(True, "i1"))


def select(condition: Value, a: Value, b: Value) -> Value:
    return value("arith.select", [condition, a, b], a.type)


def cast_integer(number: Value, type_: Type | str, *, signed: bool = True) -> Value:
    """An integer or index as another integer type or index."""
    type_ = type_of(type_) if isinstance(type_, str) else type_
    if number.type == type_:
        return number
    if is_index(number.type) or is_index(type_):
        return value("arith.index_cast" if signed else "arith.index_castui", [number], type_)
    if bits(number.type) > bits(type_):
        return value("arith.trunci", [number], type_)
    return value("arith.extsi" if signed and bits(number.type) > 1 else "arith.extui", [number], type_)


def address(base: Value, offset: Value | int, element: Type | str) -> Value:
    """``base + offset`` elements as a pointer."""
    ir = mlir()
    element = type_of(element) if isinstance(element, str) else element
    dynamic = -(2**31)
    attributes = {
        "elem_type": ir.TypeAttr.get(element),
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([offset if isinstance(offset, int) else dynamic]),
        "noWrapFlags": attribute("0 : i32"),
    }
    operands = [base] if isinstance(offset, int) else [base, offset]
    return value("llvm.getelementptr", operands, "!llvm.ptr", attributes)


def load(pointer: Value, type_: Type | str, align: int | None = None, **attributes: Any) -> Value:
    type_ = type_of(type_) if isinstance(type_, str) else type_
    if align:
        attributes["alignment"] = attribute(f"{align} : i64")
    return value("llvm.load", [pointer], type_, attributes)


def store(number: Value, pointer: Value, align: int | None = None, **attributes: Any) -> None:
    if align:
        attributes["alignment"] = attribute(f"{align} : i64")
    create("llvm.store", [number, pointer], (), attributes)


@contextmanager
def block(of: Region, types: Sequence[Type] = ()) -> Iterator[Block]:
    """Fill a new block of a region."""
    ir = mlir()
    new = of.blocks.append(*types)
    with ir.InsertionPoint(new):
        yield new


@contextmanager
def when(condition: Value) -> Iterator[None]:
    """``scf.if`` without results and without else."""
    operation = create("scf.if", [condition], (), regions=2)
    with block(operation.regions[0]):
        yield
        create("scf.yield")


@contextmanager
def counted(start: Value, stop: Value, step: Value) -> Iterator[Value]:
    """``scf.for`` without carried values; yields the counter."""
    operation = create("scf.for", [start, stop, step], (), regions=1)
    with block(operation.regions[0], [start.type]) as body:
        yield body.arguments[0]
        create("scf.yield")


def call(name: str, operands: Sequence[Value], results: Sequence[Type | str] = ()) -> Sequence[Value]:
    """Call a function of this module; its results."""
    types = [type_of(r) if isinstance(r, str) else r for r in results]
    return create("func.call", operands, types, {"callee": attribute(f'@"{name}"')}).results


def call_outside(name: str, operands: Sequence[Value], result: str, variadic: str | None = None) -> Value:
    """Call a declared function that is linked later; ``variadic`` is its type when it takes any number of arguments."""
    ir = mlir()
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    if variadic:
        attributes["var_callee_type"] = ir.TypeAttr.get(type_of(variadic))
    return value("llvm.call", operands, result, attributes)


def segments(op: Operation, count: int) -> list[Any]:
    """The operands of an operation by their segments; None for one that is not there."""
    found = list(op.operands)
    if "operandSegmentSizes" not in op.attributes:
        return found + [None] * (count - len(found))
    return [found.pop(0) if size else None for size in op.attributes["operandSegmentSizes"]]


def segment_lists(op: Operation) -> list[list[Any]]:
    """The operands of an operation by their segments, of any length."""
    found = list(op.operands)
    return [[found.pop(0) for _ in range(size)] for size in op.attributes["operandSegmentSizes"]]
