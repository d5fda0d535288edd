"""Which buffers a kernel allocates in shared memory: what the error of too little memory names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tle_raw.errors import SourceLocation
from tle_raw.flir.nvidia.buffer_types import PREFIX, BufferType, layout_aliases, read_buffer_type
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import operation_name

ALLOC = "ttg.local_alloc"
_NAME = re.compile(r'tle\.name = "([^"]*)"')
_PADDING = re.compile(r"(\d+):\+(\d+)")


@dataclass(frozen=True)
class SharedBuffer:
    """One allocation, by its line in a module's text; what it is, is read when a kernel asks for too much memory."""

    line: str
    lines: Sequence[str]

    @property
    def name(self) -> str:
        """What the kernel calls it; "" where it does not."""
        name = _NAME.search(self._parts[0])
        return name[1] if name else ""

    @property
    def shape(self) -> str:
        """Its dims and its element."""
        return f"{list(self._type.dims)} of {self._type.element}"

    @property
    def bytes(self) -> int:
        """Its size, with the gaps of a padded one."""
        elements = prod(self._type.dims)
        gaps = sum((elements - 1) // int(m[1]) * int(m[2]) for m in _PADDING.finditer(self._type.layout))
        return (elements + gaps) * self._type.element_bytes

    @property
    def location(self) -> SourceLocation:
        """The kernel's line."""
        return Locations(self.lines).source_location(f"loc({self._parts[1]}")

    def __str__(self) -> str:
        return f"{f'`{self.name}` ' if self.name else ''}{self.shape}, {self.location}"

    @property
    def _parts(self) -> tuple[str, str]:
        text, _, location = self.line.partition(" loc(")
        return text, location

    @property
    def _type(self) -> BufferType:
        text = PREFIX + self._parts[0].rpartition(PREFIX)[2].strip()
        return read_buffer_type(text, layout_aliases(self.lines))


def read_buffers(lines: Sequence[str]) -> list[SharedBuffer]:
    """Of TritonGPU text, as Triton prints it or in generic form."""
    return [SharedBuffer(line, lines) for line in lines if ALLOC in line and operation_name(line) == ALLOC]
