"""LLVM types read from tokens, written in one spelling, and sized by the module's data layout."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tle_raw.linker.llvm_text import Module, Token, UnreadableIRError, unreadable

_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "fp128": 16, "ppc_fp128": 16, "x86_fp80": 16}
_UNSIZED = ("void", "label", "token", "metadata", "x86_amx", "opaque")


@dataclass(frozen=True)
class Type:
    """A type: ``kind`` is its word, or pointer, array, vector, struct, packed, named or function."""

    kind: str
    elements: tuple[Type, ...] = ()
    count: int = 0
    name: str = ""

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.elements))
        match self.kind:
            case "pointer":
                return f"ptr addrspace({self.count})" if self.count else "ptr"
            case "array":
                return f"[{self.count} x {inner}]"
            case "vector":
                return f"<{self.count} x {inner}>"
            case "struct":
                return f"{{ {inner} }}"
            case "packed":
                return f"<{{ {inner} }}>"
            case "named":
                return self.name
            case "function":
                return f"{self.elements[0]} ({', '.join(map(str, self.elements[1:]))})"
        return self.kind


class Cursor:
    """Walks over tokens; reads types and skips attributes."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text, self.tokens, self.index = text, tokens, 0

    @property
    def current(self) -> Token | None:
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    def sees(self, *texts: str) -> bool:
        return self.current is not None and self.current.text in texts

    def take(self, *expected: str) -> Token:
        token = self.current
        if token is None or (expected and token.text not in expected):
            raise self.refusal(f"expected {' or '.join(expected) or 'more'}")
        self.index += 1
        return token

    def refusal(self, what: str = "") -> UnreadableIRError:
        token = self.current
        position = token.start if token else self.tokens[-1].end if self.tokens else 0
        return unreadable(self.text, position, what)

    def skip_group(self) -> None:
        """Skip one token, or a bracketed group with all that is inside."""
        depth = 0
        while True:
            text = self.take().text
            depth += (text in "([{<") - (text in ")]}>")
            if depth <= 0:
                return

    def at_type(self) -> bool:
        token = self.current
        if token is None:
            return False
        if token.kind == "word":
            word = token.text
            return word in _BYTES or word in _UNSIZED or word in ("ptr", "target") or _integer(word) is not None
        return token.kind == "%" or token.text in ("[", "<", "{")

    def skip_attributes(self) -> None:
        """Skip the words, ``name(...)``, ``align 8`` and ``"key"="value"`` that may stand before a type."""
        while self.current is not None and not self.at_type():
            if self.current.kind not in ("word", "string"):
                raise self.refusal()
            self.take()
            if self.sees("("):
                self.skip_group()
            elif self.sees("="):
                self.take()
                self.take()

    def read_type(self) -> Type:
        kind = self._read_simple_type()
        while self.sees("(") and kind.kind != "pointer":
            kind = Type("function", (kind, *self._list("(", ")")))
        return kind

    def _read_simple_type(self) -> Type:
        if not self.at_type():
            raise self.refusal("a type was expected")
        token = self.take()
        if token.text == "ptr":
            return Type("pointer", count=self._address_space())
        if token.text == "[":
            return self._sequence("array", "]")
        if token.text == "{":
            self.index -= 1
            return Type("struct", self._list("{", "}"))
        if token.text == "<" and self.sees("{"):
            packed = Type("packed", self._list("{", "}"))
            self.take(">")
            return packed
        if token.text == "<":
            return self._sequence("vector", ">")
        if token.text == "target":
            raise unreadable(self.text, token.start, "a target extension type")
        if self.sees("*"):
            raise self.refusal("a typed pointer; compile with an LLVM that has opaque pointers")
        return Type("named", name=token.text) if token.kind == "%" else Type(token.text)

    def _address_space(self) -> int:
        if not self.sees("addrspace"):
            return 0
        self.take()
        self.take("(")
        token = self.take()
        if not token.text.isdecimal():
            raise unreadable(self.text, token.start, "an address space that is no number")
        self.take(")")
        return int(token.text)

    def _sequence(self, kind: str, closing: str) -> Type:
        token = self.take()
        if not token.text.isdecimal():
            raise unreadable(self.text, token.start, "a vector whose length is not fixed")
        self.take("x")
        element = self.read_type()
        self.take(closing)
        return Type(kind, (element,), int(token.text))

    def _list(self, opening: str, closing: str) -> tuple[Type, ...]:
        """Comma-separated types; what follows a type up to the comma (attributes, names) is skipped."""
        self.take(opening)
        found: list[Type] = []
        while not self.sees(closing):
            if self.sees("..."):
                self.take()
                found.append(Type("..."))
            else:
                found.append(self.read_type())
            while not self.sees(",", closing):
                self.skip_group()
            if self.sees(","):
                self.take()
        self.take(closing)
        return tuple(found)


def _integer(word: str) -> int | None:
    return int(word[1:]) if word[0] == "i" and word[1:].isdecimal() else None


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
        if kind.kind in _BYTES:
            return _BYTES[kind.kind]
        bits = _integer(kind.kind)
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
        bits = _integer(kind.kind)
        return min(_power_of_two(-(-bits // 8)), 16) if bits is not None else self.size(kind)

    def _bits(self, kind: Type) -> int:
        return _integer(kind.kind) or 8 * self.size(kind)

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
