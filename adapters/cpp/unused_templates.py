"""Bodies of functions that nobody uses, and that only clang reads: nvcc looks for their errors later, or never.

``template <class T> __global__ void sort(T* data, const int n) { n = 0; … }`` is no error to nvcc until somebody uses
it, nor is a call to ``strcmp`` in an inline ``__device__`` function. Such a body becomes a semicolon. Where the code
that comes of it uses it all the same (``uses_left_out``), what is told is the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic
from tle_raw.adapters.cpp.mends import Mend, index_at, last_first, mend_at
from tle_raw.adapters.cpp.token_spans import behind_template, braces_around, closing_brace, head_before
from tle_raw.adapters.cpp.tokens import Token, line_starts, tokenize

_INSTANTIATED = "in instantiation of"
# What nothing else mends: a member that the template itself lacks, and what is no variable.
_OF_TEMPLATES = re.compile(r"cannot assign to |no member named '\w+' in '[^']*<")
_OF_THE_HOST = "call to __host__ function from __device__ function"
# What a function for both sides may call as long as the device does not use it.
_ON_BOTH_SIDES = re.compile(r"reference to __host__ (?:function|variable) '.*' in __(?:host__ __)?device__ function")
# What the text itself lacks, nvcc misses in a template, too.
_NO_NAME = re.compile(r"use of undeclared identifier|unknown type name|no (?:template|type) named|expected ")
_LEFT_OUT = re.compile(r"; /\* without the body of (\w+) \*/")
_DECLARED = re.compile(r"^declare [^\n]*?@\"?(\w+)", re.MULTILINE)
_SYMBOL = re.compile(r"@\"?([\w$.]+)")
_RECORDS = frozenset(("struct", "class", "union"))
# Such a function is not known by its declaration alone.
_NEEDS_BODY = frozenset(("auto", "decltype", "constexpr", "consteval"))


def unused_bodies(
    errors: Iterable[Diagnostic], text_of: Callable[[str], str | None], wanted: str = ""
) -> tuple[Mend, ...]:
    """What to change for errors in templates that are not instantiated, the last place first; never of ``wanted``.

    A call to a function of the host's is left out of any function.
    """
    told = [e for e in errors if e.location and not _NO_NAME.match(e.text) and not _is_instantiated(e)]
    places = {(e.location, _calls_host(e)) for e in told if e.location}
    found = set[Mend]()
    for file in {place.file for place, _ in places}:
        text = text_of(file)
        tokens = tokenize(text) if text is not None else []
        for place, of_any in places:
            if text is not None and place.file == file:
                found |= set(_of_place(text, tokens, place, wanted, of_any))
    return last_first(found)


def is_of_unused(error: Diagnostic) -> bool:
    """Whether nothing else mends an error, where it is one that nvcc has for functions in use alone."""
    return bool(_OF_TEMPLATES.match(error.text)) or _calls_host(error)


def _calls_host(error: Diagnostic) -> bool:
    return bool(_ON_BOTH_SIDES.match(error.text)) or any(_OF_THE_HOST in note.text for note in error.notes)


def is_left_out(mend: Mend) -> bool:
    """Whether the change is one of these."""
    return bool(_LEFT_OUT.match(mend.new))


def uses_left_out(ir: str, changes: Iterable[Mend], wanted: str = "") -> bool:
    """Whether LLVM IR lacks a function whose body is left out, and whatever has the ``wanted`` name leads to it."""
    names = {found[1] for change in changes if (found := _LEFT_OUT.match(change.new))}
    lacking = {said for said in _DECLARED.findall(ir) for name in names if _is_of(said, name)}
    return bool(lacking) and not lacking.isdisjoint(_led_to(ir, wanted))


def _is_of(symbol: str, name: str) -> bool:
    return symbol == name or f"{len(name)}{name}" in symbol


def _led_to(ir: str, wanted: str) -> set[str]:
    """The symbols that code of that name leads to; all that the text says where it has no such code."""
    said, current = dict[str, set[str]](), ""
    for line in ir.splitlines():
        symbols = _SYMBOL.findall(line)
        if line.startswith(("define ", "@")) and symbols:
            current = symbols[0]
        if current:
            said.setdefault(current, set()).update(symbols)
        if line == "}" or line.startswith("@"):  # a variable's value is on its line
            current = ""
    more = {symbol for symbol in said if wanted and _is_of(symbol, wanted)} or {*said, *_DECLARED.findall(ir)}
    found = set[str]()
    while more:
        found |= more
        more = {symbol for one in more for symbol in said.get(one, ())} - found
    return found


def _is_instantiated(error: Diagnostic) -> bool:
    return any(_INSTANTIATED in note.text for note in error.notes)


def _of_place(text: str, tokens: Sequence[Token], place: ClangLocation, wanted: str, of_any: bool) -> Iterator[Mend]:
    index = index_at(tokens, place)
    if index is None:
        return
    is_template = of_any
    for opening in braces_around(tokens, index):
        head = head_before(tokens, opening)
        texts = [token.text for token in head]
        if "namespace" in texts or texts[:1] == ["extern"]:
            continue
        is_template |= texts[:2] == ["template", "<"] and texts[2:3] != [">"]
        if _RECORDS & set(texts) and "(" not in texts:
            continue
        if is_template and (name := _name(texts)) and name != wanted and not _NEEDS_BODY & set(texts):
            yield from _without_body(text, tokens, opening, place.file, name)
        return


def _name(texts: Sequence[str]) -> str:
    """The name of a function without a path before it or initialisers behind its parameters; nothing for others."""
    begin = behind_template(texts)
    opening = next((i for i in range(begin, len(texts)) if texts[i] == "(" and not _says_more(texts, i)), 0)
    if opening < 2 or ":" in texts[opening:] or "operator" in texts[begin:opening]:
        return ""
    return "" if texts[opening - 2] in ("::", "~") else texts[opening - 1]


def _says_more(texts: Sequence[str], opening: int) -> bool:
    """Whether the parenthesis is an attribute's, as ``__launch_bounds__(256)``."""
    return texts[opening - 1].startswith("__") or texts[opening - 1] in ("(", "alignas", "noexcept", "requires")


def _without_body(text: str, tokens: Sequence[Token], opening: int, file: str, name: str) -> Iterator[Mend]:
    last = closing_brace(tokens, opening)
    if last is not None:
        starts = line_starts(text)
        begin, end = (starts[token.line - 1] + token.column - 1 for token in (tokens[opening], tokens[last]))
        old = text[begin : end + 1]
        new = f"; /* without the body of {name} */" + "\n" * old.count("\n")
        yield mend_at(file, tokens[opening], old, new)
