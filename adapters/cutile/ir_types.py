"""What of cuTile's typed IR the adapter uses, as types: ``cuda.tile`` itself has no annotations to rely on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol


class Variable(Protocol):
    """A value of the typed IR."""

    name: str
    loc: Any

    def get_type(self) -> Any:
        """Its type: a tile's, an array's, a token's, …"""

    def is_constant(self) -> bool:
        """Whether its value is known."""

    def get_constant(self) -> Any:
        """The value of a constant."""

    def is_aggregate(self) -> bool:
        """Whether it is made of several values."""

    def __getattr__(self, name: str) -> Any: ...


class Operation(Protocol):
    """An operation; its operands and attributes are fields, each under its own name."""

    @property
    def op(self) -> str:
        """The operation's name."""

    @property
    def loc(self) -> Any:
        """Where it stands in the source."""

    @property
    def result_var(self) -> Variable:
        """The one result."""

    @property
    def result_vars(self) -> tuple[Variable, ...]:
        """All results."""

    def __getattr__(self, name: str) -> Any: ...


class Block(Protocol):
    """Operations in order, and the parameters that the block is entered with."""

    params: tuple[Variable, ...]

    def __iter__(self) -> Iterator[Operation]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Operation: ...

    def extend(self, operations: Sequence[Operation]) -> None:
        """Put operations at the end."""

    def __getattr__(self, name: str) -> Any: ...
