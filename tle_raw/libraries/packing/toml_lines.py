"""Where each key of a TOML text stands: ``tomllib`` says what a text holds, not where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_SKIPPED = re.compile(r"[ \t\r]+|#[^\n]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r"\"\"\"(?:\\[\s\S]|(?!\"\"\")[\s\S])*\"{3,5}|'''[\s\S]*?'{3,5}|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'"
)
_PLAIN = re.compile(r"[^\s,\[\]{}#]+(?: [0-9][^\s,\[\]{}#]*)?")  # a number, a bool, a date


def key_lines(text: str) -> dict[Path, int]:
    """The line of each key and table by its path: ``("function", 2, "doc")``. The text is one that ``tomllib`` reads."""
    reader = _Reader(text)
    reader.read()
    return reader.found


@dataclass
class _Reader:
    text: str
    at: int = 0
    found: dict[Path, int] = field(default_factory=dict)
    counts: dict[Path, int] = field(default_factory=dict)  # of the tables of an array

    def read(self) -> None:
        table: Path = ()
        while self._next(newlines=True):
            if self.text.startswith("[[", self.at):
                table = self._header(2)
                self.counts[table] = self.counts.get(table, -1) + 1
                table = (*table, self.counts[table])
                self._note(table)
            elif self.text[self.at] == "[":
                table = self._header(1)
                self._note(table)
            else:
                self._pair(table)

    def _header(self, brackets: int) -> Path:
        self.at += brackets
        keys = tuple(self._keys())
        self.at += brackets
        path: Path = ()
        for key in keys[:-1]:  # tables below the last one of an array
            path = (*path, key)
            path = (*path, self.counts[path]) if path in self.counts else path
        return (*path, keys[-1])

    def _pair(self, table: Path) -> None:
        start = self.at
        path = (*table, *self._keys())
        for end in range(len(table) + 1, len(path) + 1):
            self.found.setdefault(path[:end], self._line(start))
        self.at += 1  # the =
        self._next()
        self._value(path)

    def _value(self, path: Path) -> None:
        string = _STRING.match(self.text, self.at)
        if string:
            self.at = string.end()
        elif self.text[self.at] == "[":
            self._items(path)
        elif self.text[self.at] == "{":
            self.at += 1
            while self._next(newlines=True) and self.text[self.at] != "}":
                self._pair(path)
                self._comma()
            self.at += 1
        else:
            plain = _PLAIN.match(self.text, self.at)
            self.at = plain.end() if plain else self.at + 1

    def _items(self, path: Path) -> None:
        self.at += 1
        number = 0
        while self._next(newlines=True) and self.text[self.at] != "]":
            self._note((*path, number))
            self._value((*path, number))
            self._comma()
            number += 1
        self.at += 1

    def _comma(self) -> None:
        if self._next(newlines=True) and self.text[self.at] == ",":
            self.at += 1

    def _keys(self) -> Iterator[str]:
        while True:
            self._next()
            match = _BARE.match(self.text, self.at) or _STRING.match(self.text, self.at)
            if match is None:
                return
            self.at = match.end()
            yield match[0].strip("\"'")
            self._next()
            if self.text[self.at] != ".":
                return
            self.at += 1

    def _next(self, newlines: bool = False) -> bool:
        """Go to the next character that says something; False at the end."""
        while self.at < len(self.text):
            skipped = _SKIPPED.match(self.text, self.at)
            if skipped:
                self.at = skipped.end()
            elif newlines and self.text[self.at] == "\n":
                self.at += 1
            else:
                return True
        return False

    def _note(self, path: Path) -> None:
        self.found[path] = self._line(self.at)

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1
