"""A table of a TOML file that is read key by key: what is wrong with one names file, line and key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tle_raw.errors import Context, ManifestError, Row, SourceLocation
from tle_raw.libraries.packing.toml_lines import Path as KeyPath
from tle_raw.near_names import did_you_mean

Kind = TypeVar("Kind")
_WORDS = {str: "a text", int: "an integer", list: "a list", dict: "a table", bool: "true or false", float: "a number"}


@dataclass(frozen=True)
class Document:
    """A file, its lines, and where its keys stand."""

    file: Path
    text: str
    lines: Mapping[KeyPath, int]

    def location(self, path: KeyPath) -> SourceLocation:
        """The line of a key, or of the nearest table around it."""
        while path and path not in self.lines:
            path = path[:-1]
        line = self.lines.get(path, 1)
        lines = self.text.splitlines()
        return SourceLocation(str(self.file), line, 0, lines[line - 1] if line <= len(lines) else "")


@dataclass(frozen=True)
class Table:
    """One table of it, at ``path``. Functions and overloads are counted from 1 in messages."""

    document: Document
    path: KeyPath
    values: Mapping[str, Any]

    def error(self, key: str, expected: str, got: str, hint: str = "", message: str = "") -> ManifestError:
        """What is wrong with one key."""
        path = (*self.path, *key.split(".")) if key else self.path
        place = self.document.location(path)
        shown = shown_key(path)
        what = message or f"`{shown}` is {expected}"
        return ManifestError(
            f"{place}: {what}",
            table=[Row(shown or "manifest", expected, got)],
            hint=hint,
            context=Context(source=place),
        )

    def check_keys(self, known: Collection[str]) -> None:
        """No other keys.

        Raises
        ------
        ManifestError : there is one.
        """
        for key in self.values:
            if key not in known:
                raise self.error(
                    key,
                    "one of " + ", ".join(known),
                    key,
                    hint=did_you_mean(key, known, quote="`"),
                    message=f"there is no key `{shown_key((*self.path, key))}`",
                )

    def get(self, key: str, kind: type[Kind]) -> Kind | None:
        """The value of a key, or None.

        Raises
        ------
        ManifestError : it is of another kind.
        """
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(key, _WORDS[kind], f"{_word(value)}: {value!r}")
        return value

    def need(self, key: str, kind: type[Kind]) -> Kind:
        """The value of a key that there must be."""
        value = self.get(key, kind)
        if value is None:
            raise self.error(key, _WORDS[kind], "nothing", message=f"`{shown_key((*self.path, key))}` is missing")
        return value

    def texts(self, key: str) -> list[str] | None:
        """A list of texts, or None."""
        items = self.get(key, list)
        for number, item in enumerate(items or ()):
            if not isinstance(item, str):
                raise self.error(f"{key}.{number}", "a text", f"{_word(item)}: {item!r}")
        return items

    def table(self, key: str) -> Table | None:
        """The table below a key, or None."""
        value = self.get(key, dict)
        return None if value is None else Table(self.document, (*self.path, key), value)

    def tables(self, key: str) -> Iterator[Table]:
        """The tables of a list."""
        for number, item in enumerate(self.get(key, list) or ()):
            if not isinstance(item, dict):
                raise self.error(key, "tables", f"{_word(item)}: {item!r}", hint=f"write [[{key}]]")
            yield Table(self.document, (*self.path, key, number), item)


def shown_key(path: KeyPath) -> str:
    """``function[2].signature``."""
    text = ""
    for part in path:
        is_number = isinstance(part, int) or part.isdecimal()
        text += f"[{int(part) + 1}]" if is_number else f".{part}" if text else str(part)
    return text


def _word(value: object) -> str:
    return next((word for kind, word in _WORDS.items() if type(value) is kind), type(value).__name__)
