"""What a function's header says of each parameter: the words of its type and its attributes."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.linker.llvm.text import Entity, Module


def parameter_words(module: Module, function: Entity) -> Iterator[list[str]]:
    """The words between the commas of the first brackets after the name."""
    tokens = module.header(function)
    first = next(i for i, token in enumerate(tokens) if token.kind == "@") + 2
    depth, words = 0, list[str]()
    for token in tokens[first:]:
        depth += (token.text in "([{<") - (token.text in ")]}>")
        if depth >= 0 and not (depth == 0 and token.text == ","):
            words.append(token.text)
            continue
        if words:
            yield words
        if depth < 0:
            return
        words = []
