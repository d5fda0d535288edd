"""Builders of the operations that vector code is made of; they insert where the current insertion point stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.mlir_values import Type


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


def vector_type(lanes: int, element: Type) -> Any:
    return mlir().VectorType.get([lanes], element)


def operation(name: str, results: Sequence[Any], operands: Sequence[Any], **attributes: Any) -> Any:
    """An operation by its name; gives back its one result, if it has one."""
    ir = mlir()
    made = ir.Operation.create(name, results=list(results), operands=list(operands), attributes=attributes)
    return made.results[0] if len(results) == 1 else made


def index(value: int) -> Any:
    return constant(mlir().IndexType.get(), value)


def constant(element: Type, value: int) -> Any:
    """A scalar integer constant."""
    return operation("arith.constant", [element], [], value=mlir().IntegerAttr.get(element, value))


def zero(element: Type) -> Any:
    """A scalar zero, or null."""
    ir = mlir()
    if str(element) == "!llvm.ptr":
        return operation("llvm.mlir.zero", [element], [])
    if isinstance(element, ir.FloatType):
        return operation("arith.constant", [element], [], value=ir.FloatAttr.get(element, 0.0))
    return constant(element, 0)


def splat(value: Any, lanes: int) -> Any:
    return operation("vector.broadcast", [vector_type(lanes, value.type)], [value])


def integers(element: Type, values: Sequence[int]) -> Any:
    """A constant vector of integers."""
    ir = mlir()
    attributes = [ir.IntegerAttr.get(element, value) for value in values]
    dense = ir.DenseElementsAttr.get(attributes, vector_type(len(values), element))
    return operation("arith.constant", [dense.type], [], value=dense)


def extract(vector: Any, lane: Any) -> Any:
    """One lane, by a number known now or by an index value."""
    ir = mlir()
    fixed = isinstance(lane, int)
    position = ir.DenseI64ArrayAttr.get([lane if fixed else -(2**63)])
    element = vector.type.element_type
    return operation("vector.extract", [element], [vector] if fixed else [vector, lane], static_position=position)


def insert(value: Any, vector: Any, lane: Any) -> Any:
    position = mlir().DenseI64ArrayAttr.get([-(2**63)])
    return operation("vector.insert", [vector.type], [value, vector, lane], static_position=position)


def shuffle(vector: Any, lanes: Sequence[int]) -> Any:
    result = vector_type(len(lanes), vector.type.element_type)
    return operation("vector.shuffle", [result], [vector, vector], mask=mlir().DenseI64ArrayAttr.get(list(lanes)))


def join(parts: Sequence[Any]) -> Any:
    """Vectors of one length, a power of two of them, as one vector."""
    while len(parts) > 1:
        length = parts[0].type.shape[0]
        result = vector_type(2 * length, parts[0].type.element_type)
        both = mlir().DenseI64ArrayAttr.get(list(range(2 * length)))
        pairs = zip(parts[::2], parts[1::2])
        parts = [operation("vector.shuffle", [result], pair, mask=both) for pair in pairs]
    return parts[0]


def any_lane(mask: Any) -> Any:
    ir = mlir()
    kind = ir.Attribute.parse("#vector.kind<or>")
    return operation("vector.reduction", [ir.IntegerType.get_signless(1)], [mask], kind=kind)


def all_lanes(mask: Any) -> Any:
    ir = mlir()
    kind = ir.Attribute.parse("#vector.kind<and>")
    return operation("vector.reduction", [ir.IntegerType.get_signless(1)], [mask], kind=kind)


def alignment(size: int, bits: int) -> Any:
    """The attribute that says how an address is aligned; plain and masked accesses spell it with other widths."""
    ir = mlir()
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), size)


def advance(pointer: Any, offset: Any, element: Type) -> Any:
    """``&pointer[offset]``; a vector of offsets makes a vector of pointers."""
    ir = mlir()
    is_vector = isinstance(offset.type, ir.VectorType)
    result = vector_type(offset.type.shape[0], pointer.type) if is_vector else pointer.type
    return operation(
        "llvm.getelementptr",
        [result],
        [pointer, offset],
        elem_type=ir.TypeAttr.get(element),
        rawConstantIndices=ir.DenseI32ArrayAttr.get([-(2**31)]),
    )
