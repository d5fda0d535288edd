"""The content-addressed store of compiled fragments on disk.

A cache must never be the reason why a kernel does not run. What is damaged counts as absent; a folder that
cannot be written is replaced by a private temporary one, and that by files in memory, with one warning.

    <root>/fragments/<key>.<digest>.ll        the text; never rewritten with other content
    <root>/fragments/<key>.fragment.json      which text belongs to the key; written last
    <root>/fragments/<key>.fragment.lock      held while one process compiles the key
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tle_raw.errors import CacheError
from tle_raw.private_files import is_trusted, locked, make_private, write_whole

FORMAT = 1  # of the json file; another number is a miss
FOLDER = "fragments"
TORN_AFTER = 3600.0  # seconds after which an unfinished file belongs to a dead process

_OWN_FILE = re.compile(r"(?P<name>[\w-]{1,128})\.(fragment\.json|fragment\.lock|[0-9a-f]{16}\.ll|[0-9a-f]{16}\.part)")


class CacheWarning(UserWarning):
    """The cache folder cannot be written; fragments are compiled anew by each process."""


@dataclass(frozen=True)
class Entry:
    """One compiled fragment. ``path`` is named by key and content: equal paths hold equal text for ever."""

    key: str
    path: Path
    meta: Mapping[str, Any]
    text: str = field(repr=False)


@dataclass(frozen=True)
class Stored:
    """What a listing tells of an entry, without its text. ``last_used`` is a time of ``time.time()``."""

    key: str
    path: Path
    meta: Mapping[str, Any]
    size: int
    last_used: float


class Store:
    """Compiled fragments by key, shared by all processes of a user.

    Parameters
    ----------
    root : the cache folder; the store is a private folder inside it. Nothing is made before it is used.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self.folder = self.root / FOLDER

    def load(self, key: str) -> Entry | None:
        """The entry of ``key``, or None when there is none or when it is damaged."""
        for folder in self._folders():
            entry = _load(folder, key)
            if entry is not None:
                return entry
        return _IN_MEMORY.get((str(self.folder), key))

    def save(self, key: str, text: str, meta: Mapping[str, Any]) -> Entry:
        """Keep ``text`` under ``key``; an entry that is there is replaced.

        Saving again what ``load`` gave brings a file back that somebody deleted meanwhile.

        Raises
        ------
        CacheError : neither the disk nor memory took it.
        """
        try:
            make_private(self.folder)
            return _save(self.folder, key, text, meta)
        except OSError as e:
            _warn_once(self.folder, e)
        try:
            return _save(_private_folder(self.folder), key, text, meta)
        except OSError:
            return _save_in_memory(self.folder, key, text, meta)

    @contextlib.contextmanager
    def lock(self, key: str, patience: float = 600.0) -> Iterator[bool]:
        """Let one process at a time work on ``key``; gives False where that cannot be had.

        The lock saves work and guards nothing: after ``patience`` seconds, or on a file system without locks,
        the caller goes on without it. It falls with its process. It is not reentrant.
        """
        with locked(_lock_file(self.folder, key), patience) as held:
            yield held

    def entries(self) -> list[Stored]:
        """All entries, the longest unused first."""
        found = [_stored(index) for folder in self._folders() for index in _own_files(folder, ".fragment.json")]
        return sorted((s for s in found if s is not None), key=lambda s: (s.last_used, s.key))

    def size(self) -> int:
        """Bytes of all files of the store."""
        return sum(_size(f) for folder in self._folders() for f in _own_files(folder))

    def remove(self, key: str) -> bool:
        """Forget one key; True when there was something."""
        _IN_MEMORY.pop((str(self.folder), key), None)
        return _remove(file for folder in self._folders() for file in _files_of(folder, key))

    def clear(self) -> int:
        """Forget everything; gives the number of entries. Files that the store did not make stay."""
        count = len(self.entries())
        for memory in [m for m in _IN_MEMORY if m[0] == str(self.folder)]:
            del _IN_MEMORY[memory]
        for folder in self._folders():
            _remove(_own_files(folder))
        return count

    def prune(self, *, older_than_seconds: float | None = None, max_bytes: int | None = None) -> int:
        """Forget what was not used for a time, then the longest unused until the rest fits."""
        now = time.time()
        entries = self.entries()
        old = [e for e in entries if older_than_seconds is not None and now - e.last_used > older_than_seconds]
        kept = entries[len(old) :]
        excess = sum(e.size for e in kept) - max_bytes if max_bytes is not None else 0
        for entry in kept:
            if excess <= 0:
                break
            old.append(entry)
            excess -= entry.size
        for entry in old:
            self.remove(entry.key)
        self._sweep(now)
        return len(old)

    def is_writable(self) -> bool:
        """Whether ``save`` reaches the disk folder; makes the folder."""
        try:
            make_private(self.folder)
            write_whole(self.folder / f"probe-{os.getpid()}.{'0' * 16}.ll", b"").unlink()
        except OSError:
            return False
        return True

    def _sweep(self, now: float) -> None:
        """Remove texts that no entry names, and what killed processes left half written."""
        named = {e.path for e in self.entries()}
        for folder in self._folders():
            _remove(
                f
                for f in _own_files(folder)
                if f.suffix in (".part", ".ll") and f not in named and now - _modified(f) > TORN_AFTER
            )

    def _folders(self) -> list[Path]:
        folders = [self.folder] if is_trusted(self.folder) else []
        private = _PRIVATE.get(str(self.folder))
        return [*folders, private] if private else folders


def _file_name(key: str) -> str:
    """The key itself where it can be a file name, else its digest."""
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,96}", key):
        return key
    return "key-" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _save(folder: Path, key: str, text: str, meta: Mapping[str, Any]) -> Entry:
    data = text.encode("utf-8", "surrogateescape")
    digest = hashlib.sha256(data).hexdigest()
    # Triton remembers a file's hash by its path for the life of the process: the content is part of the name.
    path = folder / f"{_file_name(key)}.{digest[:16]}.ll"
    index = {"format": FORMAT, "key": key, "file": path.name, "sha256": digest, "meta": dict(meta)}
    written = json.dumps(index, indent=1)
    write_whole(path, data)
    write_whole(_index(folder, key), written.encode())
    return Entry(key, path, json.loads(written)["meta"], text)


def _load(folder: Path, key: str) -> Entry | None:
    index_file = _index(folder, key)
    try:
        written = index_file.read_bytes()
    except OSError:
        return None
    index = _parse(written)
    if index is not None and index["key"] == key:
        path = folder / index["file"]
        try:
            data = path.read_bytes()
        except OSError:
            data = b""
        if hashlib.sha256(data).hexdigest() == index["sha256"]:
            with contextlib.suppress(OSError):  # a read-only folder keeps its entries
                os.utime(index_file)
            return Entry(key, path, index["meta"], data.decode("utf-8", "surrogateescape"))
    # Only the index goes: another process may be writing the same text again at this moment.
    _remove([index_file])
    return None


def _parse(written: bytes) -> dict[str, Any] | None:
    """The index, or None when it is not one, whatever it holds."""
    try:
        index = json.loads(written)
    except (ValueError, RecursionError):
        return None
    kinds = {"format": int, "key": str, "file": str, "sha256": str, "meta": dict}
    if not isinstance(index, dict) or any(not isinstance(index.get(k), t) for k, t in kinds.items()):
        return None
    inside = index["format"] == FORMAT and _OWN_FILE.fullmatch(index["file"]) is not None
    return index if inside else None


def _stored(index_file: Path) -> Stored | None:
    try:
        index = _parse(index_file.read_bytes())
    except OSError:
        return None
    if index is None:
        return None
    path = index_file.parent / index["file"]
    size = _size(path) + _size(index_file)
    return Stored(index["key"], path, index["meta"], size, _modified(index_file))


def _index(folder: Path, key: str) -> Path:
    return folder / f"{_file_name(key)}.fragment.json"


def _lock_file(folder: Path, key: str) -> Path:
    return folder / f"{_file_name(key)}.fragment.lock"


def _files_of(folder: Path, key: str) -> Iterator[Path]:
    index_file = _index(folder, key)
    stored = _stored(index_file)
    if stored is not None:
        yield stored.path
    yield index_file
    yield _lock_file(folder, key)


def _own_files(folder: Path, suffix: str = "") -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / n for n in names if n.endswith(suffix) and _OWN_FILE.fullmatch(n)]


def _remove(files: Iterable[Path]) -> bool:
    """Indexes first: no entry may name a text that is gone already."""
    removed = False
    for file in sorted(files, key=lambda f: (f.suffix != ".json", f.name)):
        with contextlib.suppress(OSError):
            file.unlink()
            removed = True
    return removed


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


# Where a store goes whose folder cannot be written, by that folder: a temporary folder, then memory.
_PRIVATE: dict[str, Path] = {}
_IN_MEMORY: dict[tuple[str, str], Entry] = {}
_GUARD = threading.Lock()
_WARNED = threading.Event()


def _warn_once(folder: Path, error: OSError) -> None:
    if _WARNED.is_set():
        return
    _WARNED.set()
    warnings.warn(
        f"the cache folder {folder} cannot be written ({error.strerror or error}): "
        "compiled fragments are kept for this process only. Set TLE_RAW_CACHE_DIR to another folder.",
        CacheWarning,
        stacklevel=4,
    )


def _private_folder(folder: Path) -> Path:
    with _GUARD:
        if str(folder) not in _PRIVATE:
            made = Path(tempfile.mkdtemp(prefix="tle_raw-"))
            atexit.register(_discard, made, os.getpid())
            _PRIVATE[str(folder)] = made
        return _PRIVATE[str(folder)]


def _discard(made: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked child, whose parent goes on using it
        shutil.rmtree(made, ignore_errors=True)


def _save_in_memory(folder: Path, key: str, text: str, meta: Mapping[str, Any]) -> Entry:
    try:
        # Open until the process ends: a number used again would be another file of the same path.
        descriptor = os.memfd_create(f"tle_raw-{_file_name(key)}")
        with open(descriptor, "wb", closefd=False) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    except OSError as e:
        raise CacheError(
            f"a fragment can be kept neither in {folder} nor in a temporary folder nor in memory: {e}",
            hint="free some disk space, or set TLE_RAW_CACHE_DIR to a folder that can be written",
        ) from e
    entry = Entry(key, Path(f"/proc/self/fd/{descriptor}"), json.loads(json.dumps(dict(meta))), text)
    _IN_MEMORY[str(folder), key] = entry
    return entry
