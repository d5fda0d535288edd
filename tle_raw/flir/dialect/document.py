"""The documentation of the TLE dialect, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tle_raw.flir.dialect.definitions import NAME, OPERATIONS, SUMMARY, TRAITS, Definition, Slot


def document() -> str:
    """One section for each operation."""
    return "\n".join(
        [f"# The `{NAME}` dialect", "", SUMMARY.strip(), *(line for d in OPERATIONS for line in _section(d))]
    )


def _section(definition: Definition) -> Iterator[str]:
    yield from ("", f"## `{definition.full_name}`: {definition.summary}", "", definition.description)
    yield from ("", "```mlir", definition.example.strip(), "```")
    rows = [*_slots("operand", definition.operands), *_slots("result", definition.results)]
    for attribute in definition.attributes:
        kind = f"{attribute.kind}, optional" if attribute.optional else attribute.kind
        rows.append(("attribute", attribute.name, kind, attribute.doc))
    if rows:
        yield from ("", "| | name | type | |", "|---|---|---|---|")
        yield from (f"| {what} | `{name}` | {kind} | {doc} |" for what, name, kind, doc in rows)
    if definition.region:
        yield from ("", f"Region: {definition.region}.")
    if definition.traits:
        yield from ("", f"Traits: {'; '.join(f'`{t}` ({TRAITS[t]})' for t in definition.traits)}.")


def _slots(what: str, slots: Sequence[Slot]) -> Iterator[tuple[str, str, str, str]]:
    for slot in slots:
        yield what, slot.name, f"{slot.type.doc}, any number" if slot.variadic else slot.type.doc, slot.doc
