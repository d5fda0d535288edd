"""What an elementwise operation does with its vectors: whether it is about one element of each, in registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tle_raw.adapters.cpp.operations import LEAVES, is_declared, is_member
from tle_raw.adapters.cpp.tokens import Token

INDEX = "i"
# What PyCUDA's loop over the vectors has around the operation.
LOOP_NAMES = ("n", "tid", "total_threads", "cta_start")
_COMPOUND = frozenset("+-*/%&|^<>")


@dataclass(frozen=True)
class Use:
    """What the operation does with a vector. ``is_whole``: every element is written before it is read."""

    is_read: bool
    is_written: bool
    is_whole: bool


@dataclass(frozen=True)
class Uses:
    """``of`` tells of each vector. ``elsewhere`` is text of the operation that needs the vectors in memory, or ""."""

    of: Mapping[str, Use]
    elsewhere: str
    needs_index: bool

    @property
    def written(self) -> list[str]:
        return [name for name, use in self.of.items() if use.is_written]


def uses_of(vectors: Iterable[str], tokens: Sequence[Token], scalars: Sequence[str]) -> Uses:
    """Read the operation, token by token."""
    texts = [token.text for token in tokens]
    found, elsewhere = {}, ""
    for vector in vectors:
        places = [k for k, text in enumerate(texts) if text == vector and not is_member(texts, k)]
        elsewhere = elsewhere or next((_words(texts, k) for k in places if not _is_element(texts, k)), "")
        found[vector] = _use(places, texts)
    loop = [k for k, text in enumerate(texts) if text in LOOP_NAMES and text not in scalars]
    loop = [k for k in loop if not is_member(texts, k) and not is_declared(texts, texts[k])]
    elsewhere = elsewhere or next((texts[k] for k in loop), "")
    return Uses(found, elsewhere, any(_is_number(texts, k) for k, text in enumerate(texts) if text == INDEX))


def _is_element(texts: Sequence[str], k: int) -> bool:
    return list(texts[k + 1 : k + 4]) == ["[", INDEX, "]"]


def _words(texts: Sequence[str], k: int) -> str:
    """The vector and its index, or what else stands behind it."""
    depth, end = 0, k + 1
    while end < min(len(texts), k + 12):
        depth += (texts[end] in ("[", "(")) - (texts[end] in ("]", ")"))
        end += 1
        if depth <= 0:
            break
    return "".join(texts[k:end]) if texts[k + 1 : k + 2] == ["["] else texts[k]


def _use(places: Sequence[int], texts: Sequence[str]) -> Use:
    is_read = is_written = is_whole = False
    stands = 0  # where the statement ends that writes every element; before that, its old value is read
    may_leave = any(text in LEAVES for text in texts)
    depths = _depths(texts)
    for k in places:
        after = [*texts[k + 4 : k + 8], "", "", "", ""]
        if after[0] == "=" and after[1] != "=":
            starts = depths[k] == 0 and (k == 0 or texts[k - 1] in (";", "}"))
            if starts and not is_read and not may_leave and not is_whole:
                is_whole, stands = True, texts.index(";", k) if ";" in texts[k:] else len(texts)
            is_written = True
        else:
            is_read = is_read or not is_whole or k < stands
            is_written = is_written or _is_compound(after) or _is_stepped(texts, k) or _is_taken(texts, k)
    return Use(is_read, is_written, is_whole)


def _depths(texts: Sequence[str]) -> list[int]:
    found, depth = [], 0
    for text in texts:
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        found.append(depth)
    return found


def _is_compound(after: Sequence[str]) -> bool:
    """``+=``, and ``<<=``, but neither ``<=`` nor ``==``."""
    if after[0] in "<>" and after[0]:
        return after[1] == after[0] and after[2] == "="
    return bool(after[0]) and after[0] in _COMPOUND and after[1] == "=" and after[2] != "="


def _is_stepped(texts: Sequence[str], k: int) -> bool:
    """``x[i]++`` and ``--x[i]``."""
    steps = (["+", "+"], ["-", "-"])
    return list(texts[k + 4 : k + 6]) in steps or list(texts[max(k - 2, 0) : k]) in steps


def _is_taken(texts: Sequence[str], k: int) -> bool:
    """``&x[i]``: whoever gets the address may write."""
    return k > 0 and texts[k - 1] == "&" and (k < 2 or texts[k - 2] in ("(", ",", "="))


def _is_number(texts: Sequence[str], k: int) -> bool:
    """Whether this ``i`` is more than the index of an element."""
    before, after = texts[k - 1] if k else "", texts[k + 1] if k + 1 < len(texts) else ""
    return not (before == "[" and after == "]") and not is_member(texts, k)
