"""What an operation of CuPy's does with its names: which results it surely writes, and what of the loop it asks for."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.adapters.cpp.operations import LEAVES, is_declared, is_member
from tle_raw.adapters.cpp.tokens import Token
from tle_raw.adapters.cupy.parameters import INDEX, CupyParameter
from tle_raw.errors import Row, SourceLocation, UnsupportedFeatureError


def is_written_whole(name: str, tokens: Sequence[Token]) -> bool:
    """Whether each element gets a value before its old one could be seen: by a statement ``name = …`` of its own."""
    texts = [token.text for token in tokens]
    if any(text in LEAVES for text in texts):
        return False
    depth = 0
    for k, text in enumerate(texts):
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if text != name or is_member(texts, k):
            continue
        end = texts.index(";", k) if ";" in texts[k:] else len(texts)
        begins = depth == 0 and (k == 0 or texts[k - 1] in (";", "}"))
        assigns = texts[k + 1 : k + 2] == ["="] and texts[k + 2 : k + 3] != ["="]
        return begins and assigns and name not in texts[k + 1 : end]
    return False


def needs_index(tokens: Sequence[Token]) -> bool:
    """Whether the operation asks which element it has; an ``i`` that it declares itself is another."""
    texts = [token.text for token in tokens]
    asks = any(text == INDEX and not is_member(texts, k) for k, text in enumerate(texts))
    return asks and not is_declared(texts, INDEX)


def asks_size(tokens: Sequence[Token], indexer: str, name: str, at: SourceLocation) -> bool:
    """Whether the operation asks for ``indexer.size()``.

    Raises
    ------
    UnsupportedFeatureError : it asks the indexer for more.
    """
    asks = False
    for k, token in enumerate(tokens):
        if token.text == indexer:
            words = "".join(t.text for t in tokens[k : k + 5])
            if words != f"{indexer}.size()":
                raise UnsupportedFeatureError(
                    f"the operation asks `{indexer}` for more than its size",
                    table=[Row(indexer, f"{indexer}.size()", "".join(t.text for t in tokens[k : k + 3]))],
                    hint="a region has elements in registers or in a tile, and no array around them",
                ).at(fragment=name, source=SourceLocation(at.file, at.line + token.line - 1))
            asks = True
    return asks


def check_raw(arguments: Sequence[CupyParameter], tokens: Sequence[Token], name: str, at: SourceLocation) -> None:
    """A raw array is a pointer here: it has elements, and neither shape nor strides.

    Raises
    ------
    UnsupportedFeatureError : the operation asks for those.
    """
    raw = {argument.name for argument in arguments if argument.is_raw}
    texts = [token.text for token in tokens]
    for k, token in enumerate(tokens):
        after = texts[k + 1 : k + 3]
        if token.text in raw and not is_member(texts, k) and (after[:1] == ["."] or after == ["[", "{"]):
            raise UnsupportedFeatureError(
                f"the operation uses more of the raw array `{token.text}` than its elements",
                table=[Row(token.text, f"{token.text}[a number]", "".join([token.text, *after, "…"]))],
                hint="a raw array comes as a pointer: pass its sizes as arguments, and compute the index",
            ).at(fragment=name, source=SourceLocation(at.file, at.line + token.line - 1))
