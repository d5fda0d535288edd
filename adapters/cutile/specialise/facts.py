"""What a plan needs to know beside the kernel itself: of the arrays of a launch, and of the launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class Unfit(Exception):
    """A kernel has not the form that gets a warp of its own for copies; the message says what stands in the way."""


@dataclass(frozen=True)
class Facts:
    """
    Attributes
    ----------
    adjacent : for each array that the copy engine takes the dims whose elements lie side by side, by its path.
    overlapping : pairs of arrays that have memory in common.
    stages, warps : as the launch has them: ``num_stages`` and ``num_warps``.
    blocks : how many blocks are to share a multiprocessor, by the kernel's hint ``occupancy``; None where it says none.
    """

    adjacent: tuple[tuple[str, tuple[int, ...]], ...]
    overlapping: tuple[tuple[str, str], ...] = ()
    stages: int = 3
    warps: int = 4
    blocks: int | None = None

    @property
    def adjacent_dims(self) -> Mapping[str, tuple[int, ...]]:
        return dict(self.adjacent)
