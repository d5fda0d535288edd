"""The kernel's own shared memory as a traced region gets it: barriers, and buffers where they are.

A region without barriers gets what a buffer holds as a tile. One that waits for a barrier may read the buffer only
behind its wait, and one that arrives has written it before: such a region loads and stores where it stands.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SharedTile(Protocol):
    """A buffer of the kernel."""

    def load(self) -> Any:
        """What it holds now, as a block tensor."""

    def store(self, value: Any) -> None:
        """Write all of it: a block tensor of its shape and dtype."""


@runtime_checkable
class SharedBarrier(Protocol):
    """A barrier of the kernel."""

    def wait(self, parity: Any) -> None:
        """Wait until the phase of this parity, an i32 scalar of 0 or 1, is complete."""

    def arrive(self, count: int) -> None:
        """So many arrivals, when all accesses of the block that stand before are done."""
