"""Sizes and alignments of LLVM types, by the module's data layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tle_raw.linker.llvm.text import Module, UnreadableIRError
from tle_raw.linker.llvm.types import FLOAT_BYTES, Cursor, Type, integer_bits


@dataclass(frozen=True)
class Sizes:
    """Byte sizes and ABI alignments of types.

    ``pointers`` maps an address space to the bytes of its pointers where the data layout names it.
    """

    named: Mapping[str, Type] = field(default_factory=dict)
    pointers: Mapping[int, int] = field(default_factory=dict)

    def size(self, kind: Type) -> int:
        """Bytes that one element of an array of this type takes."""
        match kind.kind:
            case "pointer":
                return self.pointers.get(kind.count, self.pointers.get(0, 8))
            case "array":
                return kind.count * self.size(kind.elements[0])
            case "vector":
                return _round_up(-(-kind.count * self._bits(kind.elements[0]) // 8), self.alignment(kind))
            case "struct":
                return _round_up(self._end_of_fields(kind), self.alignment(kind))
            case "packed":
                return sum(map(self.size, kind.elements))
            case "named":
                return self.size(self._definition(kind))
        if kind.kind in FLOAT_BYTES:
            return FLOAT_BYTES[kind.kind]
        bits = integer_bits(kind.kind)
        if bits is None:
            raise UnreadableIRError(f"the type `{kind}` has no size")
        return _round_up(-(-bits // 8), self.alignment(kind))

    def alignment(self, kind: Type) -> int:
        """Default alignment of this type."""
        match kind.kind:
            case "array":
                return self.alignment(kind.elements[0])
            case "vector":
                return _power_of_two(-(-kind.count * self._bits(kind.elements[0]) // 8))
            case "struct":
                return max(map(self.alignment, kind.elements), default=1)
            case "packed":
                return 1
            case "named":
                return self.alignment(self._definition(kind))
        bits = integer_bits(kind.kind)
        return min(_power_of_two(-(-bits // 8)), 16) if bits is not None else self.size(kind)

    def _bits(self, kind: Type) -> int:
        return integer_bits(kind.kind) or 8 * self.size(kind)

    def _end_of_fields(self, kind: Type) -> int:
        end = 0
        for element in kind.elements:
            end = _round_up(end, self.alignment(element)) + self.size(element)
        return end

    def _definition(self, kind: Type) -> Type:
        found = self.named.get(kind.name)
        if found is None or found.kind == "opaque":
            raise UnreadableIRError(f"the type `{kind}` has no definition")
        return found


def sizes_of(module: Module) -> Sizes:
    """The sizes that a module's type definitions and data layout give."""
    named = {}
    for entity in module.of_kind("type"):
        cursor = Cursor(module.text, module.header(entity))
        name = cursor.take().text
        cursor.take("=")
        cursor.take("type")
        named[name] = cursor.read_type()
    return Sizes(named, _pointer_bytes(data_layout(module)))


def data_layout(module: Module) -> str:
    """The string of the ``target datalayout`` line, or ""."""
    for entity in module.of_kind("target"):
        tokens = module.header(entity)
        if [token.text for token in tokens[1:3]] == ["datalayout", "="]:
            return tokens[3].text.strip('"')
    return ""


def _pointer_bytes(layout: str) -> dict[int, int]:
    parts = (re.fullmatch(r"p(\d*):(\d+)(?::.*)?", part) for part in layout.split("-"))
    return {int(part[1] or 0): int(part[2]) // 8 for part in parts if part}


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _power_of_two(value: int) -> int:
    return 1 << (max(value, 1) - 1).bit_length()
