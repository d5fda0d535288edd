"""What a place in a program's tokens belongs to: the braces around it, what stands before them, templates' heads."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.adapters.cpp.tokens import Token

_ACCESS = ("public", "protected", "private")


def braces_around(tokens: Sequence[Token], index: int) -> list[int]:
    """The braces that are open at a token, the outermost first."""
    opened = list[int]()
    for i, token in enumerate(tokens[:index]):
        if token.text == "{":
            opened.append(i)
        elif token.text == "}" and opened:
            opened.pop()
    return opened


def closing_brace(tokens: Sequence[Token], opening: int) -> int | None:
    """Where a brace is closed."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += (tokens[index].text == "{") - (tokens[index].text == "}")
        if depth == 0:
            return index
    return None


def head_before(tokens: Sequence[Token], opening: int) -> Sequence[Token]:
    """What stands before a brace, from the end of the statement or of the braces before it."""
    start, depth = opening, 0
    while start > 0:
        text = tokens[start - 1].text
        depth += (text in (")", "]")) - (text in ("(", "["))
        if depth == 0 and text in (";", "{", "}"):
            break
        if depth == 0 and text == ":" and start > 1 and tokens[start - 2].text in _ACCESS:
            break
        start -= 1
    return tokens[start:opening]


def behind_template(texts: Sequence[str]) -> int:
    """The index behind every ``template <…>`` of a declaration."""
    index = 0
    while texts[index : index + 1] == ["template"]:
        index, depth = index + 1, 0
        while index < len(texts):
            depth += {"<": 1, ">": -1, ">>": -2}.get(texts[index], 0)
            index += 1
            if depth <= 0:
                break
    return index
