"""Makes room: what was not used for long goes, then the longest unused until the rest fits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from tle_raw.store.entries import Stored

TORN_AFTER = 3600.0  # seconds after which an unfinished file belongs to a dead process


class Kind(Protocol):
    """A part of the cache."""

    @property
    def kind(self) -> str: ...
    def entries(self) -> list[Stored]: ...
    def size(self) -> int: ...
    def remove(self, key: str) -> bool: ...
    def clear(self) -> int: ...
    def sweep(self) -> None: ...


def prune(kinds: Sequence[Kind], older_than_seconds: float | None, max_bytes: int | None) -> int:
    """Gives the number of entries that went."""
    found = [(kind, entry) for kind in kinds for entry in kind.entries()]
    found.sort(key=lambda pair: (pair[1].last_used, pair[1].key))
    now = time.time()
    old = 0
    if older_than_seconds is not None:
        old = sum(now - entry.last_used > older_than_seconds for _, entry in found)
    excess = sum(entry.size for _, entry in found[old:]) - max_bytes if max_bytes is not None else 0
    while excess > 0:
        excess -= found[old][1].size
        old += 1
    for kind, entry in found[:old]:
        kind.remove(entry.key)
    for kind in kinds:
        kind.sweep()
    return old
