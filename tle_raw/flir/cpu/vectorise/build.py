"""Builders of the operations that vector code is made of; they insert where the current insertion point stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Type, Value


def element_bytes(element: Type) -> int | None:
    """Bytes of one element in memory; None for types that no vector holds, and for i1, which memory holds as i8."""
    ir = mlir()
    if isinstance(element, ir.IndexType) or str(element) == "!llvm.ptr":
        return 8
    if isinstance(element, ir.IntegerType):
        return element.width // 8 if element.width in (8, 16, 32, 64) else None
    if isinstance(element, ir.FloatType):
        return element.width // 8 if element.width % 8 == 0 else None
    return None


def fits_vectors(element: Type) -> bool:
    """Whether values of this type can be lanes."""
    ir = mlir()
    return element_bytes(element) is not None or (isinstance(element, ir.IntegerType) and element.width <= 128)


def vector_type(lanes: int, element: Type) -> Type:
    type_: Type = mlir().VectorType.get([lanes], element)
    return type_


def operation(name: str, results: Sequence[Any], operands: Sequence[Value], **attributes: Any) -> Any:
    """An operation by its name; gives back its one result, if it has one."""
    ir = mlir()
    made = ir.Operation.create(name, results=list(results), operands=list(operands), attributes=attributes)
    return made.results[0] if len(results) == 1 else made


def _value(name: str, results: Sequence[Type], operands: Sequence[Value], **attributes: Any) -> Value:
    """The same, of one result."""
    made: Value = operation(name, results, operands, **attributes)
    return made


def index(value: int) -> Value:
    return constant(mlir().IndexType.get(), value)


def constant(element: Type, value: int) -> Value:
    """A scalar integer constant."""
    return _value("arith.constant", [element], [], value=mlir().IntegerAttr.get(element, value))


def zero(element: Type) -> Value:
    """A scalar zero, or null."""
    ir = mlir()
    if str(element) == "!llvm.ptr":
        return _value("llvm.mlir.zero", [element], [])
    if isinstance(element, ir.FloatType):
        return _value("arith.constant", [element], [], value=ir.FloatAttr.get(element, 0.0))
    return constant(element, 0)


def splat(value: Value, lanes: int) -> Value:
    return _value("vector.broadcast", [vector_type(lanes, value.type)], [value])


def integers(element: Type, values: Sequence[int]) -> Value:
    """A constant vector of integers."""
    ir = mlir()
    attributes = [ir.IntegerAttr.get(element, value) for value in values]
    dense = ir.DenseElementsAttr.get(attributes, vector_type(len(values), element))
    return _value("arith.constant", [dense.type], [], value=dense)


def extract(vector: Any, lane: Any) -> Value:
    """One lane, by a number known now or by an index value."""
    ir = mlir()
    fixed = isinstance(lane, int)
    position = ir.DenseI64ArrayAttr.get([lane if fixed else -(2**63)])
    element = vector.type.element_type
    return _value("vector.extract", [element], [vector] if fixed else [vector, lane], static_position=position)


def insert(value: Value, vector: Value, lane: Any) -> Value:
    position = mlir().DenseI64ArrayAttr.get([-(2**63)])
    return _value("vector.insert", [vector.type], [value, vector, lane], static_position=position)


def shuffle(vector: Value, lanes: Sequence[int]) -> Value:
    result = vector_type(len(lanes), vector.type.element_type)
    return _value("vector.shuffle", [result], [vector, vector], mask=mlir().DenseI64ArrayAttr.get(list(lanes)))


def join(parts: Sequence[Value]) -> Value:
    """Vectors of one length, a power of two of them, as one vector."""
    while len(parts) > 1:
        length = parts[0].type.shape[0]
        result = vector_type(2 * length, parts[0].type.element_type)
        both = mlir().DenseI64ArrayAttr.get(list(range(2 * length)))
        pairs = zip(parts[::2], parts[1::2])
        parts = [_value("vector.shuffle", [result], pair, mask=both) for pair in pairs]
    return parts[0]


def any_lane(mask: Value) -> Value:
    ir = mlir()
    kind = ir.Attribute.parse("#vector.kind<or>")
    return _value("vector.reduction", [ir.IntegerType.get_signless(1)], [mask], kind=kind)


def all_lanes(mask: Value) -> Value:
    ir = mlir()
    kind = ir.Attribute.parse("#vector.kind<and>")
    return _value("vector.reduction", [ir.IntegerType.get_signless(1)], [mask], kind=kind)


def alignment(size: int, bits: int) -> Any:
    """The attribute that says how an address is aligned; plain and masked accesses spell it with other widths."""
    ir = mlir()
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), size)


def advance(pointer: Value, offset: Value, element: Type) -> Value:
    """``&pointer[offset]``; a vector of offsets makes a vector of pointers."""
    ir = mlir()
    is_vector = isinstance(offset.type, ir.VectorType)
    result = vector_type(offset.type.shape[0], pointer.type) if is_vector else pointer.type
    return _value(
        "llvm.getelementptr",
        [result],
        [pointer, offset],
        elem_type=ir.TypeAttr.get(element),
        rawConstantIndices=ir.DenseI32ArrayAttr.get([-(2**31)]),
    )
