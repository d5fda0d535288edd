"""Which products that ``tle.gpu.wgmma`` began may still read their operands, in the order in which they are traced."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any


class _Counts(threading.local):
    """Products that were begun, and how many of them are done, counted from the first on."""

    begun = 0
    done = 0


_COUNTS = _Counts()


def begin(operands: Iterable[Any]) -> None:
    """A product reads these buffers from here on: the slots of pipes among them remember its number."""
    _COUNTS.begun += 1
    for buffer in operands:
        if buffer.storage.window is not None:
            buffer.storage.window.product = _COUNTS.begun


def wait(pendings: int) -> None:
    """All but the latest so many are done."""
    _COUNTS.done = max(_COUNTS.done, _COUNTS.begun - pendings)


def is_under_way(product: int) -> bool:
    """Whether a product of this number, 0 of none, may still read its operands."""
    return product > _COUNTS.done
