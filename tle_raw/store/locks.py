"""Locks between processes that save work and guard nothing: who waits too long goes on without one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tle_raw.store.private_files import make_private, remove

# Descriptors of held locks. A forked child gets copies, which would hold the locks when this process has died.
_HELD: set[int] = set()


@contextlib.contextmanager
def locked(path: Path, patience: float, give_up: Callable[[str], None] = lambda holder: None) -> Iterator[bool]:
    """Hold the lock file during the ``with``; gives False when that fails for ``patience`` seconds.

    ``give_up`` is told who holds it when the patience has ended. That process may be at work, stopped, or waiting for
    a compiler that is stopped: there is no telling.
    """
    descriptor, process = _acquire(path, patience, give_up), os.getpid()
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None and os.getpid() == process:  # else the fork's parent goes on holding it
            _release(descriptor)


def _acquire(path: Path, patience: float, give_up: Callable[[str], None]) -> int | None:
    pause, deadline = 0.002, time.monotonic() + patience
    while True:
        try:
            descriptor = _open(path)
        except OSError:
            return None
        try:
            if _is_locked_now(descriptor, path):
                return descriptor
        except OSError:  # no locks here
            os.close(descriptor)
            return None
        late = time.monotonic() > deadline
        if late:
            give_up(_holder(descriptor))
        os.close(descriptor)
        if late:
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def _open(path: Path) -> int:
    make_private(path.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.ELOOP):
            raise
        remove(path)  # a folder or a link in its place: damage
        return os.open(path, flags, 0o600)


def _is_locked_now(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Somebody may have removed the file between open and lock: the next process locks another one.
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return False
    except (BlockingIOError, FileNotFoundError):
        return False
    _HELD.add(descriptor)
    with contextlib.suppress(OSError):  # a full disk
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
    return True


def _holder(descriptor: int) -> str:
    try:
        return os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
    except OSError:
        return "another process"


def _release(descriptor: int) -> None:
    _HELD.discard(descriptor)
    # Unlocked by hand: a child that was forked a moment ago may still hold a copy of the descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _close_copies() -> None:
    while _HELD:
        with contextlib.suppress(OSError):
            os.close(_HELD.pop())


os.register_at_fork(after_in_child=_close_copies)
