"""What a kernel takes of a multiprocessor, read from the machine code that ptxas wrote.

Of each kernel the section ``.nv.info`` has the registers of a thread and the bytes of its stack. Its records are of a
format, an attribute and a value; the names of the two attributes are those that ``cuobjdump -elf`` prints.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tle_raw.linker.machine_code.elf import sections

_INFO, _CODE = ".nv.info", ".text."
_REGISTERS, _FRAME = 0x2F, 0x11  # EIATTR_REGCOUNT, EIATTR_FRAME_SIZE
_SIZED = 4  # a format: so many bytes follow
_RECORD = struct.Struct("<BBH")
_OF_SYMBOL = struct.Struct("<II")


class Resources(NamedTuple):
    """Registers and bytes of stack of one thread, and the bytes of the code."""

    registers: int
    stack: int
    code: int


def read_resources(image: bytes) -> Resources | None:
    """Those of a cubin with one function; None of any other, and of one without its registers.

    Raises
    ------
    LinkError : the bytes are no such object.
    """
    codes, found = list[int](), dict[int, list[int]]()
    for name, content in sections(image):
        if name.startswith(_CODE):
            codes.append(len(content))
        elif name == _INFO:
            for attribute, value in _values(content):
                found.setdefault(attribute, []).append(value)
    registers = found.get(_REGISTERS, [])
    if len(codes) != 1 or len(registers) != 1:
        return None
    return Resources(registers[0], sum(found.get(_FRAME, [])), codes[0])


def _values(content: bytes) -> Iterator[tuple[int, int]]:
    """Each attribute of a symbol with its value."""
    place = 0
    while place + _RECORD.size <= len(content):
        form, attribute, size = _RECORD.unpack_from(content, place)
        place += _RECORD.size
        if form == _SIZED:
            if size == _OF_SYMBOL.size and place + size <= len(content):
                yield attribute, _OF_SYMBOL.unpack_from(content, place)[1]
            place += size
