"""Places in the user's LLVM IR, and the reader whose refusals name them."""

from __future__ import annotations

import re

from tle_raw.errors import CompilationFailed, Context, SourceLocation
from tle_raw.linker.llvm.text import Module, UnreadableIRError, line_of, read_module

# Of LLVM's parser, as llvmlite and clang print it.
_DIAGNOSTIC = re.compile(r"^(?:<[^>]*>|[^\s:]+):(\d+):(\d+): error: (.*)", re.MULTILINE)


def location_in(text: str, start: SourceLocation, line: int, column: int = 0) -> SourceLocation:
    """A line of ``text``, whose first line stands at ``start``. Bitcode has no lines: ``start.line`` is 0."""
    if not start.line:
        return start
    lines = text.splitlines()
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    return SourceLocation(start.file, start.line + line - 1, column, shown.replace("\t", " "))


def location_at(text: str, start: SourceLocation, position: int) -> SourceLocation:
    """The line of a position in ``text``."""
    return location_in(text, start, line_of(text, position))


def read(text: str, start: SourceLocation) -> Module:
    """The module's entities.

    Raises
    ------
    CompilationFailed : the text is no LLVM IR that is understood, at the user's line.
    """
    try:
        return read_module(text)
    except UnreadableIRError as error:
        raise unreadable(text, start, error) from None


def unreadable(text: str, start: SourceLocation, error: UnreadableIRError) -> CompilationFailed:
    """The linker's refusal of ``text``, at the user's line."""
    found = error.context.source
    location = location_in(text, start, found.line, found.column) if found else start
    what = re.sub(r"^cannot read the LLVM IR at line \d+: ", "", error.message)
    return CompilationFailed(f"the LLVM IR cannot be read: {what}", hint=error.hint, context=Context(source=location))


def refusal(text: str, start: SourceLocation, said: str) -> CompilationFailed:
    """The error for what LLVM's parser or verifier said."""
    found = _DIAGNOSTIC.search(said)
    if found is None:
        return CompilationFailed("LLVM refused the code", log=_tail(said), context=Context(source=start))
    location = location_in(text, start, int(found[1]), int(found[2]))
    return CompilationFailed(f"LLVM refused the code: {found[3]}", context=Context(source=location))


def _tail(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return "\n".join(line[:300] for line in lines[-20:])
