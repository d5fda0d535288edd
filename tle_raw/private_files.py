"""Files that other users cannot write and other processes never see half written."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path


def make_private(folder: Path) -> None:
    """Make the folder and its missing parents, for this user only."""
    if folder.is_dir():
        if not is_trusted(folder):
            raise PermissionError(errno.EPERM, "others may write into this folder", str(folder))
        return
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    for new in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(new, 0o700)
            os.chmod(new, 0o700)  # a strict umask would shut this process out, too
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def is_trusted(folder: Path) -> bool:
    """Nobody else can plant code in it."""
    try:
        status = folder.stat()
    except OSError:
        return False
    user = os.geteuid()
    return (
        stat.S_ISDIR(status.st_mode) and not status.st_mode & stat.S_IWOTH and (not user or status.st_uid in (0, user))
    )


@contextlib.contextmanager
def locked(path: Path, patience: float) -> Iterator[bool]:
    """Hold the lock file during the ``with``; gives False when that fails for ``patience`` seconds."""
    descriptor = _acquire(path, patience)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            # Unlocked by hand: a forked child may still hold a copy of the descriptor.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _acquire(path: Path, patience: float) -> int | None:
    pause, deadline = 0.002, time.monotonic() + patience
    while True:
        try:
            make_private(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Somebody may have removed the file between open and lock: the next process locks another one.
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError:
            deadline = 0.0  # no locks here
        os.close(descriptor)
        if time.monotonic() > deadline:
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def write_whole(path: Path, data: bytes) -> Path:
    """Put a whole file in place at once: readers see the old one or the new one, also after a crash."""
    part = path.with_name(f"{path.name.partition('.')[0]}.{os.urandom(8).hex()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600)  # whatever the umask says
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return path
