"""Which template an instance is of, by the types that the instance takes: ``f(float*, int)`` of ``f(T*, int)``.

Such lists come from profilers and from ``cuobjdump``, which name kernels as they were compiled: ``void
ns::f<float, 4>(float*, int)``, or ``_ZN2ns1fIfLi4EEvPT_i``. What only a compiler knows stays open: another name of a
type, ``typename T::type``. A template is then taken for the right one where no other has as many parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.parameters import BUILTIN_TYPES, split
from tle_raw.adapters.cpp.spelling import join_tokens
from tle_raw.adapters.cpp.tokens import tokenize
from tle_raw.linker.machine_code.demangle import demangle

_DROPPED = frozenset({"__restrict__", "__restrict", "struct", "class", "enum", "typename"})
_QUALIFIERS = frozenset({"const", "volatile"})
_INDIRECT = frozenset({"*", "&", "["})
_OPEN, _CLOSE = frozenset("<(["), frozenset(">)]")
_SIZES = frozenset({"short", "long", "unsigned"})  # behind which `int` says nothing
# Before a value, as demanglers write it.
_CAST = re.compile(r"\((?:unsigned )?(?:int|long|char|short|bool|unsigned)\)(?=\w)")
Words = tuple[str, ...]


@dataclass(frozen=True)
class Instance:
    """``arguments`` are the template's, as far as the types tell them. ``is_sure``: every type was understood."""

    function: CppFunction
    arguments: str
    is_sure: bool
    deduced: int


def plain_symbol(symbol: str, text: str) -> str:
    """A symbol without what linkers and demanglers add to a function's name; itself where the text says it."""
    symbol = symbol.strip().rstrip(";").removeprefix("&").strip()
    if symbol.startswith("_Z") and not re.search(rf"\b{re.escape(symbol)}\b", text):
        symbol = demangle(symbol)
    return _CAST.sub("", symbol.removeprefix("void ").strip())


def instances(named: Iterable[CppFunction], types: Sequence[str], given: str) -> list[Instance]:
    """The functions that such an instance can be of, with template arguments ``given``; the best of them only.

    Of several functions one without template parameters is meant by its own types alone, which its text says.
    """
    named = list(named)
    found = [instance for function in named if (instance := _instance(function, types, given))]
    sure = [instance for instance in found if instance.is_sure]
    sure = sure or [instance for instance in found if instance.function.template or len(named) == 1]
    least = min((instance.deduced for instance in sure), default=0)  # the more special one, as C++ has it
    return [instance for instance in sure if instance.deduced == least]


def _instance(function: CppFunction, types: Sequence[str], given: str) -> Instance | None:
    written = [tuple(token.text for token in part) for part in split(tokenize(given))]
    names = [parameter.name for parameter in function.template or () if not parameter.is_pack]
    if (written and not names and not function.template) or len(types) < len(function.types):
        return None
    scope = frozenset(function.scope.split("::"))
    own_names = frozenset(p.name for p in function.template or () if p.name)
    matching = _Matching(own_names, dict(zip(names, written)), scope)
    takes = list(function.types)
    if takes and "..." in takes[-1]:
        takes = [*takes[:-1], *[takes[-1].replace("...", "")] * (len(types) - len(takes) + 1)]
        packs = {p.name for p in function.template or () if p.is_pack}
        matching = _Matching(own_names - packs, matching.bound, scope, packs)
    if len(takes) != len(types) or not all(matching.type(own, other) for own, other in zip(takes, types)):
        return None
    arguments = [join_tokens(words) for words in written]
    for parameter in (function.template or ())[len(written) :]:
        if parameter.name not in matching.bound:
            break
        arguments.append(join_tokens(matching.bound[parameter.name]))
    return Instance(function, ", ".join(arguments), matching.is_sure, len(matching.bound))


class _Matching:
    """What a template's parameters stand for, learnt from one type after the other."""

    def __init__(
        self, names: frozenset[str], bound: dict[str, Words], scope: frozenset[str], packs: Iterable[str] = ()
    ) -> None:
        self.names, self.bound, self.scope, self.packs = names, dict(bound), scope, frozenset(packs)
        self.is_sure = True

    def type(self, own: str, other: str) -> bool:
        """Whether the template's own type can be the other one."""
        (mine, qualified, tail), (theirs, others_qualified, others_tail) = _parts(own), _parts(other)
        if len(mine) == 1 and mine[0] in self.names:
            kept = len(others_tail) - len(tail)
            if kept < 0 or others_tail[kept:] != tail:
                return False
            rest = others_tail[:kept]
            if not rest and not qualified <= others_qualified:
                return False
            more = others_qualified if rest else others_qualified - qualified
            return self._bind(mine[0], (*sorted(more), *theirs, *rest))
        if tail != others_tail or (tail and qualified != others_qualified and self._is_plain(mine)):
            return False
        if self._match(mine, theirs):
            return True
        self.is_sure = False  # another name of it, or one that depends on a parameter
        return not self._is_plain(mine)

    def _is_plain(self, words: Words) -> bool:
        """Whether the words mean the same everywhere."""
        return all(word in BUILTIN_TYPES for word in words)

    def _bind(self, name: str, words: Words) -> bool:
        known = self.bound.setdefault(name, words)
        return _same(known, words)

    def _match(self, mine: Words, theirs: Words) -> bool:
        place = 0
        for index, word in enumerate(mine):
            if word in self.packs:
                return True
            if word in self.names and mine[index + 1 : index + 2] != ("::",):
                end = _end_of_argument(theirs, place)
                if end == place or not self._bind(word, theirs[place:end]):
                    return False
                place = end
                continue
            while theirs[place : place + 1] != (word,) and theirs[place + 1 : place + 2] == ("::",):
                self.is_sure &= theirs[place] in self.scope  # which the source need not write
                place += 2
            if theirs[place : place + 1] != (word,):
                return False
            place += 1
        return place == len(theirs)


def _parts(type_: str) -> tuple[Words, frozenset[str], Words]:
    """A type's own words, their qualifiers, and the pointers and references behind."""
    words = [token.text for token in tokenize(type_) if token.text not in _DROPPED]
    depth, cut = 0, len(words)
    for place, word in enumerate(words):
        if depth == 0 and word in _INDIRECT:
            cut = place
            break
        depth += (word in _OPEN) - (word in _CLOSE)
    base, tail = words[:cut], words[cut:]
    if "[" in tail:  # an array is a pointer to its elements
        tail = [*tail[: tail.index("[")], "*"]
    while tail and tail[-1] in _QUALIFIERS:
        tail.pop()
    qualified = frozenset(base) & _QUALIFIERS if tail else frozenset[str]()
    own = [word for word in base if word not in _QUALIFIERS]
    if _SIZES.intersection(own) and len(own) > 1:
        own = [word for word in own if word != "int"]
    if own[:1] == ["::"]:
        own = own[1:]
    return tuple(own), qualified, tuple(tail)


def _same(known: Words, words: Words) -> bool:
    """Whether two spellings are of one argument, as far as words tell."""
    one, other = (_parts(join_tokens(each)) for each in (known, words))
    return one[1:] == other[1:] and (one[0] == other[0] or one[0][-1:] == other[0][-1:])


def _end_of_argument(words: Words, start: int) -> int:
    depth = 0
    for place in range(start, len(words)):
        if depth == 0 and words[place] in (",", ">"):
            return place
        depth += (words[place] in _OPEN) - (words[place] in _CLOSE)
    return len(words)
