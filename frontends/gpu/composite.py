"""Values of a kernel that are made of several others, and their types: what Triton's tracer asks of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core


class Parts:
    """A type whose value is made of several: each in its turn stands for its handles."""

    def parts(self) -> Sequence[Any]:
        """Their types."""
        raise NotImplementedError

    def of(self, parts: Sequence[Any]) -> Any:
        """The value that they make."""
        raise NotImplementedError

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for part in self.parts():
            part._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: Any, cursor: int) -> tuple[Any, int]:
        made = []
        for part in self.parts():
            value, cursor = part._unflatten_ir(handles, cursor)
            made.append(value)
        return self.of(made), cursor


class Whole(core.base_value):  # type: ignore[misc]
    """A value that is made of several."""

    type: Any

    def parts(self) -> Sequence[Any]:
        """In the order of its type's."""
        raise NotImplementedError

    def _flatten_ir(self, handles: list[Any]) -> None:
        for part in self.parts():
            part._flatten_ir(handles)

    def _set_name(self, builder: Any, name: str) -> None:
        for part in self.parts():
            part._set_name(builder, name)
