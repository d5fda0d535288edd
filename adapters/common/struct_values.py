"""Structs as a launch passes them: tuples, dicts, dataclasses, structures of ctypes and NumPy, bytes."""

from __future__ import annotations

import ctypes
import dataclasses
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.structs import Address, Array, Bits, Node, Number, Parts, Struct, Taker, leaves

_FORMATS = {
    "i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """An address that memory holds, as a field of ctypes' or NumPy's; who passes it keeps alive what is there."""

    address: int


def _parts(value: Any) -> Parts | None:
    """The items of a Python value; None for a number, an array of numbers in memory, None."""
    if isinstance(value, Mapping):
        return Parts(list(value.values()), tuple(map(str, value)))
    if isinstance(value, (tuple, list)):
        return Parts(value, tuple(getattr(value, "_fields", ())))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(f.name for f in dataclasses.fields(value))
        return Parts([getattr(value, name) for name in names], names)
    if isinstance(value, complex):
        return Parts((value.real, value.imag))
    return None


def _whole(node: Node, value: Any, what: str) -> list[Any] | None:
    """All values of what lies in memory: its layout is compared with that of the C++ type first."""
    if isinstance(value, (bytes, bytearray, memoryview)) and not isinstance(node, Number | Address):
        data = bytes(value)
        if len(data) != node.size:
            raise _other_layout(node, what, f"{len(data)} bytes")
        return [_unpack(leaf.type, data, leaf.offset) for leaf in leaves(node)]
    if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
        _check(node, ctypes.sizeof(value), list(_ctypes_places(type(value), 0)), type(value).__name__, what)
        return [_unpack(leaf.type, bytes(value), leaf.offset) for leaf in leaves(node)]
    dtype: Any = getattr(value, "dtype", None)
    if getattr(dtype, "names", None) is not None and getattr(value, "shape", None) == ():
        _check(node, dtype.itemsize, list(_numpy_places(dtype, 0)), str(dtype), what)
        return [_unpack(leaf.type, value.tobytes(), leaf.offset) for leaf in leaves(node)]
    if isinstance(node, Bits) and isinstance(value, int):
        return _words(node, value, what)
    if isinstance(node, Array | Struct) and _is_row(value) and not isinstance(value, (str, bytes)):
        return _row(node, value)
    return None


def _is_row(value: Any) -> bool:
    """A small array of the host's, of numbers; for an array or a vector of C++'s."""
    return bool(getattr(value, "shape", ())) and hasattr(value, "tolist") and getattr(value, "is_cuda", False) is False


def _row(node: Array | Struct, value: Any) -> list[Any] | None:
    found = list(leaves(node))
    numbers = _flat(value.tolist())
    is_numbers = all(isinstance(leaf.type, Number) for leaf in found)
    return numbers if is_numbers and len(numbers) == len(found) else None


def _flat(value: Any) -> list[Any]:
    return [v for item in value for v in _flat(item)] if isinstance(value, list) else [value]


def _words(node: Bits, value: int, what: str) -> list[Any]:
    try:
        data = value.to_bytes(node.size, "little", signed=value < 0)
    except OverflowError:
        raise _other_layout(node, what, str(value)) from None
    return [_unpack(leaf.type, data, leaf.offset) for leaf in leaves(node)]


def _unpack(type_: Number | Address, data: bytes, offset: int) -> Any:
    if isinstance(type_, Address):
        return Place(struct.unpack_from("<Q", data, offset)[0])
    dtype: DType = type_.dtype
    if dtype.name == "bf16":
        return struct.unpack("<f", b"\0\0" + data[offset : offset + 2])[0]
    return struct.unpack_from("<" + _FORMATS[dtype.name], data, offset)[0]


def _check(node: Node, size: int, places: list[tuple[int, int]], name: str, what: str) -> None:
    wanted = list(_places(node, 0))
    if size == node.size and (places == wanted or _has_bits(node)):
        return
    shown = ", ".join(f"{size} at {offset}" for offset, size in places)
    raise _other_layout(node, what, f"{name} of {size} bytes: {shown}", wanted)


def _other_layout(node: Node, what: str, got: str, wanted: list[tuple[int, int]] | None = None) -> ArgumentTypeError:
    fields = f": {', '.join(f'{size} at {offset}' for offset, size in wanted)}" if wanted else ""
    return ArgumentTypeError(
        f"`{what}` lies in memory in another way than the C++ type `{getattr(node, 'name', node)}`",
        table=[Row(what, f"{node.size} bytes{fields}", got)],
        hint=f"the bytes of each field and where it begins must be those of {node}",
    )


def _has_bits(node: Node) -> bool:
    """Whether only its size can be compared: a union, bit fields, enumerations."""
    if isinstance(node, Struct):
        return any(_has_bits(m.type) for m in node.members)
    if isinstance(node, Array):
        return _has_bits(node.item)
    return isinstance(node, Bits) or (isinstance(node, Number) and node.is_enum)


def _places(node: Node, start: int) -> Iterator[tuple[int, int]]:
    """Where each number and pointer is: its offset and its size, in bytes."""
    for leaf in leaves(node):
        yield start + leaf.offset, leaf.type.size


def _ctypes_places(type_: Any, start: int) -> Iterator[tuple[int, int]]:
    if issubclass(type_, ctypes.Structure):
        for base in reversed(type_.__mro__):
            for name, own, *_ in base.__dict__.get("_fields_", ()):
                yield from _ctypes_places(own, start + getattr(type_, name).offset)
    elif issubclass(type_, ctypes.Array):
        for index in range(type_._length_):
            yield from _ctypes_places(type_._type_, start + index * ctypes.sizeof(type_._type_))
    else:
        yield start, ctypes.sizeof(type_)


def _numpy_places(dtype: Any, start: int) -> Iterator[tuple[int, int]]:
    if dtype.names is not None:
        for name in dtype.names:
            own, offset = dtype.fields[name][:2]
            yield from _numpy_places(own, start + offset)
    elif dtype.subdtype is not None:
        own, _ = dtype.subdtype
        count = dtype.itemsize // own.itemsize
        for index in range(count):
            yield from _numpy_places(own, start + index * own.itemsize)
    else:
        yield start, dtype.itemsize


VALUES = Taker(_parts, lambda value: type(value).__name__, _whole)
