"""What of MLIR's Python objects the passes use, as types: the bindings themselves carry no annotations.

Nothing is imported for them at run time. An operation gives its operands, results and regions as MLIR's own sequences,
which can be indexed, sliced and walked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from typing import Any, Protocol


class Type(Protocol):
    """A type. What only some have (``width``, ``shape``, ``element_type``) is asked of those only."""

    @property
    def width(self) -> int:
        """Bits of an integer or a float."""

    @property
    def shape(self) -> list[int]:
        """Of a tensor, vector or memref: elements along each dim."""

    @property
    def rank(self) -> int:
        """The number of dims."""

    @property
    def element_type(self) -> Type:
        """Of a tensor, vector or memref."""


class Attribute(Protocol):
    """An attribute; ``value`` of those that hold a number, a bool or a text."""

    @property
    def value(self) -> Any:
        """The Python value."""

    @property
    def type(self) -> Type:
        """The type of a typed attribute."""


class Location(Protocol):
    """Where an operation comes from; a context manager, within which operations get it."""

    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> None: ...


class Use(Protocol):
    """One operand of an operation, seen from the value."""

    @property
    def owner(self) -> Operation:
        """The operation that uses the value."""

    @property
    def operand_number(self) -> int:
        """Which of its operands it is."""


class Value(Protocol):
    """A result of an operation, or an argument of a block."""

    @property
    def type(self) -> Type:
        """Its type."""

    @property
    def owner(self) -> Any:
        """The operation of a result; the block of an argument."""

    @property
    def uses(self) -> Iterator[Use]:
        """Each operand that it is."""

    def replace_all_uses_with(self, other: Value) -> None:
        """Let every use take ``other``."""


class Blocks(Protocol):
    """The blocks of a region, the entry first."""

    def __getitem__(self, number: int) -> Block: ...

    def __iter__(self) -> Iterator[Block]: ...

    def __len__(self) -> int: ...

    def append(self, *types: Type) -> Block:
        """A new block at the end, with arguments of these types."""


class Region(Protocol):
    """A region of an operation."""

    @property
    def blocks(self) -> Blocks:
        """Its blocks."""


class Block(Protocol):
    """Operations in order, the last of which is the terminator."""

    @property
    def arguments(self) -> Sequence[Value]:
        """The values that the block is entered with."""

    @property
    def operations(self) -> Sequence[Any]:
        """The operations, each as the class of its dialect; ``.operation`` is the general form."""

    @property
    def owner(self) -> Any:
        """The operation whose region holds the block."""


class Operation(Protocol):
    """An operation in its general form."""

    @property
    def name(self) -> str:
        """With the dialect: ``arith.addf``."""

    @property
    def operands(self) -> MutableSequence[Value]:
        """What it takes; each can be replaced, but none added."""

    @property
    def results(self) -> Sequence[Value]:
        """What it gives."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Its attributes by name, the properties among them; values are attributes of any kind."""

    @property
    def regions(self) -> Sequence[Region]:
        """Its regions."""

    @property
    def location(self) -> Location:
        """Where it comes from."""

    @property
    def block(self) -> Block:
        """The block that it stands in."""

    @property
    def parent(self) -> Any:
        """The operation around it."""

    @property
    def operation(self) -> Operation:
        """Itself; of an operation as its dialect's class, the general form."""

    def erase(self) -> None:
        """Take it out of its block; nobody may use its results."""

    def clone(self) -> Operation:
        """A copy at the current insertion point."""

    def move_before(self, other: Operation) -> None:
        """Put it in front of ``other``."""
