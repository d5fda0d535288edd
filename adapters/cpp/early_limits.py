"""``std::numeric_limits`` of a program's class, written after it was asked for.

Clang's math headers have overloads for integers, ``template <class T> enable_if<numeric_limits<T>::is_integer> f(T)``,
for which a call of such a function with a class of the program's asks for the class's limits: a specialisation that
comes later is an error then. nvcc's headers do not ask. Where the class is first declared, the specialisation is
declared with it, so that the overloads pass over the class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import Diagnostic
from tle_raw.adapters.cpp.mends import Mend, mend_at
from tle_raw.adapters.cpp.token_spans import braces_around, head_before
from tle_raw.adapters.cpp.tokens import Token, tokenize

_TOO_LATE = re.compile(r"explicit specialization of 'std::numeric_limits<([\w:]+)>' after instantiation")
_BEGINS = (";", "{", "}")


def limits_ahead(errors: Iterable[Diagnostic], text_of: Callable[[str], str | None]) -> tuple[Mend, ...]:
    """What to write before the classes that such errors name, in the files that specialise their limits."""
    found = dict.fromkeys(
        (error.location.file, late[1]) for error in errors if (late := _TOO_LATE.match(error.text)) and error.location
    )
    return tuple(mend for file, path in found if (text := text_of(file)) for mend in _declared(text, file, path))


def _declared(text: str, file: str, path: str) -> Iterator[Mend]:
    """``class half;`` in ``namespace math {`` gets the declaration of its limits, between two parts of ``math``."""
    tokens, name = tokenize(text), path.rpartition("::")[2]
    index = next((i for i in range(len(tokens)) if _declares(tokens, i, name)), None)
    if index is None:
        return
    heads = [" ".join(token.text for token in head_before(tokens, i)) for i in braces_around(tokens, index)]
    if not all(re.match(r"(?:inline )?namespace\b", head) for head in heads):
        return
    word, token = tokens[index].text, tokens[index]
    limits = f"namespace std {{ template <> class numeric_limits<::{path}>; }}"
    new = " ".join((f"{word} {name};", *("}" for _ in heads), limits, *(f"{head} {{" for head in heads), word))
    yield mend_at(file, token, word, new)


def _declares(tokens: Sequence[Token], index: int, name: str) -> bool:
    """Whether a declaration of the class begins there."""
    if tokens[index].text not in ("class", "struct") or (index and tokens[index - 1].text not in _BEGINS):
        return False
    following = [token.text for token in tokens[index + 1 : index + 3]]
    return following[:1] == [name] and following[1:] in ([";"], ["{"], [":"], ["final"])
