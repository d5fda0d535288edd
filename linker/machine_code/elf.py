"""Reads the sections and the symbol table of a 64-bit little-endian ELF object."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tle_raw.errors import LinkError

MAGIC = b"\x7fELF\x02\x01"
HEADER_BYTES = 64
SYMBOL_TABLE = 2  # SHT_SYMTAB
UNDEFINED = 0  # SHN_UNDEF
GLOBAL, WEAK = 1, 2  # STB_GLOBAL, STB_WEAK
OBJECT, FUNCTION = 1, 2  # STT_OBJECT, STT_FUNC
INTERNAL, HIDDEN = 1, 2  # STV_INTERNAL, STV_HIDDEN: for the object that it is linked into
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


class ElfSymbol(NamedTuple):
    """A named symbol, the section that defines it, 0 for none, and whether it is a function that others can call.

    ``bytes`` is the size of a variable that others can see, or 0.
    """

    name: str
    section: int
    is_visible_function: bool = False
    bytes: int = 0


def undefined_symbols(image: bytes) -> list[str]:
    """The names that an object uses and does not define.

    Raises
    ------
    LinkError : the bytes are no such object.
    """
    return [symbol.name for symbol in symbols(image) if symbol.section == UNDEFINED]


def visible_functions(image: bytes) -> list[str]:
    """The functions that an object defines for others to call.

    Raises
    ------
    LinkError : the bytes are no such object.
    """
    return [symbol.name for symbol in symbols(image) if symbol.is_visible_function]


def sections(image: bytes) -> Iterator[tuple[str, bytes]]:
    """The names and contents of an object's sections.

    Raises
    ------
    LinkError : the bytes are no such object.
    """
    table = _table(image)
    (index,) = struct.unpack_from("<H", image, 0x3E)
    names = table[index][4]
    for section in table:
        begin = names + section[0]
        yield image[begin : image.index(b"\0", begin)].decode(), image[section[4] : section[4] + section[5]]


def _table(image: bytes) -> list[tuple[int, ...]]:
    if not image.startswith(MAGIC) or len(image) < HEADER_BYTES:
        raise LinkError("not a 64-bit little-endian ELF object")
    (offset,) = struct.unpack_from("<Q", image, 0x28)
    (size, count) = struct.unpack_from("<HH", image, 0x3A)
    return [_SECTION.unpack_from(image, offset + index * size) for index in range(count)]


def symbols(image: bytes) -> Iterator[ElfSymbol]:
    """The named symbols of an object."""
    table = _table(image)
    for section in table:
        kind, start, length, names = section[1], section[4], section[5], section[6]
        if kind == SYMBOL_TABLE:
            for position in range(start, start + length, _SYMBOL.size):
                name, info, other, defined_in, _, size = _SYMBOL.unpack_from(image, position)
                if name:
                    begin = table[names][4] + name
                    visible = info >> 4 in (GLOBAL, WEAK) and defined_in != UNDEFINED
                    yield ElfSymbol(
                        image[begin : image.index(b"\0", begin)].decode(),
                        defined_in,
                        visible and info & 15 == FUNCTION and other & 3 not in (INTERNAL, HIDDEN),
                        size if visible and info & 15 == OBJECT else 0,
                    )
