"""Tokens of LLVM textual IR: strings, comments, names and brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tle_raw.errors import LinkError, SourceLocation


class UnreadableIRError(LinkError):
    """LLVM IR text that this reader does not understand; nothing is guessed."""


class Token(NamedTuple):
    """One token. ``kind`` is word, string, punctuation, or the sigil of a name: @ % $ ! # ^."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """A name without its sigil and quotes, with its escapes decoded."""
        return decode_name(self.text)


_NAME = r'(?:[-a-zA-Z$._0-9]+|"[^"]*")'
_TOKEN = re.compile(
    rf"""(?P<space>(?:\s|;[^\n]*)+)
    |(?P<name>[@%$]{_NAME}|[!](?:[-a-zA-Z$._0-9\\]+)|[#^][-a-zA-Z$._0-9]+)
    |(?P<string>"[^"]*")
    |(?P<word>\.\.\.|[-+]?[a-zA-Z$._0-9][-+a-zA-Z$._0-9]*)
    |(?P<punctuation>[(){{}}\[\]<>,=*:|!/])""",
    re.VERBOSE,
)
# Everything up to the next bracket that is not a flat pair; strings and comments hide their brackets.
# The outer group is not possessive: Python before 3.11.5 mishandles possessive groups.
_FLAT = re.compile(r'(?:[^"{}()\[\];]++|"[^"]*"|;[^\n]*+|\([^"{}()\[\];]*+\)|\[[^"{}()\[\];]*+\]|\{[^"{}()\[\];]*+\})*')
_NO_STRUCTURE = bytes(code for code in range(256) if code not in b'"{}()[];\n')
_OPEN, _CLOSE = "({[", ")}]"
# Compilers write a dozen. LLVM's own reader, and ours of types, call themselves for each and run out of stack.
_DEEPEST = 64


def tokenize(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """The tokens of a range; spaces and comments are skipped.

    Raises
    ------
    UnreadableIRError : a character that begins no token.
    """
    end = len(text) if end is None else end
    while start < end:
        match = _TOKEN.match(text, start, end)
        if match is None:
            raise unreadable(text, start)
        kind, value = match.lastgroup, match.group()
        if kind != "space":
            yield Token(value[0] if kind == "name" else str(kind), value, start, match.end())
        start = match.end()


def token_at(text: str, position: int) -> re.Match[str]:
    match = _TOKEN.match(text, position)
    if match is None:
        raise unreadable(text, position)
    return match


def after_token(text: str, match: re.Match[str]) -> int:
    """End of a token, or of the whole group when it opens a bracket."""
    return _after_group(text, match.start()) if match.group() in _OPEN else match.end()


def after_body(text: str, position: int) -> int:
    """End of a function's body, which begins with the brace at ``position``.

    LLVM closes it by a brace that begins a line. That this is the one is seen by brackets, strings and comments alone.
    """
    end = text.find("\n}", position) + 2
    bare = text[position:end].encode("utf-8", "replace").translate(None, _NO_STRUCTURE).decode()
    try:
        if end > 1 and _after_group(bare, 0) == len(bare):
            return end
    except UnreadableIRError:
        pass
    return _after_group(text, position)


def _after_group(text: str, position: int) -> int:
    opened = [position]
    position += 1
    while opened:
        flat = _FLAT.match(text, position)
        position = flat.end() if flat else position
        bracket = text[position : position + 1]
        if not bracket or bracket == '"':
            raise unreadable(text, opened[-1], "a bracket that is never closed")
        if bracket in _OPEN:
            opened.append(position)
            if len(opened) > _DEEPEST:
                raise unreadable(text, opened[0], f"brackets inside brackets, more than {_DEEPEST} deep")
        elif _CLOSE.index(bracket) != _OPEN.index(text[opened.pop()]):
            raise unreadable(text, position, "a bracket that closes another kind")
        position += 1
    return position


def skip_space(text: str, position: int) -> int:
    match = _TOKEN.match(text, position)
    return match.end() if match and match.lastgroup == "space" else position


def decode_name(text: str) -> str:
    """The name that ``@f``, ``@"a b"`` or ``!llvm.ident`` spells."""
    name = text[1:]
    if not name.startswith('"'):
        return name
    # in one pass: a backslash that an escape gives must not be read as half of another
    return re.sub(r"\\(\\|[0-9a-fA-F]{2})", lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 16)), name[1:-1])


def encode_name(sigil: str, name: str) -> str:
    """The inverse of ``decode_name``; quotes only where LLVM wants them."""
    if re.fullmatch(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*", name) or re.fullmatch(r"\d+", name):
        return sigil + name
    escaped = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\{ord(c):02X}" for c in name)
    return f'{sigil}"{"".join(escaped)}"'


def line_of(text: str, position: int) -> int:
    """Line number, from 1, of a position."""
    return text.count("\n", 0, position) + 1


def unreadable(text: str, position: int, what: str = "") -> UnreadableIRError:
    """The error for text at a position that is not understood."""
    line = line_of(text, position)
    start = text.rfind("\n", 0, position) + 1
    excerpt = text[start : text.find("\n", position) if "\n" in text[position:] else len(text)]
    what = what or f"unexpected {excerpt[position - start :][:24]!r}"
    error = UnreadableIRError(
        f"cannot read the LLVM IR at line {line}: {what}",
        hint="LLVM IR of LLVM 15 to 24 is understood",
    )
    error.at(source=SourceLocation("<LLVM IR>", line, position - start + 1, excerpt[:200]))
    return error
