"""Puts a launch's arguments into 8-byte slots, by the kernel's signature."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import LaunchError, Row
from tle_raw.targets.cpu.arrays import ANYWHERE, Range, address_of, memory_of
from tle_raw.targets.cpu.descriptors import expand_descriptor, expanded_types, is_descriptor

POINTER, CONSTANT = "*", "constexpr"
# Type in a signature: struct's letter and the bytes that fill the slot.
SCALARS = {
    "i1": "B7x",
    "u1": "B7x",
    "i8": "b7x",
    "u8": "B7x",
    "i16": "h6x",
    "u16": "H6x",
    "i32": "i4x",
    "u32": "I4x",
    "i64": "q",
    "u64": "Q",
    "f16": "e6x",
    "fp16": "e6x",
    "bf16": "H6x",
    "f32": "f4x",
    "fp32": "f4x",
    "f64": "d",
    "fp64": "d",
}
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Parameter:
    """One slot. ``path`` leads to its argument: an index, and further ones into tuples."""

    path: tuple[int, ...]
    type: str
    name: str

    @property
    def is_pointer(self) -> bool:
        return self.type.startswith(POINTER)

    @property
    def is_written(self) -> bool:
        """Only ``tl.const`` says that it is not."""
        return not self.type.startswith("*k")


class Slots:
    """Packs the arguments of one kernel."""

    def __init__(self, signature: dict[Any, Any]) -> None:
        self.descriptors = tuple(i for i, type in enumerate(signature.values()) if _has_descriptor(type))
        types = [expanded_types(type) if i in self.descriptors else type for i, type in enumerate(signature.values())]
        self.parameters = tuple(_parameters(types, [str(name) for name in signature]))
        layout = "".join("Q" if p.is_pointer else SCALARS[p.type] for p in self.parameters)
        self._struct = struct.Struct("<" + layout)
        self._readers = [_reader(p) for p in self.parameters]

    def pack(self, arguments: Sequence[Any]) -> bytes:
        """The slots, one after the other.

        Raises
        ------
        LaunchError : an argument that its parameter cannot take.
        """
        if self.descriptors:
            arguments = self._expanded(arguments)
        values = [read(arguments) for read in self._readers]
        try:
            return self._struct.pack(*values)
        except (struct.error, OverflowError, TypeError) as e:
            raise self._misfit(values) from e

    def memory(self, arguments: Sequence[Any]) -> list[tuple[str, Range]]:
        """The names of all pointer arguments, and the memory of their arrays."""
        if self.descriptors:
            arguments = self._expanded(arguments)
        return [(p.name, memory_of(_follow(arguments, p.path))) for p in self.parameters if p.is_pointer]

    def bytes_of(self, arguments: Sequence[Any], number: int) -> int:
        """Bytes of the array that a pointer parameter gets; 0 where they are not known."""
        if self.descriptors:
            arguments = self._expanded(arguments)
        found = memory_of(_follow(arguments, self.parameters[number].path))
        return 0 if found == ANYWHERE else found[1] - found[0]

    def _expanded(self, arguments: Sequence[Any]) -> list[Any]:
        return [expand_descriptor(a) if i in self.descriptors else a for i, a in enumerate(arguments)]

    def _misfit(self, values: Sequence[Any]) -> LaunchError:
        for parameter, value in zip(self.parameters, values):
            code = "Q" if parameter.is_pointer else SCALARS[parameter.type]
            try:
                struct.pack("<" + code, value)
            except (struct.error, OverflowError, TypeError):
                return LaunchError(
                    f"argument `{parameter.name}` does not fit its parameter",
                    table=[Row("value", parameter.type, f"{value!r} ({type(value).__name__})")],
                )
        return LaunchError("the arguments do not fit the kernel's parameters")


def _parameters(types: Sequence[Any], names: Sequence[str], path: tuple[int, ...] = ()) -> Iterator[Parameter]:
    for index, (type, name) in enumerate(zip(types, names)):
        here = (*path, index)
        if isinstance(type, (tuple, list)):
            yield from _parameters(type, [f"{name}[{i}]" for i in range(len(type))], here)
        elif type == CONSTANT:
            continue
        elif type.startswith(POINTER) or type in SCALARS:
            yield Parameter(here, type, name)
        else:
            raise LaunchError(f"argument `{name}`: kernels on the CPU cannot take the type {type}")


def _reader(parameter: Parameter) -> Callable[[Sequence[Any]], Any]:
    """The function that takes this parameter's value out of the arguments."""
    first, rest = parameter.path[0], parameter.path[1:]
    if parameter.is_pointer:
        name, written = parameter.name, parameter.is_written
        if rest:
            return lambda arguments: address_of(_follow(arguments[first], rest), name, written) & _MASK
        return lambda arguments: address_of(arguments[first], name, written) & _MASK
    if parameter.type == "bf16":
        return lambda arguments: _bfloat16(_follow(arguments[first], rest))
    if rest:
        return lambda arguments: _follow(arguments[first], rest)
    return operator.itemgetter(first)


def _follow(value: Any, path: Sequence[int]) -> Any:
    for index in path:
        value = value[index]
    return value


def _bfloat16(value: float) -> int:
    """The upper half of the float's bits, rounded to nearest, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return int(bits >> 16 | 0x40)
    return int(bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _has_descriptor(type: Any) -> bool:
    if isinstance(type, (tuple, list)):
        return any(map(_has_descriptor, type))
    return is_descriptor(type)
