"""Types of shared buffers as texts: ``!ttg.memdesc<64x64xf32, #shared, #smem, mutable>``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from math import prod

from tle_raw.linker.mlir.text import split_top_level

_DIMS = re.compile(r"(?P<dims>(?:\d+x)+)(?P<element>.*)$")
_ALIAS = re.compile(r"^(#[\w$.]+) = (#ttn?g\..*)$")
_ORDER = re.compile(r"order = \[([\d, ]+)\]")
_BITS = re.compile(r"[a-z]+(\d+)")
_VECTOR = re.compile(r"vec = (\d+)")
_NEVER = re.compile(r"maxPhase = 1\b")
PREFIX = "!ttg.memdesc<"


@dataclass(frozen=True)
class BufferType:
    """A buffer's dims, its element's text, and its layout with the alias resolved."""

    dims: tuple[int, ...]
    element: str
    layout: str

    @property
    def order(self) -> tuple[int, ...]:
        """The axes, the one along which elements lie side by side first."""
        rank = len(self.dims)
        said = _ORDER.search(self.layout)
        if said:
            order = tuple(int(axis) for axis in said[1].split(","))
            return order if len(order) == rank else tuple(reversed(range(rank)))
        forward = tuple(reversed(range(rank)))
        return tuple(reversed(forward)) if "transposed = true" in self.layout else forward

    @property
    def together(self) -> int:
        """How many elements in a row lie together in memory, wherever a swizzle puts them."""
        row = self.dims[self.order[0]]
        if _NEVER.search(self.layout) or "#ttg.swizzled_shared" not in self.layout:
            return row
        vector = _VECTOR.search(self.layout)
        return min(row, int(vector[1])) if vector else row

    @property
    def is_padded(self) -> bool:
        """Whether gaps lie between its rows."""
        return "#ttg.padded_shared" in self.layout

    @property
    def element_bytes(self) -> int:
        """The width of an element in memory."""
        return element_bits(self.element) // 8


def read_buffer_type(text: str, aliases: Mapping[str, str]) -> BufferType:
    """The parts of a buffer's type."""
    parts = [part.strip() for part in split_top_level(text.removeprefix(PREFIX)[:-1])]
    match = _DIMS.match(parts[0])
    dims = tuple(int(d) for d in match["dims"].split("x")[:-1]) if match else ()
    return BufferType(dims, match["element"] if match else parts[0], aliases.get(parts[1], parts[1]))


def buffer_bytes(text: str, aliases: Mapping[str, str]) -> int:
    """What a buffer of this type takes of shared memory: none where it is one of tensor memory."""
    if "tensor_memory" in text:
        return 0
    known = read_buffer_type(text, aliases)
    return prod(known.dims) * known.element_bytes


def layout_aliases(lines: Iterable[str]) -> dict[str, str]:
    """The aliases of layouts that a module's text begins with."""
    head = takewhile(lambda line: not line or line[0] == "#", lines)
    found = (_ALIAS.match(line) for line in head if not line.startswith("#loc"))
    return {match[1]: match[2] for match in found if match}


def element_bits(element: str) -> int:
    """The width of an element in memory, of a pointer that of what it points to: a bool takes a byte."""
    element = element.removeprefix("!tt.ptr<")
    if element.startswith("f8"):
        return 8
    bits = _BITS.match(element)
    return max(8, int(bits[1])) if bits else 8
