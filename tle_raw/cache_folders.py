"""Folders for files that are made once and used again, beside the store of compiled fragments."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folders(name: str) -> tuple[Path, ...]:
    """A folder in the cache, then one under the temporary folder for caches that cannot be written."""
    from tle_raw.knobs import knobs

    owner = os.getuid() if hasattr(os, "getuid") else "user"
    return knobs.cache.dir.absolute() / name, Path(tempfile.gettempdir()) / f"tle_raw-{owner}" / name
