"""Reads the symbol table of a 64-bit little-endian ELF object."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tle_raw.errors import LinkError

MAGIC = b"\x7fELF\x02\x01"
HEADER_BYTES = 64
SYMBOL_TABLE = 2  # SHT_SYMTAB
UNDEFINED = 0  # SHN_UNDEF
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


class Symbol(NamedTuple):
    """A named symbol, and the section that defines it: 0 for none."""

    name: str
    section: int


def undefined_symbols(image: bytes) -> list[str]:
    """The names that an object uses and does not define.

    Raises
    ------
    LinkError : the bytes are no such object.
    """
    return [symbol.name for symbol in symbols(image) if symbol.section == UNDEFINED]


def symbols(image: bytes) -> Iterator[Symbol]:
    """The named symbols of an object."""
    if not image.startswith(MAGIC) or len(image) < HEADER_BYTES:
        raise LinkError("not a 64-bit little-endian ELF object")
    (offset,) = struct.unpack_from("<Q", image, 0x28)
    (size, count) = struct.unpack_from("<HH", image, 0x3A)
    sections = [_SECTION.unpack_from(image, offset + index * size) for index in range(count)]
    for section in sections:
        kind, start, length, names = section[1], section[4], section[5], section[6]
        if kind == SYMBOL_TABLE:
            for position in range(start, start + length, _SYMBOL.size):
                name, _, _, defined_in, _, _ = _SYMBOL.unpack_from(image, position)
                if name:
                    begin = sections[names][4] + name
                    yield Symbol(image[begin : image.index(b"\0", begin)].decode(), defined_in)
