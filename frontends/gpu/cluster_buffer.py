"""``cluster_buffer``: a buffer or a barrier of another block of the cluster, as a value of a kernel, and its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.frontends.gpu.composite import Parts, Whole


@dataclass(frozen=True)
class cluster_buffer_type(Parts, core.base_type):  # type: ignore[misc]
    """Of what this block has itself (``own``), and how many blocks the cluster has."""

    own: Any
    blocks: int

    def parts(self) -> Sequence[Any]:
        return (self.own, core.int32)

    def of(self, parts: Sequence[Any]) -> cluster_buffer:
        own, rank = parts
        return cluster_buffer(own, rank, self.blocks)

    def mangle(self) -> str:
        return f"R{self.blocks}_{self.own.mangle()}R"

    def __str__(self) -> str:
        return f"{self.own} of another block"


class cluster_buffer(Whole):
    """Of ``tle.remote``.

    Attributes
    ----------
    own : what this block has at the same place: a buffer or one barrier.
    rank : the number of the other block in the cluster; a scalar.
    blocks : how many blocks the cluster has.
    """

    def __init__(self, own: Any, rank: core.tensor, blocks: int) -> None:
        self.own, self.rank, self.blocks = own, rank, blocks
        self.type = cluster_buffer_type(own.type, blocks)

    def parts(self) -> Sequence[Any]:
        return (self.own, self.rank)

    def __repr__(self) -> str:
        return str(self.type)

    def _set_name(self, builder: Any, name: str) -> None:
        """Its parts keep the names of what they are."""
