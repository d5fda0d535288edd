"""``__device__`` and ``__host__`` that one declaration of a function says and another leaves out, as nvcc takes them.

To nvcc ``float Shape::area() { … }`` is for the device where its class says so, and ``template <> float twice(float)``
where its template does. To clang they are functions of the host's, and without host code they would be gone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tle_raw.adapters.cpp.declarations import NOT_A_NAME
from tle_raw.adapters.cpp.mends import Mend, last_first, mend_at
from tle_raw.adapters.cpp.token_spans import behind_template
from tle_raw.adapters.cpp.tokens import Token, tokenize

_SIDES = frozenset(("__host__", "__device__"))
_RECORDS = frozenset(("struct", "class", "union"))
_ACCESS = frozenset(("public", "protected", "private"))
# What a text has where one of its functions may be declared elsewhere, too.
_AGAIN = re.compile(
    r"\btemplate\s*<\s*>|[\w>]\s*::\s*(?:~\s*)?(?:operator\b|\w+\s*\()|\b__device__[^;{}()]*\([^{};]*\)\s*;"
)
# Characters of a program that are gone through, its own text first: large libraries say both.
_MOST = 1_000_000
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class _Said:
    """One declaration of a function; ``first`` is the token that its own sides would stand before."""

    file: str
    first: Token
    scope: str  # the last name of it
    name: str
    arity: int
    sides: frozenset[str]
    is_definition: bool
    is_qualified: bool
    is_specialised: bool
    is_template: bool

    def with_(self, sides: frozenset[str]) -> frozenset[tuple[_Said, str]]:
        return frozenset((self, side) for side in sides - self.sides)


def inherited_sides(texts: Mapping[str, str], macros: Mapping[str, frozenset[str]]) -> tuple[Mend, ...]:
    """What to write before declarations in the texts, by their files' names, the last place first."""
    if not any("__device__" in text for text in texts.values()) or not any(map(_AGAIN.search, texts.values())):
        return ()
    sides = _sides_of_macros(macros)
    word, read, said = re.compile(rf"\b(?:{'|'.join(sides)})\b"), 0, list[_Said]()
    for file, text in texts.items():
        if read + len(text) <= _MOST and (word.search(text) or _AGAIN.search(text)):
            read += len(text)
            said += _walked(file, tokenize(text), sides)
    missing = defaultdict[_Said, set[str]](set)
    for one, side in _missing(said):
        missing[one].add(side)
    found = [
        mend_at(one.file, one.first, one.first.text, " ".join((*sorted(added), one.first.text)))
        for one, added in missing.items()
    ]
    return last_first(found)


def _sides_of_macros(macros: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """What each word says, macros at first or second hand."""
    found = {side: frozenset((side,)) for side in _SIDES}
    while True:
        more = {
            name: frozenset().union(*(found[word] for word in words if word in found))
            for name, words in macros.items()
            if name not in found and not words.isdisjoint(found) and "{" not in words
        }
        if not more:
            return found
        found |= more


def _missing(said: Sequence[_Said]) -> Iterator[tuple[_Said, str]]:
    by_name = defaultdict[tuple[str, int], list[_Said]](list)
    for one in said:
        by_name[one.name, one.arity].append(one)
    for same in by_name.values():
        if not any("__device__" in one.sides for one in same):
            continue
        for one in same:
            if one.is_specialised and not one.is_qualified:
                primaries = [other for other in same if other.is_template and not other.is_specialised]
                yield from _of_primaries(one, primaries)
            elif one.is_definition and one.is_qualified:
                others = [other for other in same if other.scope == one.scope and not other.is_qualified]
                yield from _of_both(one, others)
        for scope in {one.scope for one in same}:
            free = [one for one in same if one.scope == scope and not one.is_qualified and not one.is_specialised]
            if (
                sorted(one.is_definition for one in free) == [False, True]
                and free[0].is_template == free[1].is_template
            ):
                yield from _of_both(free[0], free[1:])


def _of_primaries(one: _Said, primaries: Sequence[_Said]) -> Iterator[tuple[_Said, str]]:
    sides = {other.sides for other in primaries if other.sides}
    if not one.sides and len(sides) == 1 and all("__device__" in other.sides for other in primaries):
        yield from one.with_(*sides)


def _of_both(one: _Said, others: Sequence[_Said]) -> Iterator[tuple[_Said, str]]:
    """Overloads for several sides are left as they are."""
    if len({other.sides for other in others}) == 1:
        sides = one.sides | others[0].sides
        if "__device__" in sides and (one.sides or len(others) == 1 or "__device__" in others[0].sides):
            for other in (one, *(others if others[0].sides or len(others) == 1 else ())):
                yield from other.with_(sides)


def _walked(file: str, tokens: Sequence[Token], sides: Mapping[str, frozenset[str]]) -> Iterator[_Said]:
    closing = _closings(tokens)
    scopes = [(0, len(tokens), "")]
    while scopes:
        at, end, scope = scopes.pop()
        begin, parameters, has_colon = at, -1, False
        while at < end:
            text, before = tokens[at].text, tokens[at - 1].text if at > begin else ""
            after = at + 1
            if text in _CLOSING:
                if at not in closing:
                    return
                after = closing[at] + 1
            if text == "(" and parameters < 0 and _is_name(tokens, begin, at):
                parameters = at
            elif text == ":" and before in _ACCESS:
                begin = after
            elif text == ":" and parameters >= 0:
                has_colon = True
            elif text == "=" and parameters < 0 and before != "operator":
                while after < end and tokens[after].text != ";":
                    after = closing.get(after, after) + 1
            elif text == "{" and has_colon and (tokens[at - 1].is_word or before == ">"):
                pass  # a member's initialiser
            elif text in (";", "{", "}"):
                if parameters >= 0 and text != "}":
                    yield from _said(file, tokens, begin, parameters, closing[parameters], scope, text == "{", sides)
                elif text == "{":
                    inner = _inner(tokens[begin:at], scope)
                    scopes += [] if inner is None else [(at + 1, closing[at], inner)]
                begin, parameters, has_colon = after, -1, False
            at = after


def _is_name(tokens: Sequence[Token], begin: int, at: int) -> bool:
    """Whether parameters begin here: behind a name, its template's arguments, or an operator."""
    before = tokens[at - 1]
    if at <= begin or before.text in NOT_A_NAME:
        return False
    if before.is_word and before.text.startswith("__") and before.text.endswith("__"):
        return False
    return before.is_word or before.text in (">", ")") or any(token.text == "operator" for token in tokens[begin:at])


def _inner(head: Sequence[Token], scope: str) -> str | None:
    """The name of the scope that a brace opens; None where it is none."""
    texts = [token.text for token in head]
    if "namespace" in texts:
        return texts[-1] if head[-1].is_word and texts[-1] != "namespace" else ""
    if texts[:1] == ["extern"]:
        return scope
    record = next((i for i in range(behind_template(texts), len(texts)) if texts[i] in _RECORDS), None)
    if record is None or "enum" in texts:
        return None
    named, depth = "", 0
    for index in range(record + 1, len(texts)):
        depth += (texts[index] in ("(", "<")) - (texts[index] in (")", ">"))
        if texts[index] == ":":
            break
        if depth == 0 and head[index].is_word and texts[index] != "final":
            named = texts[index]
    return named


def _said(
    file: str,
    tokens: Sequence[Token],
    begin: int,
    opening: int,
    end: int,
    scope: str,
    is_definition: bool,
    sides: Mapping[str, frozenset[str]],
) -> Iterator[_Said]:
    texts = [token.text for token in tokens[begin:opening]]
    first = behind_template(texts)
    is_template = texts[:1] == ["template"]
    if (is_template and texts[1:2] != ["<"]) or first >= len(texts) or "friend" in texts or "using" in texts:
        return  # an instantiation
    if texts[first] == "extern" and texts[first + 1][:1] == '"':
        first += 2
    named, name = _name(texts, first)
    if named < first or texts[first] in ("return", "else", "typedef"):
        return
    is_qualified = named >= first + 2 and texts[named - 1] == "::"
    if is_qualified:
        scope = texts[_before_arguments(texts, named - 2)]
    own = frozenset[str]().union(*(sides.get(text, ()) for text in texts[first:named]))
    if "__global__" not in texts:
        yield _Said(
            file, tokens[begin + first], scope, name, _arity([t.text for t in tokens[opening + 1 : end]]), own,
            is_definition, is_qualified, texts[:3] == ["template", "<", ">"], is_template,
        )  # fmt: skip


def _name(texts: Sequence[str], first: int) -> tuple[int, str]:
    """Where a function's name begins, which ends the texts, and the name."""
    if "operator" in texts[first:]:
        place = first + texts[first:].index("operator")
        return place, "".join(texts[place:])
    place = _before_arguments(texts, len(texts) - 1)
    if place > first and texts[place - 1] == "~":
        return place - 1, f"~{texts[place]}"
    return place, texts[place]


def _before_arguments(texts: Sequence[str], place: int) -> int:
    """The index of the name before ``<…>``, which ends at the place; the place where nothing does."""
    depth = 0
    while texts[place] in (">", ">>") or depth:
        depth += {">": 1, ">>": 2, "<": -1}.get(texts[place], 0)
        place -= 1
        if place < 0:
            return 0
    return place


def _arity(texts: Sequence[str]) -> int:
    depth, commas = 0, 0
    for text in texts:
        depth += (text in ("(", "[", "{", "<")) - (text in (")", "]", "}", ">")) - 2 * (text == ">>")
        commas += text == "," and depth == 0
    return commas + 1 if texts and list(texts) != ["void"] else 0


def _closings(tokens: Sequence[Token]) -> dict[int, int]:
    """The index of what closes each bracket."""
    found, opened = dict[int, int](), list[int]()
    for index, token in enumerate(tokens):
        if token.text in _CLOSING:
            opened.append(index)
        elif token.text in (")", "]", "}") and opened and _CLOSING[tokens[opened[-1]].text] == token.text:
            found[opened.pop()] = index
    return found
