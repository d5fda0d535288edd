"""Which macros of C++ text say that a function is for the device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_DEFINE = re.compile(r"^[^\S\n]*#[^\S\n]*define[^\S\n]+(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*|[{}]")
# `constexpr` too: device code may call such a function.
DEVICE_WORDS = frozenset(("__device__", "__global__", "constexpr", "consteval"))
# What clang and nvcc make of two of them, in a function's tokens with spaces between.
SAID = re.compile(r"\b__attribute__ \( \( [^()]*\b(?:device|global)\b")
_ATTRIBUTES = frozenset(("device", "global"))


def macros_of(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """The words and braces in each macro's definitions, all of them together."""
    found: dict[str, frozenset[str]] = {}
    for text in texts:
        for define in _DEFINE.finditer(text):
            found[define[1]] = found.get(define[1], frozenset()) | frozenset(_WORD.findall(define[2]))
    return found


def words_behind(names: Iterable[str], macros: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The names, and every word that they stand for, at first or second hand."""
    found, more = frozenset[str](), frozenset(names)
    while more:
        found |= more
        more = frozenset().union(*(macros.get(name, ()) for name in more)) - found
    return found


def is_scopes(words: frozenset[str]) -> bool:
    """Whether a macro of these words opens or ends a scope, or names a namespace: it is no part of a declaration."""
    return ("{" in words) != ("}" in words) or words >= {"using", "namespace"}


def device_macros(macros: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The macros whose text holds a device word, at first or second hand."""
    found = DEVICE_WORDS | {name for name, words in macros.items() if "__attribute__" in words and words & _ATTRIBUTES}
    while True:
        more = frozenset(name for name, words in macros.items() if words & found) - found
        if not more:
            return found - DEVICE_WORDS
        found |= more
