"""The libraries that are installed, by the entry-point group ``tle_raw.libraries``; nothing of theirs is imported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from tle_raw.errors import LibraryError
from tle_raw.libraries.packed_files import PackedIndex, read_index

GROUP = "tle_raw.libraries"


@dataclass(frozen=True)
class Installed:
    """One entry point: ``index`` is None where the library cannot be read, and ``problem`` says why."""

    name: str
    module: str
    index: PackedIndex | None
    problem: str = ""


def installed_libraries() -> Iterator[Installed]:
    """All of them, by name."""
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        try:
            yield Installed(point.name, point.module, read_index(_folder(point.module)))
        except LibraryError as error:
            yield Installed(point.name, point.module, None, error.message)


def _folder(module: str) -> Path:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise LibraryError(f"its package {module} cannot be found")
    return Path(places[0])
