"""Triton's name of its own code, computed beside what a program does before its first launch.

Triton hashes all of itself, a library of 400 MB above all, once in each process, before it looks for the first kernel
in its cache: 0.4 s of a processor. Hashing holds no lock of Python's, so that another processor can do it while
programs import, ask compilers and fill arrays. Who is faster than the hash waits for the rest of it: two that compute
it at once take longer, both of them, and twice the processor's time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from triton.runtime import cache

_BEGUN = threading.Event()
# Twenty times what it takes: a thread that cannot go on, whatever for, must not hold up the program.
_PATIENCE_S = 10.0


class _Awaited:
    """Triton's function while a thread computes its value, which is then that of the function itself."""

    def __init__(self, key: Callable[[], str]) -> None:
        self.key = key
        self.thread = threading.Thread(target=self._compute, name="tle_raw: Triton's key", daemon=True)

    def __call__(self) -> str:
        self.thread.join(_PATIENCE_S)
        return self.key()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.key, name)  # what functions with a cache have, such as `cache_clear`

    def _compute(self) -> None:
        try:
            self.key()
        except Exception:  # told where the key is asked for, by Triton
            return
        finally:
            if cache.triton_key is self:
                cache.triton_key = self.key


def begin() -> None:
    """Compute the key in a thread of its own, once in a process; nothing where there is one processor only."""
    if _BEGUN.is_set() or len(os.sched_getaffinity(0)) < 2:
        return
    _BEGUN.set()
    awaited = _Awaited(cache.triton_key)
    cache.triton_key = awaited
    awaited.thread.start()
