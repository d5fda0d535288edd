"""Reads one parameter of a function or a template from its tokens."""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.adapters.cpp.spelling import join_tokens
from tle_raw.adapters.cpp.tokens import Token

_BUILTIN_TYPES_TEXT = """
void bool char short int long float double unsigned signed const volatile auto __restrict__
__restrict
"""
BUILTIN_TYPES = frozenset(_BUILTIN_TYPES_TEXT.split())


@dataclass(frozen=True)
class Parameter:
    """A function parameter as written: its type, its name, and whether it has a default."""

    type: str
    name: str = ""
    has_default: bool = False
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TemplateParameter:
    """``kind`` is "typename", "template" or the type of a value, such as "int"."""

    kind: str
    name: str
    default: str = ""
    is_pack: bool = False


def split(tokens: list[Token]) -> list[list[Token]]:
    """Cut at the commas that stand in no bracket."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.text in ("(", "[", "{", "<", "[["):
            depth += 1
        elif token.text in (")", "]", "}", ">", "]]"):
            depth -= 1
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def parameter(tokens: list[Token]) -> Parameter:
    """A function parameter's type, name and default."""
    tokens, default = _cut_default(tokens)
    words = frozenset(token.text for token in tokens if token.is_word)
    name = ""
    names_type = ("const", "volatile", "struct", "typename")  # the word after it is the type, not a name
    extents = next((i for i, token in enumerate(tokens) if token.text == "[" and i and tokens[i - 1].is_word), 0)
    if extents > 1:  # float x[16] is float x[]
        name, tokens = tokens[extents - 1].text, [*tokens[: extents - 1], *tokens[extents:]]
    elif len(tokens) > 1 and tokens[-1].is_word and tokens[-1].text not in BUILTIN_TYPES:
        previous = tokens[-2].text
        if previous != "::" and not (len(tokens) == 2 and previous in names_type):
            name, tokens = tokens[-1].text, tokens[:-1]
    return Parameter(join_tokens([token.text for token in tokens]), name, bool(default), words - {name})


def template_parameter(tokens: list[Token]) -> TemplateParameter:
    """A template parameter's kind, name and default."""
    tokens, default = _cut_default(tokens)
    texts = [token.text for token in tokens]
    is_pack = "..." in texts
    texts = [text for text in texts if text != "..."] or [""]
    head = "typename" if texts[0] in ("typename", "class") else texts[0]
    if head == "template":
        return TemplateParameter("template", texts[-1], join_tokens(default), is_pack)
    if len(texts) == 1:
        return TemplateParameter(head, "", join_tokens(default), is_pack)
    kind = "typename" if head == "typename" and len(texts) == 2 else join_tokens(texts[:-1])
    return TemplateParameter(kind, texts[-1], join_tokens(default), is_pack)


def _cut_default(tokens: list[Token]) -> tuple[list[Token], list[str]]:
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in ("(", "[", "{", "<")) - (token.text in (")", "]", "}", ">"))
        if token.text == "=" and depth == 0:
            return tokens[:index], [part.text for part in tokens[index + 1 :]]
    return tokens, []
