"""A function's types told by clang's own warnings: a use of a deprecated template names the arguments it has.

A dump of the syntax tree tells more, and goes through everything that precompiled headers hold: a second for torch's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOLD = re.compile(r"warning: '(\w+?)_told_(types|behind|consts|facts)<(.*)>' is deprecated")
_NOTHING = "nothing"
_OPENED, _CLOSED = frozenset("<([{"), frozenset(">)]}")

_WORDS = re.compile(r"\b(?:T|N|Result|Parameters|Facts|Types|type|is_const|value|integer)\b")


def reserved(text: str) -> str:
    """C++ text in front of which a program's macros stand: ``T``, ``N`` and the like become words of no program."""
    return _WORDS.sub(r"tle_raw_\g<0>", text)


# What is behind a pointer or a reference, without its qualifiers.
_LINES = reserved("""
struct {probe}_nothing {{}};
template <class T> struct {probe}_plain {{ using type = T; static constexpr int is_const = 0; }};
template <class T> struct {probe}_plain<const T> {{ using type = T; static constexpr int is_const = 1; }};
template <class T> struct {probe}_plain<volatile T> {{ using type = T; static constexpr int is_const = 0; }};
template <class T> struct {probe}_plain<const volatile T> {{ using type = T; static constexpr int is_const = 1; }};
template <class T> struct {probe}_behind {{ using type = {probe}_nothing; static constexpr int is_const = 0; }};
template <class T> struct {probe}_behind<T*> : {probe}_plain<T> {{}};
template <class T> struct {probe}_behind<T&> : {probe}_plain<T> {{}};
template <class Result, class... Parameters>
{probe}_types<typename {probe}_behind<Result>::type, typename {probe}_behind<Parameters>::type...>
{probe}_behind_of(Result (*)(Parameters...));
template <class Result, class... Parameters>
{probe}_facts<{probe}_behind<Result>::is_const, {probe}_behind<Parameters>::is_const...>
{probe}_consts_of(Result (*)(Parameters...));
template <class... T> [[deprecated]] int {probe}_told_types({probe}_types<T...>);
template <class... T> [[deprecated]] int {probe}_told_behind({probe}_types<T...>);
template <long... N> [[deprecated]] int {probe}_told_consts({probe}_facts<N...>);
template <long... N> [[deprecated]] int {probe}_told_facts({probe}_facts<N...>);
using {probe}_told = decltype({probe}_told_types({probe}_of({address})));
using {probe}_told = decltype({probe}_told_behind({probe}_behind_of({address})));
using {probe}_told = decltype({probe}_told_consts({probe}_consts_of({address})));
using {probe}_told = decltype({probe}_told_facts({probe}_facts_of({address})));""")


class ToldType(NamedTuple):
    """A type's text, what is behind it or "", whether that is const, and the compiler's facts."""

    text: str
    behind: str
    is_const: bool
    facts: int


def told_lines(probe: str, address: str) -> Iterator[str]:
    """C++ text that has clang tell the types of the function, behind the probe's own lines."""
    yield _LINES.format(probe=probe, address=address)


def told_types(log: str, probe: str) -> list[ToldType]:
    """The result's type and the parameters', from the compiler's messages; nothing where they do not tell them all."""
    found = {what: arguments for name, what, arguments in _TOLD.findall(log) if name == probe}
    if set(found) != {"types", "behind", "consts", "facts"} or any("'" in text for text in found.values()):
        return []
    lists = [_arguments(found[what]) for what in ("types", "behind", "consts", "facts")]
    if len({len(arguments) for arguments in lists}) != 1:
        return []
    nothing = f"{probe}_{_NOTHING}"
    return [
        ToldType(text, "" if behind == nothing else behind, is_const[0] == "1", int(facts.rstrip("L")))
        for text, behind, is_const, facts in zip(*lists, strict=True)
    ]


def _arguments(text: str) -> list[str]:
    """The arguments of a template, cut at the commas between them."""
    found, depth, begin = list[str](), 0, 0
    for place, character in enumerate(text):
        depth += (character in _OPENED) - (character in _CLOSED)
        if character == "," and depth == 0:
            found.append(text[begin:place].strip())
            begin = place + 1
    return [*found, text[begin:].strip()]
