"""What a traced region may ask of the kernel's own language: shared buffers, barriers, products in the background.

A region's adapter stands beside the front end, not above it. Where a region is traced, the front end offers what it
has under this protocol, and the adapter asks ``offered()`` for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

TRACED_BUFFER = "tle.traced"  # a note on the allocations of such buffers: an adapter wrote what is done with them


class Structure(Protocol):
    """Operations at the place where a region is traced. Buffers and barriers are values that only it looks into."""

    def buffer(self, slots: int, shape: Sequence[int], dtype: Any) -> Any:
        """``slots`` tiles in shared memory, in the layout that the copy engine and tensor cores take. A tile is a
        matrix; dims of size 1 may stand before its rows."""

    def slot(self, buffer: Any, number: Any) -> Any:
        """One of the tiles; ``number`` is an i32 scalar or an int."""

    def turned(self, tile: Any) -> Any:
        """The transpose of a tile, a view of it."""

    def barriers(self, count: int, arrivals: int = 1, expect_bytes: int | None = None, ready: bool = False) -> Any:
        """``count`` barriers whose phases take so many arrivals; a phase of copies brings so many bytes. Where they
        are ``ready``, the wait for use 0 passes at once."""

    def wait(self, barriers: Any, number: Any, use: Any) -> None:
        """Wait for this use, 0, 1, …, of one of the barriers."""

    def arrive(self, barriers: Any, number: Any, use: Any) -> None:
        """Arrive once, for all threads that stand here."""

    def copy(self, descriptor: Any, tile: Any, places: Sequence[Any], barriers: Any, number: Any) -> None:
        """Begin a copy of a descriptor's block at ``places`` into a tile; its bytes count at one of the barriers."""

    def multiply(self, a: Any, b: Any, total: Any) -> Any:
        """Begin ``total + a @ b``: ``b`` is a tile, ``a`` a tile or a block tensor. It is not waited for."""

    def wait_for_products(self, value: Any, left: int, behind: Any = None) -> Any:
        """The result of a product, when at most the latest ``left`` are under way; ``behind`` a tensor of f32 that is
        computed before."""

    def specialise(
        self,
        main: Callable[[], list[Any]],
        worker: Callable[[list[Any]], None],
        captured: Sequence[Any],
        warps: int,
        registers: int,
    ) -> list[Any]:
        """Run ``main`` on the kernel's own warps and ``worker`` on ``warps`` others, of ``registers`` a thread, at the
        same time. The worker gets the ``captured`` values as its own; what ``main`` gives is the result."""


_OFFERED: ContextVar[Structure | None] = ContextVar("structure", default=None)


def offered() -> Structure | None:
    """What the front end offers to the region that is traced; None where it offers nothing."""
    return _OFFERED.get()


@contextmanager
def offering(structure: Structure) -> Iterator[None]:
    """Within, regions that are traced may ask for it."""
    token = _OFFERED.set(structure)
    try:
        yield
    finally:
        _OFFERED.reset(token)
