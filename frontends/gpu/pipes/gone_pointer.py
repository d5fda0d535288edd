"""Pointers into a slot that was given on: whoever works with one is told.

Triton asks a pointer for the kind of its type before it does anything with it. A variable that holds one may stay where
it is, be carried by a loop, or get another value: its type equals what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def gone_type(type_: Any, refuse: Callable[[], None]) -> Any:
    """The type of a pointer, or of a block of them, behind the end of its slot. ``refuse`` raises the error."""
    return _subclass(type(type_))(type_, refuse)


def _subclass(kind: Any) -> Any:
    """Of Triton's class: so Python asks this one whether the two are equal, on whichever side it stands."""

    class Gone(kind):  # type: ignore[misc]
        def __init__(self, type_: Any, refuse: Callable[[], None]) -> None:
            self.__dict__.update(type_.__dict__)
            self.refuse, self.before = refuse, type_

        def __eq__(self, other: object) -> bool:
            return bool(self.before == getattr(other, "before", other))

        def __ne__(self, other: object) -> bool:
            return not self == other

        def __hash__(self) -> int:
            return hash(self.before)

        def _unflatten_ir(self, handles: Any, cursor: int) -> Any:
            return self.before._unflatten_ir(handles, cursor)

        def _asked(self) -> Any:
            self.refuse()

        is_block = is_ptr = _asked
        scalar = property(_asked)

    return Gone
