"""Entries that a package brings: fragments that were compiled where a compiler is, for machines that have none.

A package of ``tle-raw compile`` names itself under the entry-point group ``tle_raw.caches``; its folder ``fragments``
holds entries as a store writes them. They are as trustworthy as the package's own Python code, and are checked by
their digests all the same.
"""

from __future__ import annotations

import functools
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from tle_raw.store.entries import Entry, read_entry

GROUP, FOLDER = "tle_raw.caches", "fragments"


def shipped_entry(key: str) -> Entry | None:
    """The entry of ``key`` in an installed package, or None where none has it, or it is damaged."""
    return next((entry for folder in _folders() if (entry := read_entry(folder, key)) is not None), None)


def shipping_packages() -> tuple[str, ...]:
    """The installed packages that bring entries."""
    return tuple(sorted(folder.parent.name for folder in _folders()))


@functools.cache
def _folders() -> tuple[Path, ...]:
    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        try:
            spec = find_spec(point.module)
        except (ImportError, ValueError):
            continue
        found += [Path(place) / FOLDER for place in (spec.submodule_search_locations or ()) if spec] if spec else []
    return tuple(found)
