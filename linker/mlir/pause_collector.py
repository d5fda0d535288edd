"""Python's collector of cycles, paused while trees of operations are made and used."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """It would look at a tree again and again while it grows, a third of the time that takes.

    Who finds it paused leaves it to who paused it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
