"""Digests of what code is made of: this package itself is part of every cache key."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache

from tle_raw.kept_identity import keep_identity, kept_identity, read_all
from tle_raw.source_files import read_digest, recorded_digests, source_files


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


def identity_of(files: Iterable[str]) -> str:
    """Digest of some files of this package, by their paths within it: for what is made by them alone."""
    package = os.path.dirname(__file__)
    return _identity({file: read_digest(os.path.join(package, file))[0] for file in files})


def sources_identity(folder: str) -> str:
    """Digest of the sources in a package's folder, the same for a checkout and for what was installed from it.

    What was installed has its files' digests in the ``RECORD`` of its wheel. They are taken where no file is newer than
    that, or missing, or more. Of a checkout it is kept; to read the files takes a new process three times as long.
    """
    found = source_files(folder)
    digests = recorded_digests(folder, found)
    if digests:
        return _identity(digests)
    kept = kept_identity(folder, found)
    if kept is not None:
        return kept
    digests, may_be_kept = read_all(folder, found)
    identity = _identity(digests)
    if may_be_kept:
        keep_identity(folder, found, identity)
    return identity


def _identity(digests: Mapping[str, str]) -> str:
    return digest("\0".join(f"{path}\0{digests[path]}" for path in sorted(digests)))
