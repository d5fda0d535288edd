"""What this package itself is: part of every cache key, so that a new version never reuses old code."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


def digest(*parts: object) -> str:
    """SHA-256 of parts, each with its length, so that no two lists of parts look alike."""
    state = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        state.update(f"{len(data)}:".encode())
        state.update(data)
    return state.hexdigest()


@cache
def package_identity() -> str:
    """Digest of this package's own sources: an edited checkout counts as a new version."""
    import tle_raw.adapters
    import tle_raw.frontends
    import tle_raw.linker

    folders = [Path(__file__).parent]
    folders += [Path(p.__path__[0]) for p in (tle_raw.adapters, tle_raw.frontends, tle_raw.linker)]
    # Inside an installed wheel the three stand below the first: a file is counted once.
    files = {f for folder in folders for pattern in ("*.py", "*.h") for f in folder.rglob(pattern)}
    return digest(*(part for f in sorted(files) for part in (f.name, f.read_bytes())))
