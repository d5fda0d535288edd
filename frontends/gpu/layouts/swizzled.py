"""Rows whose vectors change places from row to row, or plain rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import LayoutError, Row
from tle_raw.frontends.gpu.layouts.shared_layout import (
    called_in_kernels,
    check_one_block,
    check_permutation,
    check_power,
    check_rank,
    shared_layout,
)
from tle_raw.frontends.lite.arguments import plain


@dataclass(frozen=True)
class swizzled_shared_layout(shared_layout):
    """Rows in which vectors of elements change places from row to row, so that columns lie in different banks.

    Parameters
    ----------
    vectorSize : elements that stay together.
    perPhase : rows that are permuted alike.
    maxPhase : how many permutations there are; 1 leaves the rows as they are.
    order : the axes, the one along which elements lie side by side first.
    numCTAs, numCTAsPerCGA, numCTASplit, numCTAOrder : of clusters that split a buffer, which are refused.
    """

    vectorSize: int
    perPhase: int
    maxPhase: int
    order: tuple[int, ...]

    def __init__(
        self,
        vectorSize: Any,
        perPhase: Any,
        maxPhase: Any,
        order: Any,
        numCTAs: Any = None,
        numCTAsPerCGA: Any = None,
        numCTASplit: Any = None,
        numCTAOrder: Any = None,
    ) -> None:
        check_one_block("swizzled_shared_layout", numCTAs, numCTAsPerCGA, numCTASplit)
        for name, value in (("vectorSize", vectorSize), ("perPhase", perPhase), ("maxPhase", maxPhase)):
            object.__setattr__(self, name, check_power("swizzled_shared_layout", name, value))
        object.__setattr__(self, "order", check_permutation("swizzled_shared_layout", "order", order))

    @classmethod
    @called_in_kernels
    def make_default(cls, rank: int = 2) -> swizzled_shared_layout:
        """Rows behind each other."""
        return cls(1, 1, 1, list(reversed(range(int(plain(rank))))))

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def is_plain(self) -> bool:
        return self.maxPhase == 1 and self.order == tuple(reversed(range(self.rank)))

    def make_permute(self, dims: Sequence[int]) -> swizzled_shared_layout:
        moved = check_permutation("swizzled_shared_layout.make_permute", "dims", dims, self.rank)
        return swizzled_shared_layout(
            self.vectorSize, self.perPhase, self.maxPhase, [moved.index(axis) for axis in self.order]
        )

    def to_ir(self, builder: Any) -> Any:
        return builder.get_swizzled_shared_layout(self.vectorSize, self.perPhase, self.maxPhase, list(self.order), [])

    def check(self, shape: Sequence[int], bits: int) -> None:
        check_rank(self, shape)
        if self.maxPhase > 1 and self.rank < 2:
            raise LayoutError("a swizzled layout changes places from row to row: a buffer of rank 1 has no rows")
        row = shape[self.order[0]]
        if self.vectorSize * self.maxPhase > row:
            raise LayoutError(
                "the vectors that change places do not fit into a row",
                table=[Row("vectorSize * maxPhase", f"at most {row}", str(self.vectorSize * self.maxPhase))],
            )

    @property
    def text(self) -> str:
        return f"swizzled_{self.vectorSize}_{self.perPhase}_{self.maxPhase}_{''.join(map(str, self.order))}"
