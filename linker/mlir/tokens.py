"""Any MLIR text in tokens, without any MLIR installed: custom and generic form, what users write and tools print.

``linker/mlir/text.py`` reads whole modules as Triton prints them, a line an operation, and only what it looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Strings first: whatever looks like code inside one is none.
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<comment>//[^\n]*)
    |(?P<symbol>@(?:"(?:[^"\\]|\\.)*"|[-A-Za-z_$.0-9]+))
    |(?P<value>%[-A-Za-z_$.0-9]+(?:\#\d+)?)
    |(?P<block>\^[-A-Za-z_$.0-9]+)
    |(?P<alias>[!\#][A-Za-z_$][-\w$.]*)
    |(?P<arrow>->)
    |(?P<word>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)
    |(?P<number>\d[\w.]*(?:[eE][-+]\d+)?)
    |(?P<mark>::|[][(){}<>=,:?*+/|&;#!~-])
    """,
    re.VERBOSE,
)
_OPEN, _CLOSE = frozenset("([{<"), frozenset(")]}>")


@dataclass(frozen=True)
class Token:
    """A piece of the text. ``kind`` is the name of the lexical class."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """All tokens but comments; characters of no token, such as a stray `'`, are left out."""
    return [
        Token(match.lastgroup or "", match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "comment"
    ]


def closing(tokens: Sequence[Token], index: int) -> int:
    """The index of the bracket that closes the one at ``index``; the last token when none does."""
    depth = 0
    for position in range(index, len(tokens)):
        if tokens[position].kind == "mark":
            depth += (tokens[position].text in _OPEN) - (tokens[position].text in _CLOSE)
            if depth == 0:
                return position
    return len(tokens) - 1


def split(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The parts between the commas of the outermost level."""
    depth, start = 0, 0
    for index, token in enumerate(tokens):
        if token.kind == "mark":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if token.text == "," and depth == 0:
                yield tokens[start:index]
                start = index + 1
    if tokens[start:]:
        yield tokens[start:]


def spelling(text: str, tokens: Sequence[Token]) -> str:
    """The text from the first to the last token."""
    return text[tokens[0].start : tokens[-1].end] if tokens else ""


def line_of(text: str, position: int) -> int:
    """The number of a position's line, from 1."""
    return text.count("\n", 0, position) + 1


def unquoted(text: str) -> str:
    """The name that a symbol or a string spells."""
    body = text.removeprefix("@")
    return re.sub(r"\\([\\\"])", r"\1", body[1:-1]) if body.startswith('"') else body
