"""The text of the comment above a function: what Doxygen's commands mark is kept, the commands are not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_COMMENT_MARKS = re.compile(r"^\s*(?://[/!]?<?|/\*[*!]*<?|\*(?!/))\s?|\s*\*+/\s*$")
_COMMAND = re.compile(r"[\\@]([a-z][a-z-]*)(?:\[[a-z, ]*\])?\s*")
_INLINE = re.compile(r"[\\@](?:p|c|a|e|em|b|ref)\s+(?=\S)")
_PARAMETERS = frozenset(("param", "tparam"))
_RESULTS = frozenset(("return", "returns", "result"))
# What follows these on their line says nothing of what the function does.
_LEFT_OUT = frozenset(
    ["ingroup", "defgroup", "addtogroup", "file", "author", "date", "internal", "endinternal", "exception-guarantee",
     "behavior", "fn", "copyright"]
)  # fmt: skip


def doc_above(lines: Sequence[str], line: int) -> str:
    """The comment right above a line, which counts from 1; "" where there is none."""
    return "\n".join(_paragraphs(list(_comment(lines, line - 2))))


def _comment(lines: Sequence[str], last: int) -> Iterator[str]:
    first = last
    while first >= 0:
        text = lines[first].strip()
        if text.startswith("//"):
            first -= 1
        elif text.endswith("*/"):
            begin = next((i for i in range(first, -1, -1) if "/*" in lines[i]), -1)
            if begin < 0 or not lines[begin].lstrip().startswith("/*"):
                break  # it stands behind code
            first = begin - 1
        else:
            break
    for text in lines[first + 1 : last + 1]:
        yield _COMMENT_MARKS.sub("", _COMMENT_MARKS.sub("", text)).strip()


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Running text in one line each; what Doxygen marks begins a line of its own."""
    running: list[str] = []
    for text in lines:
        command = _COMMAND.match(text)
        word, rest = (command[1], text[command.end() :].lstrip("- ")) if command else ("", text)
        if word in _LEFT_OUT:
            word, rest = "brief", ""
        begins = word in _PARAMETERS or word in _RESULTS
        if begins or (not rest and not text):
            yield from [" ".join(running)] if running else []
            running = []
        if word in _PARAMETERS:
            name, _, said = rest.partition(" ")
            rest = f"{name}: {said.lstrip(' -')}"
        elif word in _RESULTS:
            rest = f"Returns {rest}".rstrip()
        elif word in ("see", "sa"):
            rest = f"See {rest}".rstrip()
        running += [plain] if (plain := _INLINE.sub("", rest).strip()) else []
    yield from [" ".join(running)] if running else []
