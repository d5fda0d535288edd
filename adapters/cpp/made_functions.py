"""Functions that a program's macros make: ``KERNEL(add, float)`` of ``#define KERNEL(n, T) __global__ void n(T* x)``.

Only macros whose text, or that of macros they use, has ``__global__`` or ``__device__`` are put in place of their uses,
each on the lines of the use, so that what is found there stands where the program's author sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tle_raw.adapters.cpp.declarations import CppFunction, functions

_DEFINE = re.compile(r"^[^\S\n]*#[^\S\n]*define[^\S\n]+(\w+)\(([^()\n]*)\)((?:\\\n|[^\n])*)", re.MULTILINE)
_MAKES = re.compile(r"\b__(?:global|device)__\b")
_PIECE = re.compile(r"\w+|##|#|\s+|[^\w\s#]+")
_WORD = re.compile(r"\w+")
_PASTE = re.compile(r"\s*##\s*")
_DEPTH = 4  # of macros that use others
_MOST = 2000  # uses in a text: what has more is a table, not kernels


@dataclass(frozen=True)
class _Macro:
    parameters: tuple[str, ...]
    body: str

    def put(self, arguments: list[str]) -> str:
        """The macro's text with these arguments; names that are joined are one name."""
        named = dict(zip(self.parameters, arguments))
        if self.parameters and self.parameters[-1].endswith("..."):
            name = self.parameters[-1].removesuffix("...").strip() or "__VA_ARGS__"
            named[name] = ", ".join(arguments[len(self.parameters) - 1 :])
        pieces = [named.get(piece, piece) for piece in _PIECE.findall(self.body)]
        return _PASTE.sub("", "".join(pieces)).replace("#", "")


def made_functions(texts: Mapping[str, str], name: str) -> tuple[CppFunction, ...]:
    """The functions of a name that macros make in texts, which are given by their files' names."""
    macros = _makers(texts.values())
    if not macros:
        return ()
    found = (f for file, text in texts.items() for f in functions(with_macros(text, macros), file))
    return tuple(function for function in found if function.name == name)


def with_macros(text: str, macros: Mapping[str, _Macro]) -> str:
    """The text with macros in place of their uses."""
    use = re.compile(rf"\b({'|'.join(map(re.escape, macros))})\s*\(")
    text = _DEFINE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for _ in range(_DEPTH):
        if len(use.findall(text)) not in range(1, _MOST):
            return text
        text = "".join(_replaced(text, use, macros))
    return text


def _makers(texts: Iterable[str]) -> dict[str, _Macro]:
    """The macros that make device code, by themselves or by others, and those that these use."""
    every: dict[str, _Macro] = {}
    for text in texts:
        for name, parameters, body in _DEFINE.findall(text):
            every[name] = _Macro(tuple(p.strip() for p in parameters.split(",")), body.replace("\\\n", " "))
    words = {name: set(_WORD.findall(macro.body)) for name, macro in every.items()}
    found = {name for name, macro in every.items() if _MAKES.search(macro.body)}
    while more := {name for name in every if not found.isdisjoint(words[name])} - found:
        found |= more
    while more := {used for name in found for used in words[name] & every.keys()} - found:
        found |= more
    return {name: every[name] for name in found}


def _replaced(text: str, use: re.Pattern[str], macros: Mapping[str, _Macro]) -> Iterator[str]:
    place = 0
    for match in use.finditer(text):
        if match.start() < place:
            continue
        arguments, end = _arguments(text, match.end())
        if end is None:
            break
        lines = "\n" * text.count("\n", match.start(), end)
        yield f"{text[place : match.start()]} {macros[match[1]].put(arguments)} {lines}"
        place = end
    yield text[place:]


def _arguments(text: str, start: int) -> tuple[list[str], int | None]:
    """What stands between the brackets, cut as the preprocessor does it, and the place behind."""
    found, depth, begin = [], 0, start
    for place in range(start, len(text)):
        character = text[place]
        if character == "," and depth == 0:
            found.append(text[begin:place].strip())
            begin = place + 1
        elif character == ")" and depth == 0:
            return [*found, " ".join(text[begin:place].split())], place + 1
        depth += (character in "([{") - (character in ")]}")
    return found, None
