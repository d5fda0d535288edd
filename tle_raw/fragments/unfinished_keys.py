"""Keys of kernels that a fork found half computed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from triton.runtime.jit import JITFunction

_COMPUTES = JITFunction.cache_key.fget.__code__
# Noted before the fork: the child has no frames of the other threads, and no list of objects that `gc.freeze` hides.
_UNFINISHED: list[JITFunction] = []


def reset_unfinished_keys() -> None:
    """Free the kernels whose keys were being computed, and so locked, by threads that this forked child lacks."""
    for function in _UNFINISHED:
        if function._hash_lock.acquire(blocking=False):  # of the thread that has forked
            function._hash_lock.release()
        else:
            function._hash_lock, function.hash = threading.RLock(), None


def _note() -> None:
    frames = (frame for top in sys._current_frames().values() for frame in _stack(top))
    _UNFINISHED[:] = [frame.f_locals["self"] for frame in frames if frame.f_code is _COMPUTES]


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


os.register_at_fork(before=_note, after_in_parent=_UNFINISHED.clear)
