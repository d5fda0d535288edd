"""Two operations that the kernel API lacks: tiles that the reader writes itself, element by element."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from tle_raw.errors import LoweringError, Row
from tle_raw.targets.tenstorrent.emit.expressions import argument, buffer_name, expression, float_bits
from tle_raw.targets.tenstorrent.ir import Bits, Buffer, Call, CircularBuffer, Int
from tle_raw.targets.tenstorrent.kernel_api import Release

_TYPES = {
    "Float32": "uint32_t",
    "Int32": "uint32_t",
    "UInt32": "uint32_t",
    "Float16": "uint16_t",
    "Float16_b": "uint16_t",
}

_POINTER = """\
// Where the elements of a page behind the write pointer of a circular buffer lie.
template <typename Element>
inline volatile tt_l1_ptr Element* page_elements(uint32_t buffer, uint32_t page) {
    const uintptr_t address = get_write_ptr(buffer) + page * get_tile_size(buffer);
    return reinterpret_cast<volatile tt_l1_ptr Element*>(address);
}
"""
_SCALER = """\
// What reduce_tile multiplies by: the first row of each face; everything else is zero.
template <typename Element>
inline void write_scaler_tile(uint32_t buffer, Element value) {
    volatile tt_l1_ptr Element* elements = page_elements<Element>(buffer, 0);
    for (uint32_t i = 0; i < 1024; ++i) {
        elements[i] = i % 256 < 16 ? value : Element(0);
    }
}
"""
_PLACE = """\
// Where element (r, c) of a tile lies: four faces of 16 x 16, one after the other.
inline uint32_t place_in_tile(uint32_t r, uint32_t c) {
    return (r / 16 * 2 + c / 16) * 256 + r % 16 * 16 + c % 16;
}
"""
WRITTEN_OUT = {"write_scaler_tile": (_POINTER, _SCALER), "write_choice_tile": (_POINTER, _PLACE)}


def helpers(operations: set[str]) -> list[str]:
    """The functions in C++ that some of these operations are written with, each once."""
    wanted = [text for name, texts in WRITTEN_OUT.items() if name in operations for text in texts]
    return list(dict.fromkeys(wanted))


def write_out(call: Call, buffers: Mapping[str, CircularBuffer], release: Release) -> Iterator[str]:
    """The lines of C++ of one of them.

    Raises
    ------
    LoweringError : a buffer whose format has no elements that can be written one by one, or a value that is not known.
    """
    buffer = call.arguments[0]
    if not isinstance(buffer, Buffer):
        raise LoweringError(f"{call.operation} writes to a circular buffer, not to `{buffer}`")
    data_format = buffers[buffer.name].data_format
    if data_format not in _TYPES:
        raise LoweringError(
            f"{call.operation}: elements are written one by one",
            table=[Row("format of the buffer", ", ".join(_TYPES), data_format)],
        )
    kind, name = _TYPES[data_format], buffer_name(buffer.name)
    if call.operation == "write_scaler_tile":
        yield f"write_scaler_tile<{kind}>({name}, {_element(call.arguments[1], data_format)});"
        return
    _, page, condition, yes, no = call.arguments
    yield "{"
    yield f"    volatile tt_l1_ptr {kind}* elements = page_elements<{kind}>({name}, {expression(page, release)});"
    yield "    for (uint32_t r = 0; r < 32; ++r) {"
    yield "        for (uint32_t c = 0; c < 32; ++c) {"
    chosen = f"{_element(yes, data_format)} : {_element(no, data_format)}"
    yield f"            elements[place_in_tile(r, c)] = {argument(condition, release)} ? {chosen};"
    yield "        }"
    yield "    }"
    yield "}"


def _element(value: object, data_format: str) -> str:
    """The bits of a constant in a format."""
    match value:
        case Int(number):
            return f"{number & 0xFFFFFFFF:#x}u"
        case Bits(number):
            return f"{_bits(number, data_format):#x} /* {number!r} */"
    raise LoweringError(f"what is written into a tile is known when the kernel is compiled, `{value}` is not")


def _bits(number: float, data_format: str) -> int:
    if data_format == "Float16":
        return int.from_bytes(struct.pack("<e", number), "little")
    word = float_bits(number)
    if data_format == "Float16_b":
        return (word + 0x7FFF + (word >> 16 & 1)) >> 16
    return word if data_format == "Float32" else int(number) & 0xFFFFFFFF
