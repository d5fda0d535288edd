"""Shared memory, pointers and accesses by vectors, in eDSL code: functions of ``tle_raw.mlir``."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.mlir.edsl import memory
from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.intrinsics import Intrinsic
from tle_raw.adapters.mlir.edsl.operators import common_type
from tle_raw.adapters.mlir.edsl.outer import as_dtype
from tle_raw.adapters.mlir.edsl.types import PointerType, TileType, Vector
from tle_raw.adapters.mlir.edsl.values import EdslValue, is_literal
from tle_raw.errors import Row


@Intrinsic
def shared(emit: Emitter, dtype: Any, *dims: int) -> EdslValue:
    """Static shared memory of the block, one tile for each place in the source that asks for it."""
    element = as_dtype(dtype)
    if element is None:
        emit.mismatch("the first argument of shared is a dtype", 'a dtype, for example "f32"', dtype)
    if not dims or not all(isinstance(d, int) and not isinstance(d, bool) and d > 0 for d in dims):
        emit.mismatch("the dims of shared memory are positive constants", "integers", str(dims), "dims")
    tile = TileType(element, dims)
    return emit.static_shared(tile)


@Intrinsic
def pointer_to(emit: Emitter, pointer: EdslValue, dtype: Any) -> EdslValue:
    """The same address, as a pointer to elements of ``dtype``."""
    element = as_dtype(dtype)
    if element is None:
        emit.mismatch("this is no dtype", "a dtype, for example f32", dtype)
    if not isinstance(pointer, EdslValue) or not isinstance(pointer.type, (PointerType, TileType)):
        emit.mismatch("this is no pointer", "a pointer or a tile", pointer)
    space = pointer.type.space if isinstance(pointer.type, PointerType) else 3
    return EdslValue(pointer.handle, PointerType(element, space, pointer.type.writable))


@Intrinsic
def load_vector(emit: Emitter, source: EdslValue, index: Any, length: int) -> EdslValue:
    """``length`` elements from ``source[index]`` on, in one access: the address must be a multiple of its size."""
    pointer, vector = _vector_access(emit, source, index, length)
    attributes = {"alignment": f"{vector.length * vector.element.itemsize} : i64"}
    return emit.op("llvm.load", (pointer,), vector, attributes)


@Intrinsic
def store_vector(emit: Emitter, target: EdslValue, index: Any, value: EdslValue) -> None:
    """Store a vector from ``target[index]`` on, in one access: the address must be a multiple of its size."""
    if not isinstance(value, EdslValue) or not isinstance(value.type, Vector):
        emit.mismatch("store_vector stores a vector", "a vector", value)
    pointer, vector = _vector_access(emit, target, index, value.type.length)
    memory.check_writable(emit, target)
    converted = value if value.type == vector else emit.convert(value, vector.element)
    attributes = {"alignment": f"{vector.length * vector.element.itemsize} : i64"}
    emit.do("llvm.store", (converted, pointer), attributes)


def _vector_access(emit: Emitter, source: Any, index: Any, length: Any) -> tuple[EdslValue, Vector]:
    if not isinstance(source, EdslValue) or not isinstance(source.type, (PointerType, TileType)):
        emit.mismatch("this has no elements", "a tile or a pointer", source)
    element = memory.pointer_element(emit, source)
    if not isinstance(length, int) or length not in (2, 4, 8, 16) or length * element.itemsize > 16 or element.is_bool:
        emit.fail(
            "an access takes 2, 4, 8 or 16 elements, and 16 bytes at most",
            [Row("length", "a power of two", f"{length} of {element}")],
        )
    indices = index if isinstance(index, tuple) else (index,)
    return memory.address(emit, source, indices), Vector(element, length)


@Intrinsic
def vector(emit: Emitter, *elements: Any) -> EdslValue:
    """A vector of these numbers, in the type in which they meet."""
    items = elements[0] if len(elements) == 1 and isinstance(elements[0], tuple) else elements
    if not 2 <= len(items) <= 16:
        emit.mismatch("a vector has 2 to 16 elements", "2 to 16", str(len(items)), "elements")
    values = [emit.number(item, "an element of a vector") for item in items if not is_literal(item)]
    if not values:
        values = [emit.constant(items[0])]
    first = values[0]
    for item in items:
        if item is not first:
            first = EdslValue(None, common_type(first, item))
    return emit.vector([emit.convert(item, first.type) for item in items])  # type: ignore[arg-type]
