"""What nvcc makes of a call to a function of the host's in a function for both sides: a warning, and code without a
meaning where the device gets there. Here the host's function is one for both sides, too, that is a trap on the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic
from tle_raw.adapters.cpp.mends import Mend, index_at, last_first, mend_at
from tle_raw.adapters.cpp.token_spans import behind_template, closing_brace
from tle_raw.adapters.cpp.tokens import Token, line_starts, tokenize

_REFUSED = re.compile(r"reference to __host__ function '.*' in __host__ __device__ function")
_DECLARED = re.compile(r"'.*' declared here")
_TRAP = "{ __builtin_trap(); }"
# A program that asks which compiler reads it may say what is the device's to nvcc alone.
_ASKS = re.compile(r"\b(?:__NVCC__|__clang__|__CUDACC_\w+)\b")
# Of which the place of the result's type or the values of members say more than that.
_LEFT_ALONE = frozenset(("constexpr", "consteval", "auto", "decltype", "operator", "~", "virtual", "friend", "extern"))


def trapped(errors: Iterable[Diagnostic], texts: Mapping[str, str]) -> tuple[Mend, ...]:
    """What to change for functions of the host's that a program's own texts declare, the last place first."""
    notes = [note for error in errors if _REFUSED.match(error.text) for note in error.notes]
    places = {note.location for note in notes if _DECLARED.match(note.text) and note.location}
    if not places or any(map(_ASKS.search, texts.values())):
        return ()
    found = {mend for place in places if place.file in texts for mend in _of_place(texts[place.file], place)}
    return last_first(found)


def is_trap(mend: Mend) -> bool:
    """Whether the change takes a function's body for a trap."""
    return mend.new.startswith(_TRAP)


def _of_place(text: str, place: ClangLocation) -> Iterator[Mend]:
    """``int counted(int x) { … }``, of which the name is at the place, or ``int counted(int x);``."""
    tokens = tokenize(text)
    index = index_at(tokens, place)
    if not index or index + 1 >= len(tokens) or tokens[index + 1].text not in ("(", "<"):
        return
    start = _begin(tokens, index)
    head = {token.text for token in tokens[start:index]}
    if start == index or _LEFT_ALONE & head or head & {"__device__", "__global__", "="}:
        return
    end = next((i for i in range(index, len(tokens)) if tokens[i].text in (";", "{", ":", "=", "}")), 0)
    if not end or tokens[end].text not in (";", "{"):
        return
    last = closing_brace(tokens, end) if tokens[end].text == "{" else end
    if last is None:
        return
    starts = line_starts(text)
    begin, behind = (starts[t.line - 1] + t.column - 1 for t in (tokens[end], tokens[last]))
    old = text[begin : behind + 1]
    yield mend_at(place.file, tokens[end], old, _TRAP + "\n" * old.count("\n"))
    first = tokens[start]
    yield mend_at(place.file, first, first.text, f"__host__ __device__ inline {first.text}")


def _begin(tokens: Sequence[Token], index: int) -> int:
    """Where a function's declaration begins, behind ``template <…>`` and ``public:``."""
    start, depth = index, 0
    while start > 0:
        text = tokens[start - 1].text
        depth += (text in (")", "]", ">")) - (text in ("(", "[", "<"))
        if depth == 0 and text in (";", "{", "}", ":"):
            break
        start -= 1
    return start + behind_template([token.text for token in tokens[start:index]])
