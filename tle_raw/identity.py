"""Digests of what code is made of: this package itself is part of every cache key."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path


def digest(*parts: object) -> str:
    """SHA-256 of parts, each with its length, so that no two lists of parts look alike."""
    state = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogateescape")
        state.update(f"{len(data)}:".encode())
        state.update(data)
    return state.hexdigest()


def entry_name(name: str, content: Iterable[str]) -> str:
    """A symbol that is the same for the same content only."""
    digest = hashlib.sha256()
    for part in content:
        data = part.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "little") + data)
    return f"tle_raw_{re.sub(r'[^0-9A-Za-z_]', '_', name)}_{digest.hexdigest()[:16]}"


@cache
def package_identity() -> str:
    """Digest of this package's own sources: an edited checkout counts as a new version."""
    files = {  # as texts: to make and to sort paths takes longer than to read the files
        os.path.join(folder, name)
        # in a checkout some of its folders are links
        for folder, _, names in os.walk(os.path.dirname(__file__), followlinks=True)
        for name in names
        if name.endswith((".py", ".h"))
    }
    return digest(*(part for file in sorted(files) for part in (os.path.basename(file), Path(file).read_bytes())))
