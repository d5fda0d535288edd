"""Contents by key, shared by all processes of a user: texts, precompiled headers, and what was packed."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tle_raw.linker.processes.trusted_folders import is_trusted
from tle_raw.store import fallback
from tle_raw.store.entries import (
    INDEX,
    Entry,
    Stored,
    files_of,
    load_entry,
    lock_file,
    modified,
    own_files,
    remove_files,
    save_entry,
    size_of,
    stored,
)
from tle_raw.store.fallback import CacheWarning
from tle_raw.store.locks import locked
from tle_raw.store.private_files import make_private, write_whole
from tle_raw.store.prune import TORN_AFTER, prune

FRAGMENTS, RUNTIMES, HEADERS, LOTS = "fragments", "team", "headers", "lots"
_SUFFIXES = {HEADERS: ".pch", LOTS: ".lot"}
_SWEPT = (".part", ".ll", *_SUFFIXES.values())
PATIENCE = 10.0  # seconds that a process waits for what another one compiles


class Store:
    """Contents by key.

    Parameters
    ----------
    root : the cache folder; the store is a private folder inside it. Nothing is made before it is used.
    kind : what it holds, and the name of that folder.
    """

    def __init__(self, root: Path, kind: str = FRAGMENTS) -> None:
        self.root, self.kind = Path(root).absolute(), kind
        self.folder = self.root / kind

    def load(self, key: str) -> Entry | None:
        """The entry of ``key``, or None when there is none or when it is damaged."""
        for folder in self._folders():
            entry = load_entry(folder, key)
            if entry is not None:
                return entry
        return fallback.in_memory(self.folder, key)

    def save(self, key: str, content: str | bytes, meta: Mapping[str, Any], flush: bool = True) -> Entry:
        """Keep ``content`` under ``key``; an entry that is there is replaced.

        Without ``flush`` it may be a miss after the machine has lost its power: for what is quickly made again.
        Saving again what ``load`` gave brings a file back that somebody deleted meanwhile.

        Raises
        ------
        CacheError : neither the disk nor memory took it.
        """
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        suffix = _SUFFIXES.get(self.kind, ".ll")
        try:
            make_private(self.folder)
            return save_entry(self.folder, key, data, meta, suffix, flush)
        except OSError as e:
            fallback.warn_once(self.folder, e)
        try:
            return save_entry(fallback.make_private_in_place_of(self.folder), key, data, meta, suffix)
        except OSError:
            return fallback.save_in_memory(self.folder, key, data, meta)

    @contextlib.contextmanager
    def lock(self, key: str, patience: float = PATIENCE) -> Iterator[bool]:
        """Let one process at a time work on ``key``; gives False where that cannot be had.

        The lock saves work and guards nothing: after ``patience`` seconds, with a warning, or on a file system without
        locks, the caller goes on without it. It falls with its process. It is not reentrant.
        """

        def give_up(holder: str) -> None:
            warnings.warn(
                f"{holder} has been making an entry of the cache for {patience:.0f} s (lock {path}); "
                "it may be stopped, so this process makes the entry by itself",
                CacheWarning,
                stacklevel=6,
            )

        path = lock_file(self.folder, key)
        with locked(path, patience, give_up) as held:
            yield held

    def entries(self) -> list[Stored]:
        """All entries, the longest unused first."""
        found = [stored(index) for folder in self._folders() for index in own_files(folder, INDEX)]
        return sorted((s for s in found if s is not None), key=lambda s: (s.last_used, s.key))

    def size(self) -> int:
        """Bytes of all files of the store."""
        return sum(size_of(f) for folder in self._folders() for f in own_files(folder))

    def remove(self, key: str) -> bool:
        """Remove one key; True when there was something."""
        fallback.remove_from_memory(self.folder, key)
        return remove_files(file for folder in self._folders() for file in files_of(folder, key))

    def clear(self) -> int:
        """Remove everything; gives the number of entries. Files that the store did not make stay."""
        count = len(self.entries())
        fallback.remove_from_memory(self.folder)
        for folder in self._folders():
            remove_files(own_files(folder))
        return count

    def prune(self, *, older_than_seconds: float | None = None, max_bytes: int | None = None) -> int:
        """Remove what was not used for a time, then the longest unused until the rest fits."""
        return prune([self], older_than_seconds, max_bytes)

    def sweep(self) -> None:
        """Remove contents that no entry names, and what killed processes left half written."""
        named, now = {e.path for e in self.entries()}, time.time()
        for folder in self._folders():
            remove_files(
                f for f in own_files(folder) if f.suffix in _SWEPT and f not in named and now - modified(f) > TORN_AFTER
            )

    def is_writable(self) -> bool:
        """Whether ``save`` reaches the disk folder; makes the folder."""
        try:
            make_private(self.folder)
            write_whole(self.folder / f"probe-{os.getpid()}.{'0' * 16}.ll", b"").unlink()
        except OSError:
            return False
        return True

    def _folders(self) -> list[Path]:
        folders = [self.folder] if is_trusted(self.folder) else []
        private = fallback.private_in_place_of(self.folder)
        return [*folders, private] if private else folders
