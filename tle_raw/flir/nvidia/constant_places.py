"""Which elements of a buffer an access touches, where the kernel's constants say it.

Two accesses that never touch one element need no barrier between them: the stores of a step that each write their own
part, one half of a buffer and the other. Offsets that are made of ``tl.arange`` and constants alone are computed here,
element by element.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache
from math import prod

from tle_raw.linker.mlir.generic_tree import Operation, Value

_MOST = 1 << 14  # elements of a tensor that are computed
_DIMS = re.compile(r"tensor<((?:\d+x)*)")
_NUMBER = re.compile(r"value = (?:dense<)?(-?\d+)>? :")
_SAME = ("tt.splat", "tt.broadcast", "ttg.convert_layout", "arith.extsi", "arith.extui", "arith.trunci")
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.divsi": operator.floordiv,
    "arith.remsi": operator.mod,
    "arith.xori": operator.xor,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.shli": operator.lshift,
    "arith.shrui": operator.rshift,
}
_NEVER_NEGATIVE = ("arith.div", "arith.rem", "arith.shrui")
Place = tuple[Value, frozenset[int]]


class ConstantPlaces:
    """Of a module's pointers; what was computed is kept. Tensors of more than ``most`` elements are not computed."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._numbers: dict[Value, list[int] | None] = {}
        self._places: dict[Value, Place | None] = {}

    def of(self, pointer: Value) -> Place | None:
        """The address from which elements are counted, and which they are; None where that is not constant."""
        if pointer not in self._places:
            self._places[pointer] = self._place(pointer)
        return self._places[pointer]

    def _place(self, pointer: Value) -> Place | None:
        total = [0]
        while True:
            operation = pointer.definition
            if operation is None:
                return None
            if operation.name == "tt.addptr":
                offsets = self.numbers(operation.operands[1])
                if offsets is None:
                    return None
                total = _together(total, offsets, _OPERATIONS["arith.addi"])
            elif operation.name == "tt.int_to_ptr":
                return operation.operands[0], frozenset(total)
            elif operation.name not in ("tt.splat", "ttg.convert_layout"):
                return None
            pointer = operation.operands[0]

    def numbers(self, value: Value) -> list[int] | None:
        """The elements of a tensor of integers, row by row; a scalar's one number."""
        if value not in self._numbers:
            operation = value.definition
            too_large = prod(_dims(value.type)) > self._most
            self._numbers[value] = None if operation is None or too_large else self._computed(operation)
        return self._numbers[value]

    def _computed(self, operation: Operation) -> list[int] | None:
        name, shape = operation.name, _dims(operation.results[0].type)
        if name == "arith.constant":
            number = _NUMBER.search(operation.details)
            return [int(number[1])] * prod(shape) if number else None
        if name == "tt.make_range":
            start = re.search(r"start = (\d+)", operation.details)
            return list(range(int(start[1]), int(start[1]) + shape[0])) if start else None
        if name not in _OPERATIONS and name not in _SAME and name != "tt.expand_dims":
            return None
        given = []
        for operand in operation.operands:
            numbers = self.numbers(operand)
            if numbers is None:
                return None
            given.append(numbers)
        if name == "tt.expand_dims":
            return given[0]
        if name in _SAME:
            return _broadcast(given[0], _dims(operation.operands[0].type), shape)
        if name.startswith(_NEVER_NEGATIVE) and min(min(given[0]), min(given[1]) - 1) < 0:
            return None
        return _together(given[0], given[1], _OPERATIONS[name])


@lru_cache(maxsize=256)
def _dims(type_: str) -> tuple[int, ...]:
    match = _DIMS.match(type_)
    return tuple(int(dim) for dim in match[1].split("x")[:-1]) if match else ()


def _together(a: list[int], b: list[int], compute: Callable[[int, int], int]) -> list[int]:
    """Element by element; one number goes with all."""
    size = max(len(a), len(b))
    return list(map(compute, a * (size // len(a)), b * (size // len(b))))


def _broadcast(numbers: list[int], dims: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    if len(numbers) == prod(shape):
        return numbers
    if len(numbers) == 1:
        return numbers * prod(shape)
    for axis, (dim, wanted) in enumerate(zip(dims, shape)):
        if dim == wanted:
            continue
        row = prod(dims[axis + 1 :])  # what repeats together; the axes before are as wide as they will be
        numbers = [each for start in range(0, len(numbers), row) for each in numbers[start : start + row] * wanted]
    return numbers
