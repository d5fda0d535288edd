"""Which buffers a kernel allocates in shared memory: what the error of too little memory names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tle_raw.errors import SourceLocation
from tle_raw.flir.nvidia.buffer_types import PREFIX, layout_aliases, read_buffer_type
from tle_raw.linker.mlir.locations import Locations
from tle_raw.linker.mlir.text import operation_name

ALLOC = "ttg.local_alloc"
_NAME = re.compile(r'tle\.name = "([^"]*)"')
_PADDING = re.compile(r"(\d+):\+(\d+)")


@dataclass(frozen=True)
class SharedBuffer:
    """One allocation: what the kernel calls it, its shape, its bytes, and its line."""

    name: str
    shape: str
    bytes: int
    location: SourceLocation

    def __str__(self) -> str:
        return f"{f'`{self.name}` ' if self.name else ''}{self.shape}, {self.location}"


def read_buffers(lines: Sequence[str]) -> list[SharedBuffer]:
    """Of TritonGPU text, as Triton prints it or in generic form."""
    allocs = [line for line in lines if ALLOC in line and operation_name(line) == ALLOC]
    aliases, locations = layout_aliases(lines) if allocs else {}, Locations(lines)
    found = []
    for line in allocs:
        text, _, location = line.partition(" loc(")
        type_ = read_buffer_type(PREFIX + text.rpartition(PREFIX)[2].strip(), aliases)
        elements = prod(type_.dims)
        gaps = sum((elements - 1) // int(m[1]) * int(m[2]) for m in _PADDING.finditer(type_.layout))
        name = _NAME.search(text)
        shape = f"{list(type_.dims)} of {type_.element}"
        place = locations.source_location(f"loc({location}")
        found.append(SharedBuffer(name[1] if name else "", shape, (elements + gaps) * type_.element_bytes, place))
    return found
