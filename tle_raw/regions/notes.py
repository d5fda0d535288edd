"""What a dialect wants said of a region that it traces: hints that were dropped, results that differ in a last bit."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager

_notes: contextvars.ContextVar[dict[str, None] | None] = contextvars.ContextVar("notes", default=None)


def note(text: str) -> None:
    """Put a line into the report of the kernel that is being traced, once for each region."""
    found = _notes.get()
    if found is not None:
        found[text] = None


@contextmanager
def collected() -> Iterator[dict[str, None]]:
    """The notes that are made inside, in order."""
    notes: dict[str, None] = {}
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)
