"""LLVM types read from tokens and written in one spelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.linker.llvm.text import Token, UnreadableIRError, unreadable

FLOAT_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "fp128": 16, "ppc_fp128": 16, "x86_fp80": 16}
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
        """The next token; None at the end."""
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    def sees(self, *texts: str) -> bool:
        """Whether the next token is one of these texts."""
        return self.current is not None and self.current.text in texts

    def take(self, *expected: str) -> Token:
        """The next token, which is passed; an error where it is none of ``expected``."""
        token = self.current
        if token is None or (expected and token.text not in expected):
            raise self.refusal(f"expected {' or '.join(expected) or 'more'}")
        self.index += 1
        return token

    def refusal(self, what: str = "") -> UnreadableIRError:
        """The error for text that cannot be read here."""
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
        """Whether a type may begin here."""
        token = self.current
        if token is None:
            return False
        if token.kind == "word":
            word = token.text
            return (
                word in FLOAT_BYTES or word in _UNSIZED or word in ("ptr", "target") or integer_bits(word) is not None
            )
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
        """The type that stands here; the cursor goes behind it."""
        kind = self._read_simple_type()
        while self.sees("(") and kind.kind != "pointer":
            kind = Type("function", (kind, *self.read_types("(", ")")))
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
            return Type("struct", self.read_types("{", "}"))
        if token.text == "<" and self.sees("{"):
            packed = Type("packed", self.read_types("{", "}"))
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

    def read_types(self, opening: str, closing: str) -> tuple[Type, ...]:
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


def integer_bits(word: str) -> int | None:
    """``i32`` to 32; None for a word that is no integer type."""
    return int(word[1:]) if word[0] == "i" and word[1:].isdecimal() else None
