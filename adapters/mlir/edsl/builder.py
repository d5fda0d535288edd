"""The interface between the eDSL and what holds the operations that it builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

# An SSA value, a block and a region are the builder's own; types and attributes are MLIR's text.
Handle = Any
BlockHandle = Any
RegionHandle = Any


class Builder(Protocol):
    """Makes operations one after the other, at the end of a block, with the location that is set."""

    route: str

    def locate(self, location: tuple[str, int, int]) -> None:
        """Where the operations that follow come from: file, line, column."""

    def region(self) -> RegionHandle:
        """A region that belongs to no operation yet; it is dropped when ``create`` never gets it."""

    def block(self, region: RegionHandle, types: Sequence[str] = ()) -> BlockHandle:
        """A new block at the end of a region."""

    def arguments(self, block: BlockHandle) -> list[Handle]:
        """The arguments of a block."""

    def inside(self, block: BlockHandle) -> AbstractContextManager[None]:
        """Operations go to this block, and afterwards to where they went before."""

    def move_to(self, block: BlockHandle) -> None:
        """Operations go to this block from now on, until the innermost ``inside`` ends."""

    @property
    def current(self) -> BlockHandle:
        """The block that operations go to."""

    def create(
        self,
        name: str,
        operands: Sequence[Handle] = (),
        results: Sequence[str] = (),
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[RegionHandle] = (),
        successors: Sequence[BlockHandle] = (),
    ) -> Sequence[Handle]:
        """Append an operation; its results."""

    def at_start(self, block: BlockHandle) -> AbstractContextManager[None]:
        """Operations go to the beginning of this block, in their order."""

    def at_top(self) -> AbstractContextManager[None]:
        """Operations go to the module itself."""

    def text(self) -> str:
        """The module in generic form, with locations."""
