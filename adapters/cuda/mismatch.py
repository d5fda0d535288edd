"""Explains, parameter by parameter, why the user's function does not take what the signature passes."""

from __future__ import annotations

import re
from itertools import zip_longest

from tle_raw.adapters.cpp.diagnostics import Diagnostic, tidy
from tle_raw.adapters.cpp.spelling import fits
from tle_raw.adapters.cuda.ports import CallArgument, ports
from tle_raw.adapters.cuda.symbol import Callee
from tle_raw.errors import Context, Row, SignatureMismatchError, SourceLocation
from tle_raw.fragments.bound import BoundSignature

NOTHING = "(nothing)"


def mismatch(
    bound: BoundSignature, callee: Callee, error: Diagnostic, location: SourceLocation
) -> SignatureMismatchError:
    """The error for a call that the compiler refused. Messages are read for the argument that they name."""
    notes = [error.text, *(note.text for note in error.notes)]
    table = [*_parameter_rows(bound, callee, _named_argument(notes, callee)), *_result_row(bound, error)]
    return SignatureMismatchError(
        f"the function `{callee.name}` does not fit the signature: {_reason(notes)}",
        table=table,
        hint=_hint(notes, bound, callee),
        log="\n".join(tidy(note.text) for note in error.notes if "substitution failure" not in note.text),
        context=Context(source=location),
    )


def _named_argument(notes: list[str], callee: Callee) -> int | None:
    """Index of the argument of which the compiler complains."""
    names = [parameter.name for parameter in callee.function.parameters] if callee.function else []
    for note in notes:
        by_name = re.search(r"passing argument to parameter '(\w+)'", note)
        if by_name and by_name[1] in names:
            return names.index(by_name[1])
        found = re.search(r"for (\d+)(?:st|nd|rd|th) argument", note)
        if found:
            return int(found[1]) - 1
    return None


def _parameter_rows(bound: BoundSignature, callee: Callee, wrong: int | None) -> list[Row]:
    parameters = callee.function.parameters if callee.function else None
    passed = ports(bound)
    if parameters is None:
        return [Row(port.what, port.expected, "?") for port in passed]
    rows = []
    for index, (port, parameter) in enumerate(zip_longest(passed, parameters)):
        if port is None:
            if not parameter.has_default:
                rows.append(Row(parameter.name or f"#{index + 1}", NOTHING, parameter.type))
        elif parameter is None:
            rows.append(Row(port.what, port.expected, NOTHING))
        else:
            rows.append(_row(port, parameter.type, index == wrong))
    return rows


def _row(port: CallArgument, written: str, is_wrong: bool) -> Row:
    """Only a wrong parameter's row shows a difference: `float*` is as good as a tle::tile."""
    accepted = fits(port.bound, written) if port.bound is not None else None
    if "." in port.what:  # one of a memref's numbers and pointers
        accepted = None
    return Row(port.what, port.expected if is_wrong or accepted is False else written, written)


def _result_row(bound: BoundSignature, error: Diagnostic) -> list[Row]:
    if bound.result is None:
        return []
    found = re.search(r"equal<(.*), ([^,<>]*)>", error.text)
    if found:
        return [Row("result", bound.result.cxx, found[1])]
    if "'void'" in error.text or "incomplete type" in error.text:
        return [Row("result", bound.result.cxx, "void")]
    return []


def _reason(notes: list[str]) -> str:
    if "the result has another type" in notes[0]:
        return "the result has another type"
    if "incomplete type 'void'" in notes[0]:
        return "it returns nothing"
    if "no viable conversion" in notes[0]:
        return tidy(notes[0])
    for note in notes:
        if "requires" in note and "argument" in note:
            return note[note.index("requires") :]
        if "no known conversion" in note:
            return tidy(note[note.index("no known conversion") :])
        if "candidate template ignored: " in note:
            return tidy(note.removeprefix("candidate template ignored: "))
    return tidy(notes[0])


def _hint(notes: list[str], bound: BoundSignature, callee: Callee) -> str:
    for note in notes:
        found = re.search(r"couldn't infer template argument '(\w+)'", note)
        if found:
            names = ", ".join(name for name, _ in bound.names) or "none"
            return (
                f"`{found[1]}` follows from no argument; template parameters are given by name, in order, "
                f"as long as the signature has the name (it has: {names})"
            )
    if callee.is_template and any("template" in note and "not viable" not in note for note in notes):
        return "a template parameter gets its value from the name in the signature that is spelled the same"
    return "change the function or the signature; `tle-raw prototype` prints the function that fits"
