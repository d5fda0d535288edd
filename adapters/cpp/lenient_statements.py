"""Statements and declarations that nvcc takes and clang refuses, changed at the places that clang's errors name.

A jump to a ``case`` past ``int n = 1;`` of the one before, ``static`` that only a function's second declaration says,
``main() {`` without a type, ``#pragma unroll`` before what is no loop, and sizes of arrays that are computed from a
``const float``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic
from tle_raw.adapters.cpp.mends import Mend, index_at
from tle_raw.adapters.cpp.tokens import Token, tokenize

_JUMPS = "cannot jump from switch statement to this case label"
_BYPASSES = "jump bypasses variable initialization"
_STATIC_AFTER = re.compile(r"static declaration of '\w+' follows non-static declaration")
_NO_TYPE = "a type specifier is required for all declarations"
_NO_LOOP = (
    "expected a for, while, or do-while loop to follow",
    "expected unqualified-id",
    "expected statement",
    "invalid value '-",
    "duplicate directives '#pragma",
)
_UNROLL = re.compile(r"[^\S\n]*#[^\S\n]*pragma[^\S\n]+(?:no)?unroll\b[^\n]*")
# Lines, of comments and of what a macro's use takes, between the pragma and the place.
_BEFORE = 4
_NOT_CONSTANT = ("variable length arrays in C++ are a Clang extension", "constexpr variable '")
_READ = re.compile(r"read of non-constexpr variable '\w+'|initializer of '\w+' is not a constant expression")
_OPENING, _CLOSING = "([{", ")]}"
# Such a variable cannot be declared without its value.
_NEEDS_VALUE = frozenset(("auto", "static", "constexpr", "decltype", "&", "[", "("))


def statement_mends(told: Diagnostic, text_of: Callable[[str], str | None]) -> Iterator[Mend]:
    """What to change for an error, or a warning of an array's size. ``text_of`` is the text of a file."""
    place = told.location
    text = text_of(place.file) if place else None
    if place is None or text is None:
        return
    if told.text == _JUMPS:
        places = [note.location for note in told.notes if note.text == _BYPASSES and note.location]
        for variable in places if all(one.file == place.file for one in places) else ():
            yield from _value_apart(tokenize(text), variable)
    elif _STATIC_AFTER.match(told.text):
        yield from _without_static(tokenize(text), place)
    elif told.text == _NO_TYPE:
        tokens = tokenize(text)
        index = index_at(tokens, place)
        if index is not None and tokens[index].text == "main":
            yield Mend(place.file, place.line, place.column, "main", "int main")
    elif told.text.startswith(_NO_LOOP):
        yield from _without_unroll(text, place)
    elif told.text.startswith(_NOT_CONSTANT):
        for note, declared in zip(told.notes, told.notes[1:], strict=False):
            if _READ.match(note.text) and declared.text == "declared here" and declared.location:
                yield from _as_constant(text_of(declared.location.file), declared.location)


def _without_unroll(text: str, place: ClangLocation) -> Iterator[Mend]:
    """The pragma is a hint; nvcc passes over one that stands before no loop."""
    lines = text.split("\n")
    for number in range(place.line, max(place.line - _BEFORE, 0), -1):
        pragma = _UNROLL.match(lines[number - 1]) if number <= len(lines) else None
        if pragma:
            yield Mend(place.file, number, 1, pragma[0], "")
            return


def _as_constant(text: str | None, place: ClangLocation) -> Iterator[Mend]:
    """``const float step = 0.5f;``, of which the name is at the place, becomes ``constexpr float step = 0.5f;``."""
    tokens = tokenize(text) if text is not None else []
    index = index_at(tokens, place)
    if index is None or index + 1 >= len(tokens) or tokens[index + 1].text not in ("=", "(", "{"):
        return
    start = next((i for i in range(index, 0, -1) if tokens[i - 1].text in (";", "{", "}", ":")), 0)
    before = tokens[start:index]
    consts = [token for token in before if token.text == "const"]
    if len(consts) == 1 and not {"*", "&", "constexpr", "("} & {token.text for token in before}:
        yield Mend(place.file, consts[0].line, consts[0].column, "const", "constexpr")


def _value_apart(tokens: Sequence[Token], place: ClangLocation) -> Iterator[Mend]:
    """``const int n = 1;``, of which the name is at the place, becomes ``int n; n = 1;``."""
    index = index_at(tokens, place)
    if index is None or index + 1 >= len(tokens) or tokens[index + 1].text != "=":
        return
    start = next((i for i in range(index, 0, -1) if tokens[i - 1].text in (";", "{", "}", ":")), 0)
    before = [token.text for token in tokens[start:index]]
    if not before or _NEEDS_VALUE & set(before) or _is_list(tokens, index + 2):
        return
    pointer = max((i for i, text in enumerate(before) if text == "*"), default=-1)
    for i, text in enumerate(before):
        if text == "const" and i > pointer:
            token = tokens[start + i]
            yield Mend(place.file, token.line, token.column, "const", "     ")
    sign = tokens[index + 1]
    yield Mend(place.file, sign.line, sign.column, "=", f"; {tokens[index].text} =")


def _is_list(tokens: Sequence[Token], begin: int) -> bool:
    """Whether the value is one in braces, or that of another variable follows."""
    depth = 0
    for token in tokens[begin:]:
        if depth == 0 and token.text in (";", ",", "{"):
            return token.text != ";"
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
    return True


def _without_static(tokens: Sequence[Token], place: ClangLocation) -> Iterator[Mend]:
    index = index_at(tokens, place) or 0
    for at in range(index, -1, -1):
        if tokens[at].text in (";", "{", "}"):
            return
        if tokens[at].text == "static":
            yield Mend(place.file, tokens[at].line, tokens[at].column, "static", "      ")
            return
