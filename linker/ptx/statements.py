"""Splits PTX text into statements: comments, strings and multi-line statements read as ptxas reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<newline>\n)|(?P<space>[^\S\n]+)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<word>[\w$%.]+(?:::[\w$%.]+)*)|(?P<punctuation>[^\s])""",
    re.VERBOSE | re.DOTALL,
)
# Directives that end with their line instead of a semicolon.
_LINE_DIRECTIVES = frozenset([".version", ".target", ".address_size", ".loc", ".file", ".section"])


@dataclass(frozen=True, slots=True)
class PtxStatement:
    """One statement: its tokens, its first and last line (from 1), and the comment that follows it.

    ``closing`` is what ended it: ``;``, ``{``, ``}``, ``:`` for a label, or "" for the end of the line.
    """

    tokens: tuple[str, ...]
    line: int
    last_line: int
    closing: str
    comment: str = ""


def statements(ptx: str) -> Iterator[PtxStatement]:
    """The statements of a PTX module in order. A brace that opens or closes a block ends a statement."""
    tokens: list[str] = []
    line = first = 1
    braces = 0
    comment = ""
    for match in _TOKEN.finditer(ptx):
        kind, text = match.lastgroup, match.group()
        if kind == "space":
            continue
        if kind == "comment":
            comment = text
            line += text.count("\n")
            continue
        if kind == "newline":
            if tokens and tokens[0] in _LINE_DIRECTIVES:
                yield PtxStatement(tuple(tokens), first, line, "", comment)
                tokens = []
            comment = ""
            line += 1
            continue
        if not tokens:
            first = line
        # A brace inside a started statement is a vector operand or an initialiser, not a block.
        if text == "{" and tokens and not _opens_body(tokens):
            braces += 1
        elif text == "}" and braces:
            braces -= 1
        elif (text in (";", "{", "}") and not braces) or (text == ":" and len(tokens) == 1):
            yield PtxStatement(tuple(tokens), first, line, text)
            tokens = []
            continue
        tokens.append(text)


def _opens_body(tokens: list[str]) -> bool:
    return ".entry" in tokens or ".func" in tokens
