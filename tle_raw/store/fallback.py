"""Where a store goes whose folder cannot be used: a private temporary folder, then files in memory."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tle_raw.errors import CacheError
from tle_raw.linker.processes.temporary_folder import new_private_folder
from tle_raw.store.entries import Entry, file_name

# By the folder that cannot be used.
_PRIVATE: dict[str, Path] = {}
_IN_MEMORY: dict[tuple[str, str], Entry] = {}
_GUARD = threading.Lock()
_WARNED = threading.Event()


class CacheWarning(UserWarning):
    """The cache is not used, or not waited for; what it would have given is made by each process."""


def warn_once(folder: Path, error: OSError, variable: str = "TLE_RAW_CACHE_DIR") -> None:
    """Say why the folder is not used; the first time only. ``variable`` names another one."""
    if _WARNED.is_set():
        return
    _WARNED.set()
    warnings.warn(
        f"the cache folder {folder} is not used ({error.strerror or error}): what is compiled is kept for this "
        f"process only. Set {variable} to a folder that this user, and nobody else, can write.",
        CacheWarning,
        stacklevel=4,
    )


def private_in_place_of(folder: Path) -> Path | None:
    """The temporary folder that this process uses instead, if it does."""
    return _PRIVATE.get(str(folder))


def make_private_in_place_of(folder: Path) -> Path:
    """A temporary folder for this process; it goes with the process.

    Raises
    ------
    OSError : there is no place for one that others cannot change.
    """
    with _GUARD:
        if str(folder) not in _PRIVATE:
            made = new_private_folder()
            atexit.register(_discard, made, os.getpid())
            _PRIVATE[str(folder)] = made
        return _PRIVATE[str(folder)]


def _discard(made: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked child, whose parent goes on using it
        shutil.rmtree(made, ignore_errors=True)


def in_memory(folder: Path, key: str) -> Entry | None:
    return _IN_MEMORY.get((str(folder), key))


def save_in_memory(folder: Path, key: str, data: bytes, meta: Mapping[str, Any]) -> Entry:
    """Keep the content in a file without a disk.

    Raises
    ------
    CacheError : there is no memory either.
    """
    try:
        # Open until the process ends: a number used again would be another file of the same path.
        descriptor = os.memfd_create(f"tle_raw-{file_name(key)}")
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
    except OSError as e:
        raise CacheError(
            f"a fragment can be kept neither in {folder} nor in a temporary folder nor in memory: {e}",
            hint="free some disk space, or set TLE_RAW_CACHE_DIR to a folder that can be written",
        ) from e
    entry = Entry(key, Path(f"/proc/self/fd/{descriptor}"), json.loads(json.dumps(dict(meta))), data)
    _IN_MEMORY[str(folder), key] = entry
    return entry


def remove_from_memory(folder: Path, key: str | None = None) -> None:
    """Forget one key of the folder, or all."""
    for memory in [m for m in _IN_MEMORY if m[0] == str(folder) and key in (None, m[1])]:
        del _IN_MEMORY[memory]
