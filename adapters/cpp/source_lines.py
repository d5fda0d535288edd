"""Where the lines of a translation unit come from: what ``#line`` says of generated text, and of the user's."""

from __future__ import annotations

from tle_raw.errors import SourceLocation
from tle_raw.fragments.source_text import location_of_text

# Diagnostics in generated lines carry this file name.
LABEL = "<tle_raw wrapper>"


def line_directive(number: int, file: str) -> str:
    """``#line 12 "file"``; a line before the first becomes the first."""
    escaped = file.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'#line {max(number, 1)} "{escaped}"'


def at_its_line(text: str, location: SourceLocation) -> str:
    """The text behind the number of the line where it stands in the Python file."""
    found = location_of_text(text, location) if text.strip() else location
    return f"{line_directive(found.line, found.file)}\n{text}\n"
