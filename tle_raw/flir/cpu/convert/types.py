"""How Triton's element types are computed with, and how they lie in buffers and memory."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build
from tle_raw.flir.cpu.mlir_values import Type, Value

_POINTER = re.compile(r"^!tt\.ptr<([^,]*?)(?:, .*)?>$")  # behind the comma: the address space, or constant


class Address(NamedTuple):
    """A pointer as base and offset in elements; one base for all elements of a tile keeps its shape visible."""

    base: Value
    offset: Value | None  # i64
    element: Type  # as it lies in memory

    def pointer(self) -> Value:
        return self.base if self.offset is None else build.address(self.base, self.offset, self.element)

    def integer(self) -> Value:
        return build.value("llvm.ptrtoint", [self.pointer()], "i64")

    def advanced(self, offset: Value) -> Address:
        """``offset`` elements further; it counts as a signed number."""
        wide = build.cast_integer(offset, "i64")
        return self._replace(offset=wide if self.offset is None else build.binary("addi", self.offset, wide))


def plain(scalar: Value) -> Value:
    """A scalar as one value; addresses become pointers."""
    return scalar.pointer() if isinstance(scalar, Address) else scalar


def from_integer(number: Value, element: Type) -> Address:
    return Address(build.value("llvm.inttoptr", [number], "!llvm.ptr"), None, element)


def is_pointer(type_: Type) -> bool:
    return str(type_).startswith("!tt.ptr<")


def pointee(type_: Type) -> Type:
    """What a ``!tt.ptr`` points to, as it lies in memory."""
    match = _POINTER.match(str(type_))
    assert match, type_
    return in_memory(build.type_of(match[1]))


def is_tile(type_: Type) -> bool:
    return str(type_).startswith("tensor<")


def shape_of(type_: Type) -> tuple[int, ...]:
    return tuple(mlir().RankedTensorType(type_).shape)


def element_of(type_: Type) -> Type:
    """The element type of a tensor; any other type is its own."""
    return mlir().RankedTensorType(type_).element_type if is_tile(type_) else type_


def is_small_float(type_: Type) -> bool:
    """fp8 and smaller: a byte that only conversions understand."""
    return str(type_).startswith("f8")


def computed(type_: Type) -> Type:
    """The scalar type that an element is computed with; pointers are ``!llvm.ptr``."""
    if is_pointer(type_):
        return build.type_of("!llvm.ptr")
    return build.type_of("i8") if is_small_float(type_) else type_


def in_memory(type_: Type) -> Type:
    """The type in the user's memory and in buffers: a bool takes a byte, a pointer is an i64."""
    text = str(type_)
    if is_pointer(type_) or text == "!llvm.ptr":
        return build.type_of("i64")
    return build.type_of("i8") if text == "i1" or is_small_float(type_) else type_


def to_memory(scalar: Value) -> Value:
    """A computed element as it is stored."""
    if isinstance(scalar, Address):
        return scalar.integer()
    if str(scalar.type) == "!llvm.ptr":
        return build.value("llvm.ptrtoint", [scalar], "i64")
    return build.cast_integer(scalar, "i8", signed=False) if str(scalar.type) == "i1" else scalar


def from_memory(stored: Value, type_: Type) -> Any:
    """A stored element of Triton's type ``type_`` as it is computed with."""
    if is_pointer(type_):
        return from_integer(stored, pointee(type_))
    if str(type_) == "i1":
        return build.compare("ne", stored, build.constant(0, stored.type))
    return stored
