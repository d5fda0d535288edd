"""``tile_scheduler``, an order of tiles as a value of a kernel, and its type: the pair that Triton's tracer wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triton.language import core


@dataclass(frozen=True)
class tile_scheduler_type(core.base_type):  # type: ignore[misc]
    """``parts`` are the types of what a dynamic order works with; a static one has none."""

    parts: tuple[Any, ...] = ()

    def mangle(self) -> str:
        return f"T{'_'.join(part.mangle() for part in self.parts)}T"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for part in self.parts:
            part._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: Any, cursor: int) -> tuple[Any, int]:
        values = []
        for part in self.parts:
            value, cursor = part._unflatten_ir(handles, cursor)
            values.append(value)
        return tile_scheduler(tuple(values)), cursor

    def __str__(self) -> str:
        return f"a {'dynamic' if self.parts else 'static'} order of tiles"


class tile_scheduler(core.base_value):  # type: ignore[misc]
    """Of ``tle.gpu.alloc_tile_scheduler``: the counter, the ring of numbers, and its full and empty barriers."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self.type = tile_scheduler_type(tuple(part.type for part in parts))

    def __repr__(self) -> str:
        return str(self.type)

    def _flatten_ir(self, handles: list[Any]) -> None:
        for part in self.parts:
            part._flatten_ir(handles)

    def _set_name(self, builder: Any, name: str) -> None:
        """Its parts keep the names of what they are."""
