"""Refuses a function that would take a default for what the signature gives a value."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.adapters.cuda.ports import ports
from tle_raw.adapters.cuda.symbol import Callee, location_of
from tle_raw.adapters.cuda.wrapper import deduced_names
from tle_raw.errors import Context, Row, SignatureMismatchError
from tle_raw.fragments.bound import CONST, BoundSignature

HINT = (
    "arguments are passed in order, and a Const is the macro TLE_{0} or a template parameter; those are given by name, "
    "in order, as long as the signature has the name: take the default away, or put what has the value first"
)


def refuse_defaults(bound: BoundSignature, callee: Callee) -> None:
    """C++ fills what a call does not pass; the value of the same name in the signature would be lost without a word.

    Raises
    ------
    SignatureMismatchError : a parameter, or a template parameter, with a default and a name of the signature's.
    """
    if callee.function is None:
        return
    known = dict(bound.names) | {p.name: p.value if p.kind == CONST else p for p in bound.parameters}
    lost = [(name, default) for name, default in _defaulted(bound, callee) if name in known]
    if lost:
        raise SignatureMismatchError(
            f"the function `{callee.name}` does not fit the signature: its `{lost[0][0]}` would be the default",
            table=[Row(name, str(known[name]), default) for name, default in lost],
            hint=HINT.format(lost[0][0]),
            context=Context(source=location_of(callee.function)),
        )


def _defaulted(bound: BoundSignature, callee: Callee) -> Iterator[tuple[str, str]]:
    """Names of the function's own that get their default in this call."""
    assert callee.function is not None
    for parameter in () if callee.is_kernel else callee.function.parameters[len(ports(bound)) :]:
        if parameter.has_default:
            yield parameter.name, "the default"
    words = frozenset[str]().union(*(parameter.words for parameter in callee.function.parameters))
    for template in callee.function.template or ():
        if template.default and template.name in deduced_names(bound, callee) - words:
            yield template.name, f"the default, {template.default}"
