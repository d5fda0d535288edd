"""Statements and declarations that nvcc takes and clang refuses, changed at the places that clang's errors name.

A jump to a ``case`` past ``int n = 1;`` of the one before, ``static`` that only a function's second declaration says,
and ``main() {`` without a type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic
from tle_raw.adapters.cpp.mends import Mend, index_at
from tle_raw.adapters.cpp.tokens import Token, tokenize

_JUMPS = "cannot jump from switch statement to this case label"
_BYPASSES = "jump bypasses variable initialization"
_STATIC_AFTER = re.compile(r"static declaration of '\w+' follows non-static declaration")
_NO_TYPE = "a type specifier is required for all declarations"
_OPENING, _CLOSING = "([{", ")]}"
# Such a variable cannot be declared without its value.
_NEEDS_VALUE = frozenset(("auto", "static", "constexpr", "decltype", "&", "[", "("))


def statement_mends(error: Diagnostic, text: str) -> Iterator[Mend]:
    """What to change for an error in a text."""
    if error.text == _JUMPS:
        places = [note.location for note in error.notes if note.text == _BYPASSES and note.location]
        for place in places if all(error.location and place.file == error.location.file for place in places) else ():
            yield from _value_apart(tokenize(text), place)
    elif error.location and _STATIC_AFTER.match(error.text):
        yield from _without_static(tokenize(text), error.location)
    elif error.location and error.text == _NO_TYPE:
        tokens = tokenize(text)
        index = index_at(tokens, error.location)
        if index is not None and tokens[index].text == "main":
            yield Mend(error.location.file, error.location.line, error.location.column, "main", "int main")


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
