"""Digests of what code is made of: this package itself is part of every cache key."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_RECORDED = "sha256="


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
    return sources_identity(os.path.dirname(__file__))


def sources_identity(folder: str) -> str:
    """Digest of the sources in a package's folder, the same for a checkout and for what was installed from it.

    What was installed has its files' digests in the ``RECORD`` of its wheel. They are taken where no file is newer than
    that, or missing, or more: to read the files takes a new process 60 ms.
    """
    found = _sources(folder)
    digests = _recorded(folder, found) or {path: _encoded(Path(folder, path).read_bytes()) for path in found}
    return digest(*(part for path in sorted(digests) for part in (path, digests[path])))


def _sources(folder: str) -> dict[str, os.stat_result]:
    """The sources by their paths in the folder. In a checkout some of its folders are links."""
    found, left = dict[str, os.stat_result](), [""]
    while left:
        within = left.pop()
        with os.scandir(os.path.join(folder, within)) as entries:
            for entry in entries:
                path = f"{within}/{entry.name}" if within else entry.name
                if entry.name.endswith((".py", ".h")):
                    found[path] = entry.stat()
                elif entry.is_dir() and entry.name != "__pycache__":
                    left.append(path)
    return found


def _recorded(folder: str, found: Mapping[str, os.stat_result]) -> dict[str, str]:
    """The sources' digests as the wheel's record has them; empty where that does not say what is there."""
    name = os.path.basename(folder)
    records = [*Path(folder).parent.glob(f"{name}-*.dist-info/RECORD")]
    if len(records) != 1:
        return {}
    text, written = records[0].read_text(encoding="utf-8"), records[0].stat().st_mtime_ns
    digests = dict[str, str]()
    for line in text.splitlines():
        path, recorded, size = [*line.rsplit(",", 2), "", ""][:3]
        within = path.removeprefix(f"{name}/")
        if within != path and within in found and recorded.startswith(_RECORDED):
            if found[within].st_mtime_ns > written or size != str(found[within].st_size):
                return {}
            digests[within] = recorded.removeprefix(_RECORDED)
    return digests if len(digests) == len(found) else {}


def _encoded(content: bytes) -> str:
    """A file's digest as records have it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
