"""Moments that no fork may fall into: the child would keep open what this process closes a moment later.

A pipe of a compiler is such a thing. This process would wait for its end until the child ends, which may wait in turn.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()


@contextmanager
def no_fork() -> Iterator[None]:
    """Other threads that fork wait for the end of the ``with``; so it is short."""
    with _LOCK:
        yield


os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
