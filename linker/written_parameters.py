"""Which pointers a function writes through, as LLVM has proven it."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.linker.abi import find_definition
from tle_raw.linker.llvm_text import Token, read_module

NOT_WRITTEN = frozenset(("readonly", "readnone"))


def written_parameters(text: str, entry: str) -> tuple[bool, ...]:
    """For each parameter of a function whether memory may be written through it: all that LLVM does not exclude."""
    module = read_module(text)
    tokens = module.header(find_definition(module, entry).entity)
    return tuple(NOT_WRITTEN.isdisjoint(t.text for t in parameter) for parameter in _parameters(tokens))


def _parameters(tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens of each parameter: between the commas of the first brackets after the name."""
    named = next(i for i, token in enumerate(tokens) if token.kind == "@")
    depth, parameter = 0, list[Token]()
    for token in tokens[named + 1 :]:
        depth += (token.text in "([{<") - (token.text in ")]}>")
        if depth == 0 or (depth == 1 and token.text == ","):
            if parameter:
                yield parameter
            if depth == 0:
                return
            parameter = []
        elif not (depth == 1 and token.text == "(" and not parameter):
            parameter.append(token)
