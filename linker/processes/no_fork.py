"""Moments that no fork may fall into.

A child would keep open what this process closes a moment later: a pipe of a compiler is such a thing, and this process
would wait for its end until the child ends, which may wait in turn. And a module that another thread imports at that
moment stays locked in the child for ever, since Python renews only its one global import lock there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import _bootstrap  # the locks of the modules, and who holds them

_LOCK = threading.RLock()
_LONGEST_IMPORT = 10.0  # seconds that a fork waits: an import may wait for the thread that forks
_ROUND = 0.002  # seconds


@contextmanager
def no_fork() -> Iterator[None]:
    """Other threads that fork wait for the end of the ``with``; so it is short."""
    with _LOCK:
        yield


def _another_thread_imports() -> bool:
    this_thread = threading.get_ident()
    locks = [reference() for reference in list(getattr(_bootstrap, "_module_locks", {}).values())]
    return any(getattr(lock, "owner", None) not in (None, this_thread) for lock in locks)


def _wait_for_imports() -> None:
    end = time.monotonic() + _LONGEST_IMPORT
    while _another_thread_imports() and time.monotonic() < end:
        time.sleep(_ROUND)


def _before_fork() -> None:
    _wait_for_imports()
    _LOCK.acquire()


os.register_at_fork(before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
