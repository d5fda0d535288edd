"""The operations that a module's text uses."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.linker.mlir.tokens import Token, tokenize


def operation_names(text: str) -> dict[str, int]:
    """The operations of a module, each with the position of its first use; bare spellings get their dialect.

    A custom form can hide a word that looks like an operation: good for choices, not for refusals.
    """
    found: dict[str, int] = {}
    tokens = tokenize(text)
    for index, token in enumerate(tokens):
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        previous = tokens[index - 1] if index else None
        if (
            token.kind == "string"
            and following == "("
            and "." in token.text
            and (previous is None or previous.text not in ("loc", "(", ","))
        ):
            found.setdefault(token.text[1:-1], token.start)
        elif token.kind == "word" and _is_statement(tokens, index, text):
            name = _BARE.get(token.text, token.text)
            if "." in name and following != "=":
                found.setdefault(name, token.start)
    return found


# Spellings without a dialect, which builtin and func allow.
_BARE = {"return": "func.return", "call": "func.call", "module": "builtin.module"}


def _is_statement(tokens: Sequence[Token], index: int, text: str) -> bool:
    """Where an operation may begin: after `%x =`, or first on its line, or first in a region."""
    if index == 0:
        return True
    previous = tokens[index - 1]
    if previous.text == "=":
        return (index > 1 and tokens[index - 2].kind in ("value", "number")) or tokens[index - 2].text == ":"
    if "\n" in text[previous.end : tokens[index].start]:
        return previous.text not in (",", "(", "<", "=") and tokens[index].text.count(".") >= 0
    return previous.text in ("{", "}", ")") or previous.kind in ("value", "word", "number")
