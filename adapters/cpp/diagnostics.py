"""Reads clang's messages into values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

_SEVERITY = r"(?P<severity>fatal error|error|warning|note)"
_MESSAGE = re.compile(rf"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): {_SEVERITY}: (?P<text>.*)$")
_DRIVER = re.compile(r"^[\w.+-]*(?:zig|clang)[\w.+-]*: (?P<severity>error|warning): (?P<text>.*)$")
_BARE = re.compile(rf"^{_SEVERITY}: (?P<text>.*)$")
_INCLUDED = re.compile(r"^(?:In file included|\s+) from (?P<file>.+):(?P<line>\d+)[:,]$")
_CRASH = ("PLEASE submit a bug report", "PLEASE ATTACH", "Stack dump:", "LLVM ERROR", "UNREACHABLE executed")


@dataclass(frozen=True)
class ClangLocation:
    """A place that clang names; lines and columns from 1, 0 where unknown."""

    file: str
    line: int
    column: int = 0


@dataclass(frozen=True)
class Diagnostic:
    """One message with the notes that explain it. ``location`` is None for the compiler driver's own."""

    severity: str
    text: str
    location: ClangLocation | None = None
    notes: tuple[Diagnostic, ...] = ()
    included_from: tuple[ClangLocation, ...] = ()

    @property
    def is_error(self) -> bool:
        """Whether it is an error, a fatal one too."""
        return self.severity.endswith("error")

    def lines(self) -> Iterator[str]:
        """The message as text, its notes below it."""
        at = f"{self.location.file}:{self.location.line}:{self.location.column}: " if self.location else ""
        yield f"{at}{self.severity}: {self.text}"
        for note in self.notes:
            yield from ("  " + line for line in note.lines())


def parse_diagnostics(log: str) -> tuple[Diagnostic, ...]:
    """The messages of a compiler's log, in order; notes belong to the message before them."""
    found: list[Diagnostic] = []
    included: list[ClangLocation] = []
    for line in log.splitlines():
        from_file = _INCLUDED.match(line)
        if from_file:
            included.append(ClangLocation(from_file["file"], int(from_file["line"])))
            continue
        diagnostic = _diagnostic(line, tuple(included))
        if diagnostic is None:
            continue
        included = []
        if diagnostic.severity == "note" and found:
            found[-1] = replace(found[-1], notes=(*found[-1].notes, diagnostic))
        else:
            found.append(diagnostic)
    return tuple(found)


def _diagnostic(line: str, included: tuple[ClangLocation, ...]) -> Diagnostic | None:
    match = _MESSAGE.match(line)
    if match:
        location = ClangLocation(match["file"], int(match["line"]), int(match["column"]))
        return Diagnostic(match["severity"], match["text"], location, (), included)
    match = _BARE.match(line) or _DRIVER.match(line)
    return Diagnostic(match["severity"], match["text"]) if match else None


def in_characters(told: Diagnostic, text_of: Callable[[str], str | None]) -> Diagnostic:
    """The message with columns that count characters, as tokens do: clang counts bytes.

    ``text_of`` is the text of a file, as the compiler read it, or None: places there stay as they are.
    """

    def place(location: ClangLocation | None) -> ClangLocation | None:
        text = text_of(location.file) if location and location.column else None
        if location is None or text is None or text.isascii():
            return location
        line = "".join(text.split("\n")[location.line - 1 : location.line])
        return replace(location, column=column_in_characters(line, location.column))

    notes = tuple(in_characters(note, text_of) for note in told.notes)
    return replace(told, location=place(told.location), notes=notes)


def column_in_characters(line: str, column: int) -> int:
    """The column of a line that clang's, which counts bytes, is; 0 where unknown."""
    before = line.encode("utf-8", "replace")[: max(column - 1, 0)].decode("utf-8", "ignore")
    return len(before) + 1 if column else 0


def crashed(returncode: int | None, log: str) -> bool:
    """True when the compiler died instead of refusing."""
    if returncode is None or returncode < 0 or returncode >= 128:
        return True
    return any(sign in log for sign in _CRASH)


def tidy(text: str) -> str:
    """Take the wrapper's own types and long namespaces out of a message."""
    text = re.sub(r"(?:tle::detail::)?(?:value|element)_argument<([^<>]*)>", r"\1", text)
    text = re.sub(r"(?:tle::detail::)?pointer_argument<([^<>]*)>", r"\1*", text)
    text = re.sub(r"(?:tle::detail::)?tile_argument<([^<>]*)>", r"tle::tile<\1>", text)
    text = text.replace("cuda::std::__4::", "cuda::std::")
    return re.sub(r"\s*\[-W[\w+=-]+\]$", "", text) if len(text) < 600 else text[:600] + " ..."


def first_location(diagnostic: Diagnostic, accept: Callable[[ClangLocation], bool]) -> ClangLocation | None:
    """The first place, from the inside to the outside, that ``accept`` takes."""
    places = [diagnostic.location, *(note.location for note in diagnostic.notes), *diagnostic.included_from]
    return next((place for place in places if place and accept(place)), None)
