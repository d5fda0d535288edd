"""Locks between the threads of a process, free in a forked child: the thread that holds one does not exist there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakMethod, WeakSet

import tle_raw.linker.processes.no_fork  # noqa: F401  a fork waits for the modules that other threads import


class ThreadLock:
    """A reentrant lock for ``with``.

    Parameters
    ----------
    discard : a method that a forked child calls where another thread held the lock: what it guards may be half done.
        It is kept weakly.
    """

    def __init__(self, discard: Callable[[], Any] | None = None) -> None:
        self._lock = threading.RLock()
        self._discard = WeakMethod(discard) if discard else None
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _start_again(self) -> None:
        if self._lock.acquire(blocking=False):  # free, or of the thread that has forked
            self._lock.release()
            return
        self._lock = threading.RLock()
        discard = self._discard() if self._discard else None
        if discard:
            discard()


_LOCKS: WeakSet[ThreadLock] = WeakSet()


def _start_again() -> None:
    for lock in list(_LOCKS):
        lock._start_again()


os.register_at_fork(after_in_child=_start_again)
