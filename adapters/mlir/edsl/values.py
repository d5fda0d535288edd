"""What a name of the eDSL can stand for besides constants of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.mlir.edsl.types import Number, PointerType, TileType, Type
from tle_raw.errors import SourceLocation
from tle_raw.fragments.dtypes import DType


class EdslValue:
    """A value that is known when the kernel runs: the builder's handle and a type.

    ``positive``: it is known to be more than 0, as the size of a block is; a loop needs no test of its step then.
    """

    __slots__ = ("handle", "positive", "type")

    def __init__(self, handle: Any, type_: Type, positive: bool = False) -> None:
        self.handle = handle
        self.type = type_
        self.positive = positive

    def __repr__(self) -> str:
        return f"<{self.type} value>"


@dataclass(frozen=True)
class Undefined:
    """A name that has a value on some paths only."""

    name: str
    location: SourceLocation
    why: str


@dataclass(frozen=True)
class Conflict:
    """A name whose values on two paths do not fit together."""

    name: str
    location: SourceLocation
    one: str
    other: str


class StaticList(tuple[Any, ...]):
    """A list in the source: a tuple here, a list for a dialect's builder."""

    __slots__ = ()


def is_positive(value: object) -> bool:
    """Whether a number is known to be more than 0."""
    return value.positive if isinstance(value, EdslValue) else isinstance(value, int) and value > 0


def is_literal(value: object) -> bool:
    """A constant that takes the type of what it meets."""
    return isinstance(value, (bool, int, float))


def describe(value: object) -> str:
    """What a value is, for a table of an error."""
    if isinstance(value, EdslValue):
        return str(value.type)
    if isinstance(value, (DType, Number)):
        return f"the dtype {value}"
    if isinstance(value, tuple):
        return f"a {'list' if isinstance(value, StaticList) else 'tuple'} of {len(value)}"
    if is_literal(value) or isinstance(value, str):
        return f"the constant {value!r}"
    if value is None:
        return "None"
    name = getattr(value, "__name__", None)
    return f"`{name}`" if name else f"a {type(value).__name__}"


def element_of(value: EdslValue) -> Number | None:
    return value.type.element if isinstance(value.type, (TileType, PointerType)) else None
