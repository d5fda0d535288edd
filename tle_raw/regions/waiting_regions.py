"""A region that waits for what others of its program do: in Triton's interpreter, where partitions take turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class WaitingRegion(Protocol):
    """What is asked while a region runs on arrays of its own."""

    def begin(self, arrays: Mapping[str, Any]) -> None:
        """The region begins on these arrays, by its parameters' names."""

    def wait(self) -> None:
        """It waits: others run, and what they leave comes into the arrays.

        Raises
        ------
        SharedBufferError : nobody can go on.
        """


_CURRENT: ContextVar[WaitingRegion | None] = ContextVar("waiting_region", default=None)


def waiting_region() -> WaitingRegion | None:
    """Who is asked where a region of this program waits; None where nobody else could run."""
    return _CURRENT.get()


@contextmanager
def while_it_waits(region: WaitingRegion) -> Iterator[None]:
    """Within, regions that wait ask this one."""
    token = _CURRENT.set(region)
    try:
        yield
    finally:
        _CURRENT.reset(token)
