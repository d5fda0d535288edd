"""``__shared__`` variables of types with a constructor, as ``cuda::barrier``: clang refuses what nvcc leaves as it is.

Each becomes memory of its size, and a reference to it: on the same line, under the same name. Types that are no
library's are known by clang's errors, and only what a ``__global__`` function declares for itself is left as nvcc has
it: a region's author is told.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import Diagnostic
from tle_raw.adapters.cpp.mends import Mend, index_at, last_first
from tle_raw.adapters.cpp.spelling import join_tokens
from tle_raw.adapters.cpp.tokens import Token, line_starts, tokenize

FILE = "tle_raw/shared_object.h"
HEADER = f"#include <{FILE}>"
_REFUSED = "initialization is not supported for __shared__ variables"
_TYPES = frozenset(("barrier", "pipeline_shared_state", "latch", "binary_semaphore", "counting_semaphore"))
_HELD = re.compile(r"__shared__ tle::detail::shared_object<(.*?)> tle_raw_memory_of_(\w+);")
_QUIET = re.compile(r"#\s*pragma\s+(?:nv_)?diag_suppress\b.*?(?:20054|static_var_with_dynamic_init)")
_OPENING, _CLOSING = "([{<", ")]}>"


@functools.lru_cache(maxsize=64)
def with_shared_objects(text: str) -> str:
    """The text with such variables rewritten; itself where it has none."""
    if "__shared__" not in text or not any(name in text for name in _TYPES):
        return text
    tokens = tokenize(text)
    names = _types(tokens)
    edits = [e for i, t in enumerate(tokens) if t.text == "__shared__" and (e := _edit(tokens, i, names))]
    starts = line_starts(text)
    for first, last, new in reversed(edits):
        begin, end = (starts[t.line - 1] + t.column - 1 for t in (first, last))
        text = text[:begin] + new + "\n" * text.count("\n", begin, end) + text[end + 1 :]
    return text


def left_alone(mend: Mend, text: str) -> Iterator[tuple[str, str]]:
    """The variables, and their types, whose constructors a change takes away; none where the text wants no warning.

    As nvcc does: its warning is number 20054, ``static_var_with_dynamic_init``.
    """
    if not _QUIET.search(text):
        yield from ((name, type_.split(" [")[0]) for type_, name in _HELD.findall(mend.new))


def shared_mends(errors: Iterable[Diagnostic], text_of: Callable[[str], str | None]) -> tuple[Mend, ...]:
    """What to change for the variables of kernels that clang's errors name, the last place first."""
    found = {m for e in errors if e.text == _REFUSED for m in _mends_of(e, text_of)}
    return last_first(found)


def _mends_of(error: Diagnostic, text_of: Callable[[str], str | None]) -> Iterator[Mend]:
    place = error.location
    text = text_of(place.file) if place else None
    if text is None or place is None:
        return
    tokens = tokenize(text)
    index = index_at(tokens, place) or 0
    start = next((i for i in range(index, -1, -1) if tokens[i].text in ("__shared__", ";", "{", "}")), 0)
    if tokens[start].text != "__shared__" or not _is_kernels(tokens, start):
        return
    edit = _edit(tokens, start, {t.text for t in tokens[start:index]})
    if edit:
        first, last, new = edit
        lines = text.split("\n")[first.line - 1 : last.line]
        lines[-1] = lines[-1][: last.column]
        old = "\n".join(lines)[first.column - 1 :]
        yield Mend(place.file, first.line, first.column, old, new + "\n" * old.count("\n"))


def _is_kernels(tokens: Sequence[Token], index: int) -> bool:
    """Whether the place is in the body of a ``__global__`` function."""
    depth = 0
    for at in range(index, -1, -1):
        depth += (tokens[at].text == "{") - (tokens[at].text == "}")
        if depth > 0:
            depth = 0
            before = next((i for i in range(at - 1, -1, -1) if tokens[i].text in (";", "{", "}")), -1)
            if any(token.text == "__global__" for token in tokens[before + 1 : at]):
                return True
    return False


def _types(tokens: Sequence[Token]) -> set[str]:
    """The types above, those that hold one, and other names of them."""
    names = set(_TYPES)
    while True:
        found = {n for i, t in enumerate(tokens) for n in _named(tokens, i, t, names)} - names
        if not found:
            return names
        names |= found


def _named(tokens: Sequence[Token], index: int, token: Token, names: set[str]) -> list[str]:
    following = tokens[index + 1 : index + 2]
    if token.text in ("struct", "class") and following and following[0].is_word:
        start = next((i for i in range(index, len(tokens)) if tokens[i].text in "{;"), len(tokens) - 1)
        end = _closing(tokens, start) if tokens[start].text == "{" else start
        held = {t.text for i, t in enumerate(tokens[start:end], start) if not _is_pointed_at(tokens, i)}
        return [following[0].text] if held & names else []
    if token.text in ("using", "typedef"):
        end = next((i for i in range(index, len(tokens)) if tokens[i].text == ";"), len(tokens))
        words = [t.text for t in tokens[index + 1 : end]]
        if len(words) > 2 and set(words) & names and words[0] != "namespace" and "*" not in words:
            if token.text == "typedef":
                return [words[-1]]
            return [words[0]] if words[1] == "=" else []
    return []


def _is_pointed_at(tokens: Sequence[Token], index: int) -> bool:
    """Whether a pointer or a reference to the type stands here, not the type."""
    after = index + 1
    if after < len(tokens) and tokens[after].text == "<":
        after = _closing(tokens, after) + 1
    return after < len(tokens) and tokens[after].text in ("*", "&")


def _closing(tokens: Sequence[Token], start: int) -> int:
    """The place of the bracket that closes the one at ``start``; the last token's where there is none."""
    opening = tokens[start].text
    closing = _CLOSING[_OPENING.index(opening)]
    depth = 0
    for index in range(start, len(tokens)):
        depth += (tokens[index].text == opening) - (tokens[index].text == closing)
        if depth == 0:
            return index
    return len(tokens) - 1


def _edit(tokens: Sequence[Token], index: int, names: set[str]) -> tuple[Token, Token, str] | None:
    """The first and the last token of a declaration, and what stands there instead."""
    before = tokens[index - 1].text if index else ";"
    if before == "extern" or (index > 1 and tokens[index - 2].text == "extern"):
        return None
    end = next((i for i in range(index, len(tokens)) if tokens[i].text == ";"), -1)
    declared = list(tokens[index + 1 : end])
    if end < 0 or not {t.text for t in declared} & names or any(t.text in "={}*&" for t in declared):
        return None
    type_, rest = _type(declared)
    if not type_ or not rest or not {t.text for t in type_} & names:
        return None
    spelled = join_tokens([t.text for t in type_ if t.text not in ("static", "volatile")])
    lines = []
    for variable in _split(rest):
        name, extents = variable[0].text, "".join(t.text for t in variable[1:])
        if not re.fullmatch(r"[^\W\d]\w*", name) or (extents and not extents.startswith("[")):
            return None
        own = f"tle_raw_memory_of_{name}"
        held = f"tle::detail::shared_object<{spelled} {extents}>".replace(" >", ">")
        lines.append(f"__shared__ {held} {own}; auto& {name} = {own}.object();")
    return tokens[index], tokens[end], " ".join(lines)


def _type(tokens: Sequence[Token]) -> tuple[list[Token], list[Token]]:
    """A declaration's type, and the names that it declares with their extents."""
    index = 0
    attributes = ("alignas", "__align__", "__attribute__")
    while index < len(tokens):
        if tokens[index].text in attributes and index + 1 < len(tokens):
            return [], []
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if following == "<":
            index = _closing(tokens, index + 1) + 1
        elif tokens[index].is_word and following in ("", ",", "["):
            break
        else:
            index += 1
    return list(tokens[:index]), list(tokens[index:])


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
