"""Triton's name of its own code, computed beside what a program does before its first launch.

Triton hashes all of itself, a library of 400 MB above all, once in each process, before it looks for the first kernel
in its cache: 0.4 s of a processor. Hashing holds no lock of Python's, so that another processor can do it while
programs import, ask compilers and fill arrays. Who is faster than the hash does it as without.
"""

from __future__ import annotations

import os
import threading

from triton.runtime import cache

_BEGUN = threading.Event()


def begin() -> None:
    """Compute the key in a thread of its own, once in a process; nothing where there is one processor only."""
    if _BEGUN.is_set() or len(os.sched_getaffinity(0)) < 2:
        return
    _BEGUN.set()
    threading.Thread(target=_compute, name="tle_raw: Triton's key", daemon=True).start()


def _compute() -> None:
    try:
        cache.triton_key()
    except Exception:  # told where the key is asked for, by Triton
        return
