"""``tile_scheduler``, an order of tiles as a value of a kernel, and its type: the pair that Triton's tracer wants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.frontends.gpu.composite import Parts, Whole


@dataclass(frozen=True)
class tile_scheduler_type(Parts, core.base_type):  # type: ignore[misc]
    """``members`` are the types of what an order of this kind works with; a static one has none."""

    kind: str = "static"
    members: tuple[Any, ...] = ()

    def parts(self) -> Sequence[Any]:
        return self.members

    def of(self, parts: Sequence[Any]) -> tile_scheduler:
        return tile_scheduler(self.kind, tuple(parts))

    def mangle(self) -> str:
        return f"T{self.kind}{'_'.join(part.mangle() for part in self.members)}T"

    def __str__(self) -> str:
        return f"a {self.kind} order of tiles"


class tile_scheduler(Whole):
    """Of ``tle.gpu.alloc_tile_scheduler``.

    ``members`` are what the numbers come from, the counter or what programs are taken over by, and the ring of numbers
    with its full and its empty barriers.
    """

    def __init__(self, kind: str, members: tuple[Any, ...] = ()) -> None:
        self.members = members
        self.type = tile_scheduler_type(kind, tuple(member.type for member in members))

    def parts(self) -> Sequence[Any]:
        return self.members

    def __repr__(self) -> str:
        return str(self.type)

    def _set_name(self, builder: Any, name: str) -> None:
        """Its parts keep the names of what they are."""
