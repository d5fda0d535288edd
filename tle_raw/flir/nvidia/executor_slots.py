"""Slots of shared memory in which one executor of a loop hands values to others.

A ring has as many slots as iterations may lie between the two ends, each with a buffer for every value and with two
barriers, as a pipe of the language has. A value that its executor only loads travels without passing through registers:
by a copy of the copy engine, or by ``cp.async``. All else is stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from tle_raw.flir.nvidia.buffer_types import element_bits
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.regions.swizzles import widest_swizzle

STORE, COPY, TMA = "store", "copy", "tma"
BARRIER = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
_SPACE = "#ttg.shared_memory, mutable"
_TENSOR = re.compile(r"^tensor<(?P<dims>(?:\d+x)+)(?P<element>[^<>]+)>$")
_DESCRIPTOR = re.compile(r"^!tt\.tensordesc<(?:tensor<)?(?P<dims>(?:\d+x)+)(?P<element>\w+)>")
_MATRIX_BITS = (8, 16, 32)
_SEGMENTS = "operandSegmentSizes = array<i32: {}>"
_ZERO = re.compile(r"value = (dense<)?(0|false|0\.0+e\+00)(>| :)")
_HOPPER = 90


@dataclass(frozen=True)
class Field:
    """A value's place in each slot.

    Attributes
    ----------
    value, made : what is handed over, and the operation that makes it.
    transport : ``STORE``, ``COPY`` or ``TMA``.
    shape : of the buffer; a scalar has one element.
    swizzle : in bytes, of the layout that tensor cores and the copy engine take; -1 of rows behind each other.
    """

    value: Value
    made: Operation
    transport: str
    shape: tuple[int, ...]
    element: str
    swizzle: int

    @property
    def is_scalar(self) -> bool:
        """Whether the value is no block tensor."""
        return not self.value.type.startswith("tensor<")

    @property
    def bytes(self) -> int:
        """Of one slot."""
        return prod(self.shape) * element_bits(self.element) // 8

    @property
    def tensor(self) -> str:
        """The type of a slot's content."""
        return f"tensor<{_dims(self.shape)}x{self.element}>"

    def type(self, slots: int = 0, *, transposed: bool = False) -> str:
        """Of one slot's buffer, or of all."""
        shape = self.shape[::-1] if transposed else self.shape
        outer = f"{slots}x" if slots else ""
        return f"!ttg.memdesc<{outer}{_dims(shape)}x{self.element}, {self._layout(transposed)}, {_SPACE}>"

    def _layout(self, transposed: bool) -> str:
        if self.swizzle >= 0:
            turned, bits = str(transposed).lower(), element_bits(self.element)
            inside = f"swizzlingByteWidth = {self.swizzle}, transposed = {turned}, elementBitWidth = {bits}"
            return f"#ttg.nvmma_shared<{{{inside}}}>"
        order = ", ".join(map(str, reversed(range(len(self.shape)))))
        return f"#ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [{order}]}}>"


def barrier_type(slots: int = 0) -> str:
    """Of one barrier, or of one for each slot."""
    return f"!ttg.memdesc<{f'{slots}x' if slots else ''}1xi64, {BARRIER}, {_SPACE}>"


def field_of(value: Value, lines: list[str], capability: int, *, is_used: bool) -> Field:
    """The field of a value.

    Parameters
    ----------
    is_used : by the executor that makes it, too.
    """
    made = value.definition
    assert made is not None
    found = _TENSOR.match(value.type)
    shape = tuple(int(dim) for dim in found["dims"][:-1].split("x")) if found else (1,)
    element = found["element"] if found else value.type
    swizzle = -1
    if len(shape) == 2 and element_bits(element) in _MATRIX_BITS:
        swizzle = widest_swizzle(shape, element_bits(element))
    transport = STORE
    if found and not is_used:
        if made.name == "tt.descriptor_load" and capability >= _HOPPER and swizzle >= 0 and _is_whole(made, shape):
            transport = TMA
        if made.name == "tt.load" and _can_be_copied(made, lines):
            transport = COPY
    return Field(value, made, transport, shape, element, swizzle)


def copy_line(field: Field, lines: list[str], slot: str) -> GenericOperation:
    """The copy from global memory into a slot, in place of a load."""
    load = read_generic(lines[field.made.line])
    mask = list(load.operands[1:2])
    properties = f"contiguity = 1 : i32, isVolatile = false, {_SEGMENTS.format(f'1, 1, {len(mask)}, 0')}"
    types = (load.types[0], field.type(), *load.types[1:2])
    return GenericOperation(
        "ttg.async_copy_global_to_local",
        (load.operands[0], slot, *mask),
        types,
        ("!ttg.async.token",),
        properties=properties,
        location=load.location,
    )


def _dims(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _is_whole(load: Operation, shape: tuple[int, ...]) -> bool:
    """Whether a descriptor's block has the shape of what it loads."""
    found = _DESCRIPTOR.match(load.operands[0].type)
    return found is not None and tuple(int(dim) for dim in found["dims"][:-1].split("x")) == shape


def _can_be_copied(load: Operation, lines: list[str]) -> bool:
    """Whether all that it does not read is 0."""
    operation = read_generic(lines[load.line])
    if operation.property("isVolatile") == "true" or "boundaryCheck = array<i32: " in lines[load.line]:
        return False
    return len(load.operands) < 3 or _is_zero(load.operands[2])


def _is_zero(value: Value) -> bool:
    made = value.definition
    if made is not None and made.name in ("tt.splat", "tt.broadcast"):
        return _is_zero(made.operands[0])
    return made is not None and made.name == "arith.constant" and _ZERO.search(made.details) is not None
