"""What nvcc takes and clang refuses, changed in the text at the places that clang's errors name.

Thirteen things programs have: a dependent template without the word ``template`` before it, a variable that hides a
parameter of its template, typedefs of their own for the fixed-width integers and ``CUtensorMap``, as sources for
NVRTC write them, registers of inline PTX with one percent sign, where ``asm`` has operands, no comma between two of
these operands, the number of one that is not there, in a template that nobody uses, a size of dynamic shared memory,
which the launch gives: ``extern __shared__ float s[32][32]``, an alignment below that of the type, or behind
``__device__``, a specialisation for the host and the device of a template for one of them, a class's own name
before that of a member, in its body, ``x = {}`` of a class that other classes are assigned to, as ``__half2`` is,
spaces in the signs of a launch, as formatters leave them: ``<< <``, and no space in ``extern "C"__global__``.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tle_raw.adapters.cpp.diagnostics import ClangLocation, Diagnostic
from tle_raw.adapters.cpp.tokens import Token, line_starts, tokenize

_NO_TEMPLATE = (
    "reference to overloaded function could not be resolved",
    "reference to non-static member function must be called",
    "missing 'template' keyword prior to dependent template name",
)
_HIDES = re.compile(r"declaration of '(\w+)' shadows template parameter")
_ESCAPE = "invalid % escape in inline assembly string"
# `%rx`, which means nothing else; `%r1` and `%r[name]` are operands to clang, and `%%` is the sign itself.
_REGISTER = re.compile(r"%%|%(?=[A-Za-z](?![\d\[])|[_$])")
_NO_COMMA = "expected ')'"
_NO_OPERAND = "invalid operand number in inline asm string"
_OPERAND = re.compile(r"%[a-zA-Z]?\d+")
_SIZED = re.compile(r"__shared__ variable '\w+' cannot be 'extern'")
_UNALIGNED = "requested alignment is less than minimum alignment"
_MISPLACED = "'alignas' attribute cannot be applied to types"
_ALIGNAS = re.compile(r"alignas\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_NO_PRIMARY = "no function template matches function template specialization"
_OTHER_SIDE = "target attributes do not match"
_CLEARED = re.compile(r"use of overloaded operator '=' is ambiguous \(with operand types '([\w:]+)'.* and 'void'\)")
_QUALIFIED = "extra qualification on member"
_NO_VALUE = "expected expression"
_SUFFIX = "string literal with user-defined suffix cannot be used here"
_LAUNCH = re.compile(r"(?:<<\s+<|>>\s+>)\Z")
_REDEFINED = "typedef redefinition with different types"
# What such a typedef can only mean: what the headers mean by the name.
_FIXED = re.compile(r"u?int(?:8|16|32|64|ptr)_t|size_t|ptrdiff_t|CUtensorMap")


@dataclass(frozen=True)
class Mend:
    """``old``, which stands at a place of a file, becomes ``new``. Columns count characters, as tokens' do."""

    file: str
    line: int
    column: int
    old: str
    new: str


def mends(errors: Iterable[Diagnostic], text_of: Callable[[str], str | None]) -> tuple[Mend, ...]:
    """What to change, the last place first. ``text_of`` is the text of a file, as the compiler read it, or None."""
    return last_first({mend for error in errors for mend in _of_error(error, text_of)})


def last_first(found: Iterable[Mend]) -> tuple[Mend, ...]:
    """In the order in which ``mended`` takes them: a change leaves the places before it where they are."""
    return tuple(sorted(found, key=lambda mend: (mend.file, -mend.line, -mend.column)))


def mended(text: str, file: str, changes: Iterable[Mend]) -> str:
    """The text of a file with its changes, one after the other; each counts places in what the others left."""
    for change in changes:
        if change.file == file:
            place = _offset(text, change.line, change.column)
            if text.startswith(change.old, place):
                text = text[:place] + change.new + text[place + len(change.old) :]
    return text


def _of_error(error: Diagnostic, text_of: Callable[[str], str | None]) -> Iterator[Mend]:
    text = text_of(error.location.file) if error.location else None
    if text is None or error.location is None:
        return
    if made := _made_of(error.text):
        yield from made(text, error.location)
    elif error.text.startswith(_NO_PRIMARY):
        yield from _on_both_sides(error, text_of)
    elif hides := _HIDES.match(error.text):
        yield from _renamed(text, hides[1], error)
    elif cleared := _CLEARED.match(error.text):
        yield from _with_class(text, error.location, cleared[1])
    elif _SIZED.match(error.text):
        yield from _without_size(text, error.location)


def index_at(tokens: Sequence[Token], location: ClangLocation) -> int | None:
    """Which token begins at a place."""
    return next((i for i, t in enumerate(tokens) if (t.line, t.column) == (location.line, location.column)), None)


def mend_at(file: str, token: Token, old: str, new: str) -> Mend:
    """A change of what begins where a token of the file does."""
    return Mend(file, token.line, token.column, old, new)


def blanked(file: str, text: str, first: Token, last: Token) -> Mend:
    """Spaces in the place of what begins with one token and ends with another, a sign of one character."""
    old = text[_offset(text, first.line, first.column) : _offset(text, last.line, last.column) + 1]
    return mend_at(file, first, old, re.sub(r"[^\n]", " ", old))


def _template_word(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``a<T>::f<n>(x)``, which clang reads as two comparisons, becomes ``a<T>::template f<n>(x)``, ``x.f<n>()`` too."""
    tokens = tokenize(text)
    index = index_at(tokens, location)
    if index is None:
        return
    if index and tokens[index - 1].text in (".", "->"):
        if tokens[index].is_word and tokens[index].text != "template":
            yield Mend(
                location.file, location.line, location.column, tokens[index].text, f"template {tokens[index].text}"
            )
        return
    is_dependent, last = False, None
    while index + 2 < len(tokens) and tokens[index].is_word:
        if is_dependent and tokens[index + 1].text == "<":
            last = tokens[index]
        if tokens[index + 1].text == "<":
            index, is_dependent = _after_angle(tokens, index + 1), True
        else:
            index += 1
        if index >= len(tokens) or tokens[index].text != "::":
            break
        index += 1
    if last is not None and last.text != "template":
        yield Mend(location.file, last.line, last.column, last.text, f"template {last.text}")


def _after_angle(tokens: Sequence[Token], index: int) -> int:
    depth = 0
    while index < len(tokens):
        depth += (tokens[index].text == "<") - (tokens[index].text == ">")
        index += 1
        if depth == 0 or tokens[index - 1].text in (";", "{"):
            return index
    return index


def _renamed(text: str, name: str, error: Diagnostic) -> Iterator[Mend]:
    """The template's parameter gets another name, up to where the variable hides it."""
    place = error.location
    declared = next((note.location for note in error.notes if "template parameter" in note.text), None)
    if declared is None or place is None or declared.file != place.file:
        return
    other = f"{name[:-1]}_"
    while re.search(rf"\b{other}\b", text):
        other += "_"
    for token in tokenize(text):
        if token.text == name and (declared.line, declared.column) <= (token.line, token.column) < (
            place.line,
            place.column,
        ):
            yield Mend(place.file, token.line, token.column, name, other)


def _behind_a_space(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``extern "C"__global__`` becomes ``extern "C" __global__``: the error is at the word, or at the string."""
    place = _offset(text, location.line, location.column)
    written = re.compile(r'("[^"\n]*")?(__\w+__)').match(text, place)
    if written:
        new = f"{written[1] or ''} {written[2]}"
        yield Mend(location.file, location.line, location.column, written[0], new)


def _without_typedef(text: str, location: ClangLocation) -> Iterator[Mend]:
    """A typedef of a name of fixed meaning that the headers have already is left out."""
    tokens = tokenize(text)
    index = index_at(tokens, location)
    if index is None or not _FIXED.fullmatch(tokens[index].text):
        return
    start = next((i for i in range(index, -1, -1) if tokens[i].text == "typedef"), None)
    if start is None or index + 1 >= len(tokens) or tokens[index + 1].text != ";":
        return
    first, last = tokens[start], tokens[index + 1]
    yield blanked(location.file, text, first, last)


def _without_alignment(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``alignas(64) CUtensorMap map``, of a type with a larger alignment, becomes ``CUtensorMap map``."""
    if written := _ALIGNAS.match(text, _offset(text, location.line, location.column)):
        yield Mend(location.file, location.line, location.column, written[0], re.sub(r"[^\n]", " ", written[0]))


def _movable_alignment(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``__device__ alignas(64) float x`` gets an attribute, which may stand there, in the place of ``alignas``."""
    if written := _ALIGNAS.match(text, _offset(text, location.line, location.column)):
        attribute = f"__attribute__((aligned({written[1]})))"
        yield Mend(location.file, location.line, location.column, written[0], attribute)


def _on_both_sides(error: Diagnostic, text_of: Callable[[str], str | None]) -> Iterator[Mend]:
    """A function template and its specialisation get the ``__host__`` or ``__device__`` that one of them lacks.

    nvcc takes each as it is written. Where clang names more than one template, which is meant is left to it.
    """
    primaries = [note.location for note in error.notes if _OTHER_SIDE in note.text]
    heads = []
    for place in (error.location, *primaries):
        text = text_of(place.file) if place else None
        head = _head(tokenize(text), place) if text is not None and place else []
        heads.append((place, head))
    if len(heads) != 2 or not all(head for _, head in heads):
        return
    sides = [{t.text for t in head} & {"__host__", "__device__"} for _, head in heads]
    for (place, head), own in zip(heads, sides, strict=True):
        missing = sorted((sides[0] | sides[1]) - own)
        if missing and place:
            first = head[0]
            yield Mend(place.file, first.line, first.column, first.text, " ".join((*missing, first.text)))


def _without_class(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``Filter::Filter() {``, in the body of the class, becomes ``Filter() {``. The place is that of the last name."""
    tokens = tokenize(text)
    index = first = index_at(tokens, location) or 0
    while first > 1 and tokens[first - 1].text == "::" and tokens[first - 2].is_word:
        first -= 2
    if first < index:
        start, end = (_offset(text, tokens[i].line, tokens[i].column) for i in (first, index))
        old = text[start:end]
        yield Mend(location.file, tokens[first].line, tokens[first].column, old, re.sub(r"[^\n]", " ", old))


def _with_class(text: str, location: ClangLocation, name: str) -> Iterator[Mend]:
    """``x = {}``, from the sign on, becomes ``x = half2{}``; ``x = {a, b}`` ``x = half2{a, b}``."""
    tokens = tokenize(text)
    index = index_at(tokens, location)
    if index is not None and [token.text for token in tokens[index : index + 2]] == ["=", "{"]:
        yield Mend(location.file, location.line, location.column, "=", f"= {name}")


def _joined_signs(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``<< <``, of which the last is at the place, becomes ``<<<`` and as many spaces; ``>> >`` as well."""
    end = _offset(text, location.line, location.column) + 1
    if written := _LAUNCH.search(text, max(0, end - 80), end):
        line, column = _place(text, written.start())
        signs = written[0]
        yield Mend(location.file, line, column, signs, signs[0] * 3 + re.sub(r"[^\n]", " ", signs[2:-1]))


def _head(tokens: Sequence[Token], location: ClangLocation) -> Sequence[Token]:
    """What stands between ``template <…>``, or ``friend``, and the function's name, which is at the place."""
    index = index_at(tokens, location)
    ends = ("template", "friend", ";", "{", "}")
    start = next((i for i in range(index or 0, -1, -1) if tokens[i].text in ends), 0)
    if index is not None and tokens[start].text == "friend":
        return tokens[start + 1 : index]
    if index is None or tokens[start].text != "template" or tokens[start + 1].text != "<":
        return []
    return tokens[_after_angle(tokens, start + 1) : index]


def _without_size(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``s[32][32]``, declared from the place on, becomes ``s[][32]``."""
    tokens = tokenize(text)
    index = index_at(tokens, location)
    rest = tokens[index:] if index is not None else []
    signs = [(i, token.text) for i, token in enumerate(rest[:64]) if token.text in ("[", "]", ";", "=")]
    if [sign for _, sign in signs[:2]] == ["[", "]"] and signs[1][0] > signs[0][0] + 1:
        first, last = rest[signs[0][0] + 1], rest[signs[1][0]]
        old = text[_offset(text, first.line, first.column) : _offset(text, last.line, last.column)]
        yield Mend(location.file, first.line, first.column, old, re.sub(r"[^\n]", " ", old))


def _doubled_signs(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``%rx`` in an asm statement's text becomes ``%%rx``: in the literals around the place, but for raw ones."""
    tokens, place = tokenize(text), _offset(text, location.line, location.column)
    lines = line_starts(text)
    starts = [lines[token.line - 1] + token.column - 1 for token in tokens]
    first = last = bisect.bisect_right(starts, place) - 1
    while first > 0 and _is_plain_literal(tokens[first - 1]):
        first -= 1
    while last + 1 < len(tokens) and _is_plain_literal(tokens[last + 1]):
        last += 1
    for index in range(first, last + 1) if _is_plain_literal(tokens[last]) else ():
        for sign in _REGISTER.finditer(tokens[index].text):
            if sign[0] == "%":
                line, column = _place(text, starts[index] + sign.start())
                yield Mend(location.file, line, column, "%", "%%")


def _without_operand(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``%8``, of which there are fewer, becomes ``%%8``, which the assembler refuses where the statement is compiled.

    The place is the number's last digit.
    """
    place = _offset(text, location.line, location.column)
    start = text.rfind("%", 0, place + 1)
    found = _OPERAND.match(text, start) if start >= 0 else None
    if found and start <= place <= found.end():
        line, column = _place(text, start)
        yield Mend(location.file, line, column, "%", "%%")


def _with_comma(text: str, location: ClangLocation) -> Iterator[Mend]:
    """``asm("…" : "+l"(a) "=r"(b))`` becomes ``asm("…" : "+l"(a) ,"=r"(b))``."""
    tokens = tokenize(text)
    index = index_at(tokens, location)
    if not index or tokens[index - 1].text != ")":
        return
    if not (_is_plain_literal(tokens[index]) or tokens[index].text == "["):
        return
    before = takewhile(lambda token: token.text not in (";", "{", "}"), reversed(tokens[:index]))
    if any(token.text in ("asm", "__asm__", "__asm") for token in before):
        yield Mend(location.file, location.line, location.column, tokens[index].text, f",{tokens[index].text}")


def _is_plain_literal(token: Token) -> bool:
    return token.text.startswith('"')


def _place(text: str, index: int) -> tuple[int, int]:
    """The line and the column of an index."""
    start = text.rfind("\n", 0, index) + 1
    return text.count("\n", 0, index) + 1, index - start + 1


def _offset(text: str, line: int, column: int) -> int:
    """The index of a place."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    end = text.find("\n", start)
    return min(start + column - 1, end if end >= 0 else len(text))


_Made = Callable[[str, ClangLocation], Iterator[Mend]]
_BY_TEXT: dict[str, _Made] = {
    _ESCAPE: _doubled_signs,
    _MISPLACED: _movable_alignment,
    _NO_COMMA: _with_comma,
    _NO_OPERAND: _without_operand,
    _NO_VALUE: _joined_signs,
    _SUFFIX: _behind_a_space,
}
_BY_BEGINNING: dict[str, _Made] = {
    **dict.fromkeys(_NO_TEMPLATE, _template_word),
    _QUALIFIED: _without_class,
    _REDEFINED: _without_typedef,
    _UNALIGNED: _without_alignment,
}


def _made_of(text: str) -> _Made | None:
    """What mends all errors of this text, or of this beginning."""
    return _BY_TEXT.get(text) or next((made for begin, made in _BY_BEGINNING.items() if text.startswith(begin)), None)
