"""All kinds of entries of one cache folder together, for those who list and clear it."""

from __future__ import annotations

from pathlib import Path

from tle_raw.store.entries import Stored
from tle_raw.store.links import LinkFolders
from tle_raw.store.prune import Kind, prune
from tle_raw.store.texts import FRAGMENTS, HEADERS, LOTS, RUNTIMES, Store


class Cache:
    """The cache folder ``root`` with everything that lies in it."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root).absolute()
        stores = (Store(root, kind) for kind in (FRAGMENTS, RUNTIMES, HEADERS, LOTS))
        self.kinds: tuple[Kind, ...] = (*stores, LinkFolders(root))

    def entries(self) -> list[tuple[str, Stored]]:
        """Kind and entry, the longest unused first."""
        found = [(kind.kind, entry) for kind in self.kinds for entry in kind.entries()]
        return sorted(found, key=lambda pair: (pair[1].last_used, pair[1].key))

    def size(self) -> int:
        """Bytes of all files."""
        return sum(kind.size() for kind in self.kinds)

    def clear(self) -> int:
        """Remove everything; gives the number of entries. Files that the cache did not make stay."""
        return sum(kind.clear() for kind in self.kinds)

    def prune(self, *, older_than_seconds: float | None = None, max_bytes: int | None = None) -> int:
        """Remove what was not used for a time, then the longest unused until the rest fits."""
        return prune(self.kinds, older_than_seconds, max_bytes)
