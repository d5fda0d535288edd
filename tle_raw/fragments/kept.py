"""The cache on disk that the settings name."""

from __future__ import annotations

import os
from pathlib import Path

from tle_raw.knobs import knobs
from tle_raw.store import FRAGMENTS, Store


def kept(kind: str = FRAGMENTS) -> Store:
    """What is kept of one kind, whether or not something may be read from there or written there now."""
    return Store(Path(os.path.expanduser(knobs.cache.dir)), kind)


def kept_if_wanted(kind: str = FRAGMENTS) -> Store | None:
    """The same, or None where the cache is switched off."""
    return kept(kind) if knobs.cache.enabled else None
