"""What of Triton's objects a trace uses, as types. Triton's own annotations differ from one version to the next.

Nothing of Triton is imported for them at run time.
"""

from __future__ import annotations

from typing import Any, Protocol


class Builder(Protocol):
    """``ir.builder``, which writes Triton IR; in Triton's interpreter, an object that computes at once."""

    def get_insertion_point(self) -> Any:
        """Where the next operation goes."""

    def restore_insertion_point(self, point: Any) -> None:
        """Go on there."""

    def get_loc(self) -> Any:
        """The location that operations get."""

    def set_loc(self, location: Any) -> None:
        """Give operations this location from here on."""

    def __getattr__(self, name: str) -> Any: ...


class Semantic(Protocol):
    """``TritonSemantic``: Triton's operations with their checks and conversions, on ``tl.tensor``."""

    @property
    def builder(self) -> Builder:
        """What it writes with."""

    def __getattr__(self, name: str) -> Any: ...
