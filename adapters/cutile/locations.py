"""The user's line of an operation, and cuTile's own errors as this package's."""

from __future__ import annotations

import functools
import linecache
from pathlib import Path
from typing import Any

from tle_raw.adapters.cutile.installed import load_cutile
from tle_raw.errors import CompilationFailed, SourceLocation


def location_of(location: Any) -> SourceLocation | None:
    """The innermost line that is not cuTile's own."""
    while location is not None:
        file = location.filename
        if file and not _is_cutiles(file):
            return SourceLocation(
                file, location.line, location.col + 1, linecache.getline(file, location.line).rstrip()
            )
        location = location.call_site
    return None


@functools.lru_cache(maxsize=256)  # every operation of a kernel asks, and most have one file
def _is_cutiles(file: str) -> bool:
    own = Path(str(load_cutile().__file__)).resolve().parent
    return str(Path(file).resolve()).startswith(str(own))


def refused(error: Exception) -> CompilationFailed:
    """What cuTile says of a function that it refuses."""
    message = str(getattr(error, "message", "") or error).strip()
    failed = CompilationFailed("cuTile refuses the function", log=f"{type(error).__name__}: {message}"[:4000])
    failed.at(source=location_of(getattr(error, "loc", None)))
    return failed
