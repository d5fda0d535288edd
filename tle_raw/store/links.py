"""Folders of links, each laid out once and looked through link by link whenever it is used."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tle_raw.errors import ToolchainError
from tle_raw.linker.processes.temporary_folder import folder_within
from tle_raw.linker.processes.trusted_folders import belongs_to_user, is_trusted
from tle_raw.store import fallback
from tle_raw.store.entries import Stored, modified, size_of
from tle_raw.store.private_files import make_private, remove, write_whole
from tle_raw.store.prune import TORN_AFTER, prune

LINKS = "links"
ATTEMPTS = 3
_OWN_FOLDER = re.compile(r"[\w-]{1,64}-[0-9a-f]{16}\.links|(?P<draft>\.draft-\w+)")


class LinkFolders:
    """Folders of links in the cache folder ``root``."""

    kind = LINKS

    def __init__(self, root: Path) -> None:
        self.root = Path(root).absolute()
        self.folder = self.root / LINKS

    def folder_of(self, name: str, links: Mapping[str, Path | None]) -> Path:
        """A folder that holds ``links`` and nothing else: relative path to target, or None for an empty file.

        Its name carries a digest of its content, so a changed target makes a new folder.

        Raises
        ------
        ToolchainError : it can be made nowhere.
        """
        content = "\n".join(f"{path}={target or ''}" for path, target in sorted(links.items()))
        digest = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        for parent in self._folders():
            if is_laid_out(parent / f"{name}-{digest}.links", links):
                with contextlib.suppress(OSError):  # a read-only folder keeps its entries
                    os.utime(parent / f"{name}-{digest}.links")
                return parent / f"{name}-{digest}.links"
        try:
            make_private(self.folder)
            return _lay_out(self.folder / f"{name}-{digest}.links", links)
        except OSError as error:
            fallback.warn_once(self.folder, error)
        try:
            return _lay_out(fallback.make_private_in_place_of(self.folder) / f"{name}-{digest}.links", links)
        except OSError as error:
            raise ToolchainError(
                f"no folder can be made for the links to headers: {error}", hint="set TMPDIR to one that can be written"
            ) from error

    def entries(self) -> list[Stored]:
        """All folders, the longest unused first."""
        found = [
            Stored(f.name.removesuffix(".links"), f, {"name": "header links"}, _size(f), modified(f))
            for f in self._own_folders()
            if not f.name.startswith(".")
        ]
        return sorted(found, key=lambda s: (s.last_used, s.key))

    def size(self) -> int:
        """Bytes of all links and files."""
        return sum(_size(folder) for folder in self._own_folders())

    def remove(self, key: str) -> bool:
        """Remove one folder; True when it was there."""
        return sum(remove(parent / f"{key}.links") for parent in self._folders()) > 0

    def clear(self) -> int:
        """Remove all; gives the number of folders. What was not laid out here stays."""
        count = len(self.entries())
        for folder in self._own_folders():
            remove(folder)
        return count

    def prune(self, *, older_than_seconds: float | None = None, max_bytes: int | None = None) -> int:
        """Remove what was not used for a time, then the longest unused until the rest fits."""
        return prune([self], older_than_seconds, max_bytes)

    def sweep(self) -> None:
        """Remove what killed processes left half laid out."""
        for folder in self._own_folders():
            if folder.name.startswith(".") and time.time() - modified(folder) > TORN_AFTER:
                remove(folder)

    def _own_folders(self) -> list[Path]:
        found = []
        for folder in self._folders():
            with contextlib.suppress(OSError):
                found += [folder / name for name in os.listdir(folder) if _OWN_FOLDER.fullmatch(name)]
        return found

    def _folders(self) -> list[Path]:
        private = fallback.private_in_place_of(self.folder)
        return [f for f in (self.folder, private) if f and is_trusted(f)]


def is_laid_out(folder: Path, links: Mapping[str, Path | None]) -> bool:
    """True when the folder is this user's alone, every link leads where it should, and there is nothing else."""
    try:
        return dict(_contents(folder)) == {path: str(target) if target else "" for path, target in links.items()}
    except OSError:
        return False


def _contents(folder: Path, above: str = "") -> Iterator[tuple[str, str]]:
    """The path and the target of each link; of an empty file, nothing."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or not belongs_to_user(status):
        raise PermissionError(f"{folder} is not this user's alone")
    for entry in os.scandir(folder):
        name = above + entry.name
        status = entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            yield name, os.readlink(entry.path)
        elif entry.is_dir():
            yield from _contents(Path(entry.path), f"{name}/")
        elif status.st_size or not stat.S_ISREG(status.st_mode) or not belongs_to_user(status):
            raise FileExistsError(f"{entry.path} is no empty file of this user")
        else:
            yield name, ""


def _lay_out(folder: Path, links: Mapping[str, Path | None]) -> Path:
    """Make it in a draft, which gets its name when it is whole."""
    failure = OSError(f"{folder} cannot be replaced")
    for _ in range(ATTEMPTS):
        draft = folder_within(folder.parent, ".draft-")
        try:
            _fill(draft, links)
            os.rename(draft, folder)
            return folder
        except OSError as error:
            failure = error
            if is_laid_out(folder, links):  # another process was first
                return folder
            _put_aside(folder)
        finally:
            remove(draft)
    raise failure


def _fill(draft: Path, links: Mapping[str, Path | None]) -> None:
    for path, target in links.items():
        make_private((draft / path).parent)
        if target is None:
            write_whole(draft / path, b"")
        else:
            (draft / path).symlink_to(target)


def _put_aside(folder: Path) -> None:
    """Somebody changed it. Others may still read it: it goes at once, not file by file."""
    aside = folder_within(folder.parent, ".draft-")
    try:
        os.rename(folder, aside)  # onto an empty folder: another user's folder cannot be moved into one
    except OSError:  # no folder
        remove(folder)
    remove(aside)


def _size(folder: Path) -> int:
    return sum(size_of(file) for file in folder.rglob("*"))
