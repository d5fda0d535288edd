"""Elements of tiles and of memory behind pointers: addresses, loads, stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.adapters.mlir.edsl.emitter import Emitter
from tle_raw.adapters.mlir.edsl.types import (
    BOOL,
    I8,
    I32,
    I64,
    INDEX,
    Number,
    Other,
    PointerType,
    TileType,
    Vector,
    read_type,
)
from tle_raw.adapters.mlir.edsl.values import EdslValue, describe
from tle_raw.errors import Row

_DYNAMIC = "array<i32: -2147483648>"


def element_pointer(emit: Emitter, pointer: EdslValue, offset: EdslValue) -> EdslValue:
    """The address ``offset`` elements further on."""
    type_ = pointer.type
    element = pointer_element(emit, pointer)
    attributes = {"elem_type": element.storage, "rawConstantIndices": _DYNAMIC}
    return emit.op("llvm.getelementptr", (pointer, _offset(emit, offset)), type_, attributes)


def pointer_element(emit: Emitter, pointer: EdslValue) -> Number:
    assert isinstance(pointer.type, (PointerType, TileType))
    if pointer.type.element is None:
        emit.fail("nothing says what this pointer points to", hint='say it: pointer_to(p, "f32")[i]')
    return pointer.type.element


def _offset(emit: Emitter, offset: EdslValue) -> EdslValue:
    """An offset as a signed integer that getelementptr extends rightly."""
    type_ = offset.type
    assert isinstance(type_, Number)
    if type_ is INDEX or not type_.is_signed:
        return emit.convert(offset, I64)
    return offset if type_ in (I32, I64) else emit.convert(offset, I32)


def address(emit: Emitter, memory: EdslValue, indices: Sequence[object]) -> EdslValue:
    """The address of one element of a tile, or of the memory behind a pointer."""
    if isinstance(memory.type, PointerType):
        if len(indices) != 1:
            emit.mismatch("a pointer takes one index", "1", str(len(indices)), "indices")
        return element_pointer(emit, memory, emit.integer(indices[0], "the index"))
    assert isinstance(memory.type, TileType)
    place = EdslValue(memory.handle, PointerType(memory.type.element, 3, memory.type.writable))
    offset = _tile_offset(emit, memory.type, indices)
    return place if offset is None else element_pointer(emit, place, offset)


def _tile_offset(emit: Emitter, tile: TileType, indices: Sequence[object]) -> EdslValue | None:
    """Row-major; None for the first element. What is constant is added up now."""
    if tile.layout:
        emit.mismatch(
            "the elements of this buffer do not lie row by row: this language does not know where they are",
            "a row-major buffer",
            tile.layout,
            "layout",
            "copy it as a whole by a descriptor; or allocate it with nv_mma_shared_layout=False, without AnyLayout",
        )
    if len(indices) != len(tile.dims):
        rank = len(tile.dims)
        emit.mismatch(
            f"{tile} takes {rank} {'index' if rank == 1 else 'indices'}, got {len(indices)}",
            ", ".join(f"index {i}" for i in range(rank)),
            ", ".join(f"index {i}" for i in range(len(indices))) or "none",
            "indices",
            "t.flat[i] counts all elements in their order" if len(indices) == 1 else "",
        )
    constant, total = 0, None
    for axis, (index, dim, stride) in enumerate(zip(indices, tile.dims, tile.strides)):
        if isinstance(index, int) and not isinstance(index, bool):
            constant += _static_index(emit, index, dim, axis) * stride
            continue
        value = emit.integer(index, f"index {axis}")
        value = _offset(emit, value)
        if value.type is I64:
            value = emit.op("arith.trunci", (value,), I32)  # shared memory is far smaller
        if stride != 1:
            value = _in_range(emit, "arith.muli", value, emit.constant(stride, I32))
        total = value if total is None else _in_range(emit, "arith.addi", total, value)
    if constant and total is not None:
        return _in_range(emit, "arith.addi", total, emit.constant(constant, I32))
    return total if total is not None else emit.constant(constant, I32) if constant else None


def _in_range(emit: Emitter, name: str, one: EdslValue, other: EdslValue) -> EdslValue:
    """Offsets inside a tile never overflow; saying so lets LLVM fold them into addresses."""
    return emit.op(name, (one, other), I32, {"overflowFlags": "#arith.overflow<nsw>"})


def _static_index(emit: Emitter, index: int, dim: int, axis: int) -> int:
    if not -dim <= index < dim:
        emit.mismatch("the index is outside the tile", f"{-dim} to {dim - 1}", str(index), f"index {axis}")
    return index % dim


def load(emit: Emitter, memory: object, indices: Sequence[object]) -> Any:
    """``memory[indices]``."""
    if isinstance(memory, EdslValue) and isinstance(memory.type, Vector):
        return _lane(emit, memory, indices)
    if isinstance(memory, EdslValue) and isinstance(memory.type, Other):
        return _binding(emit, memory, indices, None)
    return load_from(emit, address(emit, _memory(emit, memory), indices))


def load_from(emit: Emitter, pointer: EdslValue) -> EdslValue:
    element = pointer_element(emit, pointer)
    loaded = emit.raw("llvm.load", (pointer,), element.storage, I8 if element.is_bool else element)
    return emit.truth(loaded) if element.is_bool else loaded


def store(emit: Emitter, memory: object, indices: Sequence[object], given: object) -> None:
    """``memory[indices] = given``; the value is converted to the element's type as an assignment in NumPy is."""
    if isinstance(memory, EdslValue) and isinstance(memory.type, Other):
        _binding(emit, memory, indices, given)
        return
    if isinstance(memory, EdslValue) and isinstance(memory.type, Vector):
        emit.fail("the elements of a vector cannot be assigned", hint="make a new one: vector(a, b, …)")
    target = _memory(emit, memory)
    check_writable(emit, target)
    store_to(emit, address(emit, target, indices), given)


def store_to(emit: Emitter, pointer: EdslValue, given: object) -> None:
    element = pointer_element(emit, pointer)
    value = stored_value(emit, given, element)
    if element is BOOL:
        value = emit.op("arith.extui", (value,), I8)
    emit.do("llvm.store", (value, pointer))


def stored_value(emit: Emitter, given: object, element: Number) -> EdslValue:
    """A number as the element type of the memory that it goes to."""
    if isinstance(given, EdslValue) and not isinstance(given.type, Number):
        emit.mismatch(f"this cannot be stored as {element}", str(element), given)
    if isinstance(given, EdslValue):
        return emit.convert(given, element)
    if isinstance(given, (bool, int, float)) and not (isinstance(given, float) and not element.is_float):
        return emit.constant(float(given) if element.is_float else given, element)
    return emit.mismatch(f"this cannot be stored as {element}", str(element), given)


def check_writable(emit: Emitter, memory: EdslValue) -> None:
    if getattr(memory.type, "writable", True):
        return
    kind = "Pointer" if isinstance(memory.type, PointerType) else "Tile"
    emit.fail(
        f"this {kind.lower()} is In: it may be read only",
        [Row("effect", "InOut", "In")],
        f"declare it InOut[{kind}[...]]",
    )


def _memory(emit: Emitter, memory: object) -> EdslValue:
    if isinstance(memory, EdslValue) and isinstance(memory.type, (TileType, PointerType)):
        return memory
    return emit.mismatch(f"{describe(memory)} has no elements", "a tile or a pointer", memory)


def _lane(emit: Emitter, vector: EdslValue, indices: Sequence[object]) -> EdslValue:
    assert isinstance(vector.type, Vector)
    if len(indices) != 1:
        emit.mismatch("a vector takes one index", "1", str(len(indices)), "indices")
    if isinstance(indices[0], int):
        return emit.extract(vector, _static_index(emit, indices[0], vector.type.length, 0))
    lane = emit.integer(indices[0], "the index")
    return emit.op("llvm.extractelement", (vector, lane), vector.type.element)


def _binding(emit: Emitter, memory: EdslValue, indices: Sequence[object], given: object | None) -> Any:
    """Elements of a memref that a builder of the binding made."""
    spelling = memory.type.mlir
    if not spelling.startswith("memref<"):
        emit.mismatch("this has no elements", "a tile, a pointer or a memref", memory)
    positions = [emit.convert(emit.integer(i, "the index"), INDEX) for i in indices]
    element = read_type(spelling[len("memref<") :].split(",")[0].rstrip(">").rpartition("x")[2])
    if given is None:
        return emit.op("memref.load", (memory, *positions), element)
    if not isinstance(element, Number):
        emit.fail(f"elements of {spelling} cannot be assigned here")
    emit.do("memref.store", (stored_value(emit, given, element), memory, *positions))
    return None
