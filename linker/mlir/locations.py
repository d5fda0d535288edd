"""Resolve MLIR's location aliases to the user's file, line and column."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from functools import cached_property

from tle_raw.errors import SourceLocation
from tle_raw.linker.mlir.text import unescape

_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_REFERENCE = re.compile(r"#loc\d*")
_DEEPEST = 32  # aliases of aliases; more is a cycle


class Locations:
    """The location aliases of one module's text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    @cached_property
    def _aliases(self) -> dict[str, str]:
        parts = (line.partition(" = loc(") for line in self._lines if line.startswith("#loc"))
        return {name: text.removesuffix(")") for name, is_alias, text in parts if is_alias}

    def source_location(self, location: str) -> SourceLocation:
        """The place of ``loc(...)`` as an operation carries it; of an inlined call, the line in the helper."""
        text = location.strip().removeprefix("loc(").removesuffix(")")
        for _ in range(_DEEPEST):
            found = _FILE.match(text)
            if found:
                return _location(found)
            reference = _REFERENCE.search(text)
            if not reference or reference[0] not in self._aliases:
                break
            text = self._aliases[reference[0]]
        return SourceLocation("<kernel>", 0)


def first_location(location: str) -> SourceLocation | None:
    """The first file that a location without aliases names, if it names one."""
    found = _FILE.search(location)
    return _location(found) if found else None


def _location(found: re.Match[str]) -> SourceLocation:
    file, line = unescape(f'"{found[1]}"'), int(found[2])
    return SourceLocation(file, line, int(found[3]), linecache.getline(file, line).rstrip())
