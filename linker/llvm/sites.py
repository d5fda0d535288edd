"""Lines of the user's source, numbered: what a failing region tells of where it stood."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from tle_raw.errors import SourceLocation
from tle_raw.linker.llvm.text import Module

_FIELD = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|([^,()]+))')


@dataclass(frozen=True)
class _Node:
    kind: str
    fields: dict[str, str]


class Sites:
    """Numbers for places. Number 0 is the fragment itself, for instructions without a line.

    ``is_users`` says of a file whether its lines are the user's: of a function from a header that was inlined, the
    innermost such line counts.
    """

    def __init__(self, module: Module, fragment: SourceLocation, is_users: Callable[[str], bool]) -> None:
        self._nodes = {e.name: module.source(e) for e in module.of_kind("metadata")}
        self._is_users = functools.cache(is_users)  # each place of a function asks for the same few files
        self._read: dict[str, _Node | None] = {}
        self._numbers: dict[tuple[SourceLocation, str], int] = {(fragment, ""): 0}

    @property
    def locations(self) -> list[SourceLocation]:
        """The source locations by their numbers."""
        return [location for location, _ in self._numbers]

    def number(self, location: str) -> int:
        """The number of ``!12``. Two calls of one line of a helper that stand in two places have two numbers."""
        chain = self.chain(location)
        source_location = next((p for p in chain if self._is_users(p.file)), None)
        if source_location is None:
            return 0
        return self._numbers.setdefault((source_location, " ".join(map(str, chain))), len(self._numbers))

    def source_location(self, location: str) -> SourceLocation | None:
        """The user's line of ``!12``."""
        return next(
            (source_location for source_location in self.chain(location) if self._is_users(source_location.file)), None
        )

    def chain(self, location: str) -> list[SourceLocation]:
        """The places of a location, from the inside to the outside."""
        found = []
        while location:
            node = self._node(location)
            if node is None or node.kind != "DILocation":
                break
            fields = node.fields
            found.append(
                SourceLocation(
                    self._file(fields.get("scope", "")), _integer(fields, "line"), _integer(fields, "column")
                )
            )
            location = fields.get("inlinedAt", "")
        return found

    def _node(self, name: str) -> _Node | None:
        if name not in self._read:
            self._read[name] = self._read_node(name)
        return self._read[name]

    def _read_node(self, name: str) -> _Node | None:
        source = self._nodes.get(name.strip().lstrip("!"))
        match = re.search(r"!(DI\w+)\(", source or "")
        if source is None or match is None:
            return None
        fields = {m[1]: m[2] if m[2] is not None else m[3].strip() for m in _FIELD.finditer(source, match.end())}
        return _Node(match[1], fields)

    def _file(self, scope: str) -> str:
        while scope:
            node = self._node(scope)
            if node is None:
                return ""
            if node.kind == "DIFile":
                return _decoded(node.fields.get("filename", ""))
            scope = node.fields.get("file", "") or node.fields.get("scope", "")
        return ""


def _integer(fields: dict[str, str], name: str) -> int:
    text = fields.get(name, "0")
    return int(text) if text.isdecimal() else 0


def _decoded(text: str) -> str:
    plain = re.sub(r"\\([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), text)
    return plain.encode("latin-1", "replace").decode("utf-8", "replace")
