"""Explains, parameter by parameter, why a function does not take what the signature passes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from tle_raw.adapters.common.device_llvm.callee import Callee
from tle_raw.adapters.common.device_llvm.forms import Layout, layouts
from tle_raw.errors import Context, Row, SignatureMismatchError
from tle_raw.fragments.bound import TILE, BoundParameter, BoundSignature

NOTHING = "(nothing)"


def mismatch(bound: BoundSignature, callee: Callee) -> SignatureMismatchError:
    """The error for a function that fits in no form. It is held against the form that comes nearest."""
    tables = [_rows(layout, callee) for layout in layouts(bound)]
    table = min(tables, key=lambda rows: (sum(row.differs for row in rows), len(rows)))
    return SignatureMismatchError(
        f"the function `{callee.symbol}` does not fit the signature: {_reason(table)}",
        table=table,
        hint=_hint(table, bound),
        context=Context(source=callee.location),
    )


def ambiguous(layout: Layout, absent: BoundParameter, callee: Callee, names: Sequence[str]) -> SignatureMismatchError:
    """The error for a function that fits only without a parameter which one of its own may be."""
    rows = [
        Row(argument.what, f"{written} %{argument.what}", f"{written} %{name}" if name else f"{written} without a name")
        for argument, written, name in zip(layout.arguments, callee.type.parameters, names, strict=True)
    ]
    return SignatureMismatchError(
        f"the function `{callee.symbol}` does not fit the signature: it fits without `{absent.name}`, "
        f"which one of its parameters may be",
        table=[*rows, Row(absent.name, "the same integer as a parameter", NOTHING)],
        hint=f"let it take every parameter, the constant `{absent.name}` too; or name its parameters as the signature "
        "does; or take the constant out of the signature",
        context=Context(source=callee.location),
    )


def _rows(layout: Layout, callee: Callee) -> list[Row]:
    rows = []
    for index, (argument, written) in enumerate(zip_longest(layout.arguments, callee.type.parameters)):
        if argument is None:
            rows.append(Row(f"#{index + 1}", NOTHING, written))
        else:
            rows.append(_row(argument.what, argument.accepted, written or NOTHING))
    return [*rows, _row("result", layout.results, callee.type.result)]


def _row(what: str, accepted: Sequence[str], written: str) -> Row:
    """Only a wrong type shows a difference: `ptr` is as good as `ptr addrspace(3)`."""
    return Row(what, written if written in accepted else " or ".join(accepted) or "an integer that holds it", written)


def _reason(table: Sequence[Row]) -> str:
    wrong = [row for row in table if row.differs]
    if any(NOTHING in (row.expected, row.got) for row in wrong):
        passed = sum(row.expected != NOTHING for row in table[:-1])
        taken = sum(row.got != NOTHING for row in table[:-1])
        return f"it takes {taken} parameter{'s' * (taken != 1)}, and {passed} {'are' if passed != 1 else 'is'} passed"
    return "the result has another type" if wrong[0].what == "result" else f"`{wrong[0].what}` has another type"


def _hint(table: Sequence[Row], bound: BoundSignature) -> str:
    if any(NOTHING in (row.expected, row.got) for row in table) and any(p.kind == TILE for p in bound.parameters):
        return "a tile is one pointer, or a memref descriptor of 3 + 2 * rank parameters"
    return "change the function or the signature; `tle-raw prototype` prints the function that fits"
