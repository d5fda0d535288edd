"""Files that other users cannot write and other processes never see half written."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from tle_raw.linker.processes.trusted_folders import belongs_to_user, why_distrusted, why_unsafe_way


def make_private(folder: Path) -> None:
    """Make the folder and its missing parents, for this user only.

    Raises
    ------
    OSError : it cannot be made, or others could change it.
    """
    folder = folder.absolute()
    is_there = os.path.lexists(folder)  # nearly always
    missing = [] if is_there else [f for f in (folder, *folder.parents) if not os.path.lexists(f)]
    if missing:
        _refuse(why_unsafe_way(missing[-1].parent), folder)
    for new in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(new, 0o700)
            os.chmod(new, 0o700)  # a strict umask would shut this process out, too
    _refuse(why_distrusted(folder), folder)


def _refuse(reason: str, folder: Path) -> None:
    if reason:
        raise PermissionError(errno.EPERM, reason, str(folder))


def read_own(path: Path) -> bytes:
    """A file that this user made and nobody else may write.

    Raises
    ------
    OSError : there is none, or it is a link, or somebody else's.
    """
    return read_if(path, lambda status: "" if belongs_to_user(status) else "not a file of this user alone")


def read_if(path: Path | str, why_not: Callable[[os.stat_result], str]) -> bytes:
    """A plain file, if ``why_not`` has nothing against what is opened.

    Raises
    ------
    OSError : there is none, or it is a link, or it is refused.
    """
    # A pipe in its place would keep a reader waiting.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        reason = why_not(status) if stat.S_ISREG(status.st_mode) else "no plain file"
        if reason:
            raise PermissionError(errno.EPERM, reason, str(path))
        return file.read()


def write_whole(path: Path, data: bytes, flush: bool = True) -> Path:
    """Put a whole file in place at once: readers see the old one or the new one, also after a crash.

    Without ``flush`` a machine that loses its power may have an empty file there, for readers who check a digest.
    """
    part = path.with_name(f"{path.name.partition('.')[0]}.{os.urandom(8).hex()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600)  # whatever the umask says
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if flush:  # it takes longer than all else
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _put(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return path


def _put(part: Path, path: Path) -> None:
    try:
        os.replace(part, path)
    except IsADirectoryError:  # in the place of a file: damage
        shutil.rmtree(path, ignore_errors=True)
        os.replace(part, path)


def remove(path: Path) -> bool:
    """Take away whatever lies there; True when something did."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True
