"""Rewrites LLVM IR of before LLVM 17, whose pointers have types (``float*``), for every newer parser (``ptr``)."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.linker.llvm.text import Edit, Token, apply_edits, tokenize, unreadable

_OPEN = {")": "(", "}": "{", "]": "[", ">": "<"}


def opaque_pointers(text: str) -> str:
    """The same module with untyped pointers; a text without typed ones stays as it is.

    Raises
    ------
    UnreadableIRError : a ``*`` that stands behind no type.
    """
    tokens = list(tokenize(text))
    edits: list[Edit] = []
    for k, token in enumerate(tokens):
        if token.text != "*":
            continue
        first, space = _pointer(text, tokens, k)
        start = tokens[first].start
        while edits and edits[-1].start >= start:  # pointers inside this one's type
            edits.pop()
        edits.append(Edit(start, token.end, f"ptr addrspace({space})" if space else "ptr"))
    return apply_edits(text, edits)


def _pointer(text: str, tokens: Sequence[Token], star: int) -> tuple[int, str]:
    """Where the type before a star begins, and its address space."""
    last = star - 1
    if last >= 3 and tokens[last].text == ")" and tokens[last - 3].text == "addrspace":
        return _type(text, tokens, last - 4), tokens[last - 1].text
    return _type(text, tokens, last), ""


def _type(text: str, tokens: Sequence[Token], last: int) -> int:
    """The first token of the type that ends with ``last``."""
    if last < 0:
        raise unreadable(text, 0)
    word = tokens[last].text
    if word == "*":
        return _pointer(text, tokens, last)[0]
    if word not in _OPEN:
        if tokens[last].kind not in ("word", "%"):
            raise unreadable(text, tokens[last].start)
        return last
    depth, first = 0, last
    while first >= 0:
        depth += (tokens[first].text == word) - (tokens[first].text == _OPEN[word])
        if depth == 0:
            # A function's type begins with that of its result.
            return _type(text, tokens, first - 1) if word == ")" else first
        first -= 1
    raise unreadable(text, tokens[last].start)
