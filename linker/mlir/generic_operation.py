"""One operation on one line of MLIR's generic form: read and written, with nothing known of its dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tle_raw.errors import RegionError
from tle_raw.linker.mlir.text import matching_bracket, split_top_level

HEAD = re.compile(r'^(?P<indent>\s*)(?:(?P<results>%[^=]*?) = )?"(?P<name>[\w.]+)"\(')


@dataclass(frozen=True)
class GenericOperation:
    """``%r = "name"(%a, %b) <{properties}> {attributes} : (types) -> types loc(...)``.

    Attributes
    ----------
    results : the SSA names as they are written on the left, ``%3`` or ``%3:2``; "" for none.
    properties, attributes : the texts within their braces.
    types, result_types : one for each operand and result.
    """

    name: str
    operands: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    result_types: tuple[str, ...] = ()
    results: str = ""
    properties: str = ""
    attributes: str = ""
    indent: str = ""
    location: str = ""

    def property(self, name: str) -> str:
        """The text of a property's value; "" where there is none of that name."""
        return _entries(self.properties).get(name, "")

    def attribute(self, name: str) -> str:
        """The text of a discardable attribute's value, ``unit`` of one without; "" where there is none."""
        return _entries(self.attributes).get(name, "")

    def without_attribute(self, name: str) -> GenericOperation:
        """Without a discardable attribute."""
        kept = [entry for entry in split_top_level(self.attributes) if entry.split("=")[0].strip() != name]
        return replace(self, attributes=", ".join(entry.strip() for entry in kept))

    def __str__(self) -> str:
        left = f"{self.results} = " if self.results else ""
        inside = f" <{{{self.properties}}}>" if self.properties else ""
        beside = f" {{{self.attributes}}}" if self.attributes else ""
        out = self.result_types[0] if len(self.result_types) == 1 else f"({', '.join(self.result_types)})"
        types = f"({', '.join(self.types)}) -> {out}"
        operands = ", ".join(self.operands)
        return f'{self.indent}{left}"{self.name}"({operands}){inside}{beside} : {types}{self.location}'


def generic_name(line: str) -> str:
    """The name of the operation that a line of generic form begins with; "" where it begins with none."""
    match = HEAD.match(line)
    return match["name"] if match else ""


def read_generic(line: str) -> GenericOperation:
    """Parse a line that holds a whole operation without regions.

    Raises
    ------
    RegionError : the line is not of the form that this release knows.
    """
    try:
        return _read(line)
    except (ValueError, IndexError) as error:
        raise RegionError(
            "an operation is printed in a form that this release of tle_raw does not know",
            log=line.strip()[:400],
            hint="report this with the Triton version; `tle-raw doctor` shows the tested range",
        ) from error


def _read(line: str) -> GenericOperation:
    match = HEAD.match(line)
    if not match:
        raise ValueError(line)
    operands, rest = _within(line[match.end() - 1 :])
    properties = attributes = ""
    if rest.startswith("<{"):
        properties, rest = _within(rest[1:])
        rest = rest.removeprefix(">").lstrip()
    if rest.startswith("{"):
        attributes, rest = _within(rest)
    if not rest.startswith(": ("):
        raise ValueError(line)
    types, rest = _within(rest[2:])
    if not rest.startswith("-> "):
        raise ValueError(line)
    rest = rest[3:]
    if rest.startswith("("):
        results, rest = _within(rest)
        location = f" {rest}" if rest else ""
    else:
        start = rest.find(" loc(")
        results, location = (rest, "") if start < 0 else (rest[:start], rest[start:])
    return GenericOperation(
        match["name"],
        _parts(operands),
        _parts(types),
        _parts(results),
        match["results"] or "",
        properties,
        attributes,
        match["indent"],
        location,
    )


def _within(text: str) -> tuple[str, str]:
    """What stands in the bracket that a text begins with, and what follows it."""
    end = matching_bracket(text, 0)
    return text[1:end], text[end + 1 :].lstrip()


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in split_top_level(text))


def _entries(text: str) -> dict[str, str]:
    entries = (part.partition("=") for part in split_top_level(text))
    return {name.strip(): value.strip() or "unit" for name, _, value in entries}
