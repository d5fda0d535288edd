"""The hints that a source file holds: ``#@hint: name`` and ``#@hint: name=value, name``, read by Python's tokenizer."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

_MARK = re.compile("@hint", re.IGNORECASE)
# With a name behind the colon; or what was meant to be one.
_COMMENT = re.compile(r"#\s*@hint(?:\s*:\s*(?P<hints>[^#]*)|(?P<other>s?\b[^#]*))", re.IGNORECASE)


@dataclass(frozen=True)
class Hint:
    """One hint of a comment.

    Attributes
    ----------
    name, value : as they are written, but for ``-`` and capitals in the name; the value is "" where there is none. A
        comment that is meant to be a hint and has not its form has no name: its text is the value.
    file, line, text : of the comment; the text is the whole line.
    """

    name: str
    value: str
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.name and self.value else self.name or self.value


def read_hints(lines: Sequence[str], file: str) -> list[Hint]:
    """The hints of a file's lines, in order; none where they are no Python. A text that looks like one is none."""
    if not mentions(lines):
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            if token.type == tokenize.COMMENT:
                line = token.start[0]
                for match in _COMMENT.finditer(token.string):
                    found += _hints(match, file, line, lines[line - 1])
    except (tokenize.TokenError, SyntaxError):  # an unfinished cell: Triton would not have got a kernel from it
        return []
    return found


def mentions(lines: Sequence[str]) -> bool:
    """Whether a source holds the word at all."""
    return any(_MARK.search(line) for line in lines)


def _hints(match: re.Match[str], file: str, line: int, text: str) -> list[Hint]:
    parts = [part for part in (match["hints"] or "").split(",") if part.strip()]
    if not parts:
        return [Hint("", match[0].strip(), file, line, text.rstrip())]
    return [_hint(part, file, line, text) for part in parts]


def _hint(part: str, file: str, line: int, text: str) -> Hint:
    name, _, value = part.partition("=")
    return Hint(name.strip().lower().replace("-", "_"), value.strip(), file, line, text.rstrip())
