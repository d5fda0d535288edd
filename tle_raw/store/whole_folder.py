"""A folder that is written whole: beside its place, and then put there in one step."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from tle_raw.errors import LibraryError
from tle_raw.store.locks import locked

PATIENCE = 600.0


def others_in(folder: Path, own: Collection[str], is_ours: Callable[[], bool]) -> list[str]:
    """What may not be replaced there, by name: what is not our ``own``, or all of it where the folder is not ours.

    A project of somebody's own may have files of the same names.
    """
    if folder.is_dir():
        found = {file.name for file in folder.iterdir()}
    else:
        found = {folder.name} if folder.exists() else set()
    return sorted(found.difference(own) if found and is_ours() else found)


def put_in_place(folder: Path, files: Mapping[str, bytes], check: Callable[[], None]) -> None:
    """Write all files into a new folder, and put it in the place of the old one. One process at a time does that.

    ``check`` says, by an error, that what is there now must stay. Then it does.

    Raises
    ------
    LibraryError : the folder cannot be written; what was there is there.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from None
    old = made.with_name(f"{made.name}.old")
    try:
        for path, data in files.items():
            file = made / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        made.chmod(0o755)
        with alone(folder):
            check()
            if folder.exists():
                os.rename(folder, old)
            try:
                os.rename(made, folder)
            except OSError:
                if old.exists():
                    os.rename(old, folder)
                raise
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> LibraryError:
    return LibraryError(f"{folder} cannot be written: {error.strerror or error}", hint="give another folder")


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """No other process puts a folder there meanwhile: between its two renames there is none.

    The lock lies with this user's temporary files: the folder around may be a repository.
    """
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:24]
    with locked(Path(tempfile.gettempdir()) / f"tle_raw_put_{os.getuid()}" / f"{name}.lock", PATIENCE):
        yield
