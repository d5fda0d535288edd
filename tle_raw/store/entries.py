"""Contents by key in one folder, each entry two files, checked by a digest whenever it is read.

<key>.<digest>.ll       the content, a text; never rewritten with another one. A precompiled header ends in .pch,
                        a lot in .lot
<key>.entry.json        which content belongs to the key, and a digest of all; written last
<key>.entry.lock        held while one process makes the entry
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tle_raw.linker.processes.trusted_folders import why_changeable
from tle_raw.store.private_files import read_if, read_own, remove, write_whole

FORMAT = 2  # of the json file; another number is a miss
INDEX, LOCK = ".entry.json", ".entry.lock"

# Entries of format 1 were named "fragment".
_OWN_FILE = re.compile(
    r"(?P<name>[\w-]{1,128})\.((entry|fragment)\.(json|lock)|(?P<digest>[0-9a-f]{16})\.(ll|pch|lot)|[0-9a-f]{16}\.part)"
)


@dataclass(frozen=True)
class Entry:
    """One content. ``path`` is named by it and the key: equal paths hold equal bytes for ever."""

    key: str
    path: Path
    meta: Mapping[str, Any]
    data: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The content as a text."""
        return self.data.decode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Stored:
    """What a listing tells of an entry, without its content. ``last_used`` is a time of ``time.time()``."""

    key: str
    path: Path
    meta: Mapping[str, Any]
    size: int
    last_used: float


def file_name(key: str) -> str:
    """The key itself where it can be a file name, else its digest."""
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,96}", key):
        return key
    return "key-" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def save_entry(folder: Path, key: str, data: bytes, meta: Mapping[str, Any], suffix: str, flush: bool = True) -> Entry:
    """Write the content, then the index that names it."""
    # Triton remembers a file's hash by its path for the life of the process: the content is part of the name.
    path = folder / f"{file_name(key)}.{hashlib.sha256(data).hexdigest()[:16]}{suffix}"
    index = json.loads(json.dumps({"format": FORMAT, "key": key, "file": path.name, "meta": dict(meta)}))
    written = json.dumps(index | {"sha256": _digest(index, data)})
    write_whole(path, data, flush)
    write_whole(index_file(folder, key), written.encode(), flush)
    return Entry(key, path, index["meta"], data)


def load_entry(folder: Path, key: str) -> Entry | None:
    """The entry, or None when there is none or any of it is damaged."""
    file = index_file(folder, key)
    try:
        written = read_own(file)
    except OSError:
        return None
    index = _parse(written)
    if index is not None and index["key"] == key:
        data = _content(folder / index["file"])
        if data is not None and _digest(index, data) == index["sha256"]:
            with contextlib.suppress(OSError):  # a read-only folder keeps its entries
                os.utime(file)
            return Entry(key, folder / index["file"], index["meta"], data)
    # Only the index goes: another process may be writing the same text again at this moment.
    remove_files([file])
    return None


def read_entry(folder: Path, key: str) -> Entry | None:
    """The entry in a folder that somebody else owns and nobody changes; None when there is none or it is damaged."""
    try:
        index = _parse(index_file(folder, key).read_bytes())
        if index is None or index["key"] != key:
            return None
        data = (folder / index["file"]).read_bytes()
    except OSError:
        return None
    intact = _digest(index, data) == index["sha256"]
    return Entry(key, folder / index["file"], index["meta"], data) if intact else None


def is_intact(path: Path) -> bool:
    """Whether the content of an entry still is what its name says.

    It may be an installed package's, which root owns: what this user's programs are, root decides.
    """
    named = _OWN_FILE.fullmatch(path.name)
    if named is None or not named["digest"]:
        return path.exists()  # kept in memory
    try:
        data = read_if(path, why_changeable)
    except OSError:
        return False
    return hashlib.sha256(data).hexdigest().startswith(named["digest"])


def stored(file: Path) -> Stored | None:
    """What an index tells; None when it is none."""
    try:
        index = _parse(read_own(file))
    except OSError:
        return None
    if index is None:
        return None
    path = file.parent / index["file"]
    return Stored(index["key"], path, index["meta"], size_of(path) + size_of(file), modified(file))


def index_file(folder: Path, key: str) -> Path:
    return folder / (file_name(key) + INDEX)


def lock_file(folder: Path, key: str) -> Path:
    return folder / (file_name(key) + LOCK)


def files_of(folder: Path, key: str) -> Iterator[Path]:
    index = stored(index_file(folder, key))
    if index is not None:
        yield index.path
    yield index_file(folder, key)
    yield lock_file(folder, key)


def own_files(folder: Path, suffix: str = "") -> list[Path]:
    """The files that a store made; people may keep others there."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / n for n in names if n.endswith(suffix) and _OWN_FILE.fullmatch(n)]


def remove_files(files: Iterable[Path]) -> bool:
    """Indexes first: no entry may name a content that is gone already."""
    return sum(remove(file) for file in sorted(files, key=lambda f: (f.suffix != ".json", f.name))) > 0


def size_of(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def modified(file: Path) -> float:
    try:
        return file.lstat().st_mtime
    except OSError:
        return 0.0


def _digest(index: Mapping[str, Any], data: bytes) -> str:
    """Of the content and of all that the index says."""
    said = json.dumps([index["format"], index["key"], index["file"], index["meta"]], sort_keys=True)
    return hashlib.sha256(said.encode() + b"\0" + data).hexdigest()


def _content(path: Path) -> bytes | None:
    try:
        return read_own(path)
    except OSError:
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
