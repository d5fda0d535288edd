"""Cuts C++ text into tokens; comments, preprocessor lines and ``#if 0`` are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      (?P<newline>\n)
    | (?P<space>[^\S\n]+|\\\n)
    | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?)
    | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'?)
    | (?P<word>[^\W\d]\w*)
    | (?P<directive>\#)
    | (?P<punctuation>::|->|\.\.\.|\[\[|\]\]|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE_END = re.compile(r"(?:\\\n|/\*.*?\*/|[^\n])*", re.DOTALL)

# Macros of other compilers and GPUs, which are not defined here.
_OTHERS = frozenset((
    "USE_ROCM", "__HIP__", "__HIPCC__", "__HIP_PLATFORM_AMD__", "__HIP_PLATFORM_HCC__", "__HIP_DEVICE_COMPILE__",
    "_MSC_VER", "_WIN32", "__MUSA__", "__SYCL_DEVICE_ONLY__",
))  # fmt: skip
_ASKED = re.compile(
    r"#\s*(?:ifdef\s+(?P<a>\w+)|if\s+defined\s*\(?\s*(?P<b>\w+)\s*\)?\s*(?:&&.*)?"
    r"|(?P<no>ifndef\s+|if\s*!\s*defined\s*\(?\s*)(?P<c>\w+)\s*\)?)\s*(?://.*|/\*.*)?$",
    re.DOTALL,
)

# One step into an #if group: which group, and which of its branches.
Branch = tuple[int, int]


class Token(NamedTuple):
    """``branches`` are the #if branches around the token: two tokens of different branches never meet."""

    text: str
    line: int
    column: int
    is_word: bool = False
    branches: tuple[Branch, ...] = ()


def tokenize(text: str) -> list[Token]:
    """The words and the punctuation of C++ text; every literal is one token."""
    return list(_tokens(text))


def line_starts(text: str) -> list[int]:
    """Where in the text each line begins; a token's column counts characters from there, from 1 on."""
    return [0, *(newline.end() for newline in re.finditer("\n", text))]


def exclusive(a: tuple[Branch, ...], b: tuple[Branch, ...]) -> bool:
    """True when the two stand in different branches of one #if."""
    branch_of = dict(a)
    return any(branch_of.get(group, branch) != branch for group, branch in b)


def _tokens(text: str) -> Iterator[Token]:
    position, line, line_start = 0, 1, 0
    branches: list[Branch] = []
    dead: set[Branch] = set()
    groups = 0
    at_line_start = True
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None  # the last alternative takes any character
        kind, end = match.lastgroup or "", match.end()
        if kind == "delimiter":
            kind = "raw"
        if kind == "directive" and at_line_start:
            end = _DIRECTIVE_END.match(text, position).end()  # type: ignore[union-attr]
            groups = _follow_condition(text[position:end], branches, groups, dead)
        elif kind not in ("newline", "space", "comment") and not (dead and dead.intersection(branches)):
            yield Token(match[0], line, position - line_start + 1, kind == "word", tuple(branches))
        at_line_start = kind == "newline" or (at_line_start and kind in ("space", "comment"))
        breaks = text.count("\n", position, end)
        if breaks:
            line += breaks
            line_start = text.rindex("\n", position, end) + 1
        position = end


def _follow_condition(directive: str, branches: list[Branch], groups: int, dead: set[Branch]) -> int:
    """Enter, switch or leave an #if group; returns how many groups there were so far."""
    word = re.match(r"#\s*(\w*)", directive)
    name = word[1] if word else ""
    if name in ("if", "ifdef", "ifndef"):
        branches.append((groups, 0))
        if re.fullmatch(r"#\s*if\s+0\s*(//.*)?", directive):
            dead.add((groups, 0))
        asked = _ASKED.match(directive)
        if asked and (asked["a"] or asked["b"] or asked["c"]) in _OTHERS:
            dead.add((groups, 1 if asked["no"] else 0))
        return groups + 1
    if name in ("else", "elif", "elifdef", "elifndef") and branches:
        group, branch = branches[-1]
        branches[-1] = (group, branch + 1)
        asked = _ASKED.match(re.sub(r"#\s*elif", "#if", directive, count=1))
        if asked and (asked["a"] or asked["b"]) in _OTHERS:
            dead.add(branches[-1])
    elif name == "endif" and branches:
        branches.pop()
    return groups
