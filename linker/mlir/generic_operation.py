"""One operation on one line of MLIR's generic form: read and written, with nothing known of its dialect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from tle_raw.errors import RegionError
from tle_raw.linker.mlir.text import matching_bracket, split_top_level

HEAD = re.compile(r'^(?P<indent>\s*)(?:(?P<results>%[^=]*) = )?"(?P<name>[\w.]+)"\(')

_OPERAND = re.compile(r"%[\w$.\-]+(?:#\d+)?")


class GenericOperation(NamedTuple):
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

    def without_attribute(self, *names: str) -> GenericOperation:
        """Without discardable attributes."""
        kept = [entry for entry in split_top_level(self.attributes) if entry.split("=")[0].strip() not in names]
        return self._replace(attributes=", ".join(entry.strip() for entry in kept))

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


def ends(line: str) -> tuple[str, str]:
    """The results of an operation and its first operand, without a look at the rest of its line.

    Raises
    ------
    RegionError : the line is not of the form that this release knows.
    """
    head = HEAD.match(line)
    operand = _OPERAND.match(line, head.end()) if head else None
    if head and operand:
        return head["results"], operand[0]
    read = read_generic(line)
    return read.results, read.operands[0]


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
    indent, left, name = match.groups()
    operands, properties, attributes, types, rest = _plain_parts(line, match.end()) or _nested_parts(line, match.end())
    if rest.startswith("("):
        results, rest = _within(rest)
        location = f" {rest}" if rest else ""
    else:
        start = rest.find(" loc(")
        results, location = (rest, "") if start < 0 else (rest[:start], rest[start:])
    return GenericOperation(
        name, _parts(operands), _parts(types), _parts(results), left or "", properties, attributes, indent, location
    )


def _plain_parts(line: str, start: int) -> tuple[str, str, str, str, str] | None:
    """Operands, properties, attributes, types, and what stands behind the arrow; None where they may hold each other.

    Most operations have no strings, and properties or attributes: then the ends can be found without counting brackets.
    """
    end, colon = line.find(")", start), line.find(" : (", start)
    close = line.find(") -> ", colon)
    if not start <= end < colon < close or '"' in line[end:colon] or "(" in line[colon + 4 : close]:
        return None
    operands, types, rest = line[start:end], line[colon + 4 : close], line[close + 5 :]
    between = line[end + 1 : colon]
    if not between:
        return operands, "", "", types, rest
    if " {" in between[1:]:
        properties, both, attributes = between[:-1].partition("}> {")
        is_plain = both and properties.startswith(" <{") and "{" not in attributes and between.endswith("}")
        return (operands, properties[3:], attributes, types, rest) if is_plain and " {" not in properties else None
    if between.startswith(" <{") and between.endswith("}>"):
        return operands, between[3:-2], "", types, rest
    if between.startswith(" {") and between.endswith("}"):
        return operands, "", between[2:-1], types, rest
    return None


def _nested_parts(line: str, start: int) -> tuple[str, str, str, str, str]:
    operands, rest = _within(line[start - 1 :])
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
    return operands, properties, attributes, types, rest[3:]


def _within(text: str) -> tuple[str, str]:
    """What stands in the bracket that a text begins with, and what follows it."""
    end = matching_bracket(text, 0)
    return text[1:end], text[end + 1 :].lstrip()


@lru_cache(maxsize=256)  # operations of a kernel have few types
def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in split_top_level(text))


@lru_cache(maxsize=8)  # more than one entry is asked for
def _entries(text: str) -> Mapping[str, str]:
    entries = (part.partition("=") for part in split_top_level(text))
    return {name.strip(): value.strip() or "unit" for name, _, value in entries}
