"""The hints that a source file holds: ``#@hint: name`` and ``#@hint: name=value, name``, read by Python's tokenizer."""

from __future__ import annotations

import io
import linecache
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

MARK = "@hint"
_COMMENT = re.compile(r"#\s*@hint\s*:\s*(?P<hints>[^#]*)")


@dataclass(frozen=True)
class Hint:
    """One hint of a comment.

    Attributes
    ----------
    name, value : as they are written, but for ``-`` and capitals in the name; the value is "" where there is none.
    file, line, text : of the comment; the text is the whole line.
    """

    name: str
    value: str
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.value else self.name


def read_hints(lines: Sequence[str], file: str) -> list[Hint]:
    """The hints of a file's lines, in order; none where they are no Python. A text that looks like one is none."""
    if not any(MARK in line for line in lines):
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match:
                line = token.start[0]
                found += [
                    _hint(part, file, line, lines[line - 1]) for part in match["hints"].split(",") if part.strip()
                ]
    except (tokenize.TokenError, SyntaxError):  # an unfinished cell: Triton would not have got a kernel from it
        return []
    return found


def files_with_hints() -> list[str]:
    """The files that Python has read the source of, as it does for every kernel, and that hold the word."""
    return [file for file, entry in list(linecache.cache.items()) if len(entry) > 2 and _mentions(entry[2])]


def may_hold_hints(file: str) -> bool:
    """Whether Python has read the source of a file, and it holds the word."""
    entry = linecache.cache.get(file)
    return entry is not None and len(entry) > 2 and _mentions(entry[2])


def _mentions(lines: Sequence[str]) -> bool:
    """Known for each list of lines as long as it is the one that is kept."""
    key = id(lines), len(lines)
    if key not in _MENTIONED:
        if len(_MENTIONED) > _MOST_KNOWN:
            _MENTIONED.clear()
        _MENTIONED[key] = lines, any(MARK in line for line in lines)
    return _MENTIONED[key][1]


# The lines are kept beside the answer, so that no other list gets their number.
_MENTIONED: dict[tuple[int, int], tuple[Sequence[str], bool]] = {}
_MOST_KNOWN = 4096


def _hint(part: str, file: str, line: int, text: str) -> Hint:
    name, _, value = part.partition("=")
    return Hint(name.strip().lower().replace("-", "_"), value.strip(), file, line, text.rstrip())
