"""Keys of kernels that a fork found half computed."""

from __future__ import annotations

import gc
import threading

from triton.runtime.jit import JITFunction


def reset_unfinished_keys() -> None:
    """Free the kernels whose keys were being computed, and so locked, by threads that this forked child lacks."""
    for function in [o for o in gc.get_objects() if isinstance(o, JITFunction)]:
        if function._hash_lock.acquire(blocking=False):
            function._hash_lock.release()
        else:
            function._hash_lock, function.hash = threading.RLock(), None
