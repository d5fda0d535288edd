"""The user's line of an operation, and cuTile's own errors as this package's."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

from tle_raw.adapters.cutile.installed import load_cutile
from tle_raw.errors import CompilationFailed, SourceLocation


def location_of(location: Any) -> SourceLocation | None:
    """The innermost line that is not cuTile's own."""
    own = str(Path(str(load_cutile().__file__)).resolve().parent)
    while location is not None:
        file = location.filename
        if file and not str(Path(file).resolve()).startswith(own):
            return SourceLocation(
                file, location.line, location.col + 1, linecache.getline(file, location.line).rstrip()
            )
        location = location.call_site
    return None


def refused(error: Exception) -> CompilationFailed:
    """What cuTile says of a function that it refuses."""
    message = str(getattr(error, "message", "") or error).strip()
    failed = CompilationFailed("cuTile refuses the function", log=f"{type(error).__name__}: {message}"[:4000])
    failed.at(source=location_of(getattr(error, "loc", None)))
    return failed
