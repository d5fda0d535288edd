"""Classes with members of types that nobody declares: what only hosts have, where their libraries' headers are absent.

Such a class is declared and not defined, so that what asks for its size, layout or members is an error as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import Diagnostic
from tle_raw.adapters.cpp.mends import Mend, blanked, index_at, last_first
from tle_raw.adapters.cpp.tokens import Token, tokenize

_UNKNOWN = re.compile(
    r"unknown type name '\w+'|use of undeclared identifier '\w+'"
    r"|field has incomplete type '[\w: ]+'|base class has incomplete type"  # of classes that are declared alone
)
_RECORDS = frozenset(("struct", "class", "union"))
_SCOPES = frozenset(("namespace", "extern"))


def declared_alone(errors: Iterable[Diagnostic], text_of: Callable[[str], str | None]) -> tuple[Mend, ...]:
    """The classes in whose members the errors find unknown names, without their members; the last place first."""
    found = {mend for error in errors if _UNKNOWN.match(error.text) for mend in _of_error(error, text_of)}
    return last_first(found)


def _of_error(error: Diagnostic, text_of: Callable[[str], str | None]) -> Iterator[Mend]:
    text = text_of(error.location.file) if error.location else None
    if text is None or error.location is None:
        return
    tokens = tokenize(text)
    index = index_at(tokens, error.location)
    extent = None if index is None else _members(tokens, index)
    if extent is not None:
        yield blanked(error.location.file, text, *extent)


def _members(tokens: Sequence[Token], index: int) -> tuple[Token, Token] | None:
    """The first and the last token, from the bases on, of the definition of the outermost class around a token."""
    open_, begin = list[tuple[int, int]](), 0  # braces, and where what stands before each begins
    for at, token in enumerate(tokens):
        if token.text == "}" and open_:
            opening, head = open_.pop()
            if head <= index < at and all(_is_scope(tokens[h:o]) for o, h in open_):
                return _definition(tokens, head, opening, at)
        elif token.text == "{":
            open_.append((at, begin))
        if token.text in ("{", "}", ";"):
            begin = at + 1
    return None


def _is_scope(head: Sequence[Token]) -> bool:
    return any(token.text in _SCOPES for token in head)


def _definition(tokens: Sequence[Token], head: int, opening: int, closing: int) -> tuple[Token, Token] | None:
    texts = [token.text for token in tokens[head:opening]]
    if _SCOPES.intersection(texts) or not _RECORDS.intersection(texts) or "template" in texts:
        return None
    bases = texts.index(":") if ":" in texts else len(texts)
    return tokens[head + bases], tokens[closing]
