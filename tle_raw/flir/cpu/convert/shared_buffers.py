"""Shared buffers: what a ``!ttg.memdesc`` becomes. Memory of the program, seen row by row; GPU layouts mean nothing.

A buffer is an address with constant strides. Memory is allocated once per ``local_alloc`` of the text, beside the
kernel's tiles. Control flow carries the address. Under ``knobs.debug`` each byte has a stamp, which tells who wrote it
last (``buffer_checks``); the stamps' address goes with the buffer's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tle_raw.errors import LoweringError
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, tiles, types
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.tiles import Computed, Index, ScalarBody, TileValue
from tle_raw.flir.cpu.mlir_values import Type, Value

_MEMDESC = re.compile(r"^!ttg\.memdesc<((?:\d+x)*)([^,]+)")
NAME = "tle.name"  # the attribute of an allocation that says what the kernel calls it


def is_buffer(type_: Type) -> bool:
    return str(type_).startswith("!ttg.memdesc<")


def shape_of(type_: Type) -> tuple[int, ...]:
    return tuple(int(dim) for dim in _parts(type_)[1].split("x")[:-1])


def element_of(type_: Type) -> Type:
    return build.type_of(_parts(type_)[2])


def _parts(type_: Type) -> re.Match[str]:
    match = _MEMDESC.match(str(type_))
    assert match, type_
    return match


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of rows behind each other."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class SharedBuffer(NamedTuple):
    """A buffer, or a view of one: element ``index`` lies at ``sum(index * strides)`` elements from the pointer."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: Type  # Triton's
    pointer: Value
    stamps: Value | None  # address of the first element's stamps, one for each byte; under `knobs.debug`
    name: str = ""  # the kernel's; "" where it is not known
    is_ready: bool | None = None  # of a barrier: whether the phase before the first counts; None where it is not known

    @property
    def title(self) -> str:
        """In errors."""
        return f"the buffer `{self.name}`" if self.name else "a buffer"

    @property
    def item_bytes(self) -> int:
        return build.bits(types.in_memory(self.element)) // 8

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.item_bytes

    @property
    def is_whole(self) -> bool:
        """Whether its elements lie behind each other."""
        canonical = row_major(self.shape)
        return all(size == 1 or a == b for size, a, b in zip(self.shape, self.strides, canonical))

    def view(
        self, shape: Sequence[int], strides: Sequence[int], offset: Any = 0, element: Type | None = None
    ) -> SharedBuffer:
        """Other elements of the same memory; ``offset`` counts elements: an int, or an i64."""
        shape, strides = tuple(shape), tuple(strides)
        element = self.element if element is None else element
        if isinstance(offset, int) and offset == 0:
            return self._replace(shape=shape, strides=strides, element=element)
        pointer = build.address(self.pointer, offset, types.in_memory(self.element))
        stamps = self.stamps
        if stamps is not None:
            stamps = build.address(stamps, offset, f"!llvm.array<{self.item_bytes} x i64>")
        return SharedBuffer(shape, strides, element, pointer, stamps, self.name, self.is_ready)

    def offset(self, index: Index) -> Any:
        """How many elements from the pointer an element lies."""
        if self.is_whole:
            return tiles.position(index, self.shape)
        total: Any = 0
        for at, stride in zip(index, self.strides):
            total = tiles.add(total, tiles.multiply(at, stride))
        return total

    def pointers(self) -> TileValue:
        """The elements' addresses, as a tile."""
        stored = types.in_memory(self.element)

        def compute(body: ScalarBody, index: Index) -> types.Address:
            offset = self.offset(index)
            wide = build.constant(offset, "i64") if isinstance(offset, int) else build.cast_integer(offset, "i64")
            return types.Address(self.pointer, wide, stored)

        return Computed(self.shape, self.element, [], compute)

    def parts(self) -> list[Value]:
        """What control flow carries."""
        return [self.pointer] if self.stamps is None else [self.pointer, self.stamps]

    def with_parts(self, waiting: list[Value]) -> SharedBuffer:
        """The same view of memory, perhaps another's, whose ``parts`` are taken from the front of a list."""
        pointer = waiting.pop(0)
        stamps = None if self.stamps is None else waiting.pop(0)
        return self._replace(pointer=pointer, stamps=stamps, name="", is_ready=None)


def allocate(kernel: Kernel, type_: Type, name: str = "") -> SharedBuffer:
    """New memory for a buffer."""
    shape, element = shape_of(type_), element_of(type_)
    memory = _known_everywhere(kernel, kernel.allocate((math.prod(shape),), element))
    buffer = SharedBuffer(shape, row_major(shape), element, memory, None, name)
    if not kernel.debug:
        return buffer
    return buffer._replace(stamps=_known_everywhere(kernel, kernel.allocate((buffer.bytes,), build.type_of("i64"))))


def _known_everywhere(kernel: Kernel, memory: tiles.BufferTile) -> Value:
    """The address of memory; under ``knobs.debug`` all of the function may ask whose an address is."""
    if not kernel.debug:
        return memory.pointer()
    with mlir().InsertionPoint.after(memory.memref.owner):
        return memory.pointer()


def buffer_of(kernel: Kernel, value: Value) -> SharedBuffer:
    """What a ``memdesc`` became."""
    found = kernel.values[value]
    assert isinstance(found, SharedBuffer), value
    return found


def carried_parts(kernel: Kernel, value: Value) -> list[Value]:
    """The scalars that control flow carries for a value that is no tile."""
    became = kernel.values[value]
    return became.parts() if isinstance(became, SharedBuffer) else [types.plain(became)]


def carried_types(kernel: Kernel, type_: Type) -> list[Type]:
    """Their types."""
    if is_buffer(type_):
        return [build.type_of("!llvm.ptr")] * (2 if kernel.debug else 1)
    return [types.computed(type_)]


def from_parts(like: Any, waiting: list[Value]) -> Any:
    """A value from the scalars at the front of a list; of a buffer ``like`` is one with the same strides."""
    return like.with_parts(waiting) if isinstance(like, SharedBuffer) else waiting.pop(0)


def check_alike(a: Any, b: Any) -> None:
    """Values that control flow joins: buffers must be views of the same form.

    Raises
    ------
    LoweringError : they lie differently in memory.
    """
    if isinstance(a, SharedBuffer) and isinstance(b, SharedBuffer) and (a.strides, a.shape) != (b.strides, b.shape):
        raise LoweringError(
            "a loop or a branch joins buffers that lie differently in memory, "
            f"with the strides {list(a.strides)} and {list(b.strides)}",
            hint="copy one of them into a buffer of the other's form",
        )


def select(kernel: Kernel, condition: Value, a: Value, b: Value) -> SharedBuffer:
    """One of two buffers."""
    first, second = buffer_of(kernel, a), buffer_of(kernel, b)
    check_alike(first, second)
    return first.with_parts([build.select(condition, *both) for both in zip(first.parts(), second.parts())])
