"""What a call passes to a cuTile function, without values: the types that its typed IR is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TileType:
    """A block tensor, or a scalar: a tile of no dims. The dtype is cuTile's name of it."""

    dtype: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class ArrayType:
    """Global memory: a pointer with a shape and strides.

    ``known_shape`` and ``known_strides`` hold the sizes that are known at compile time. Two arrays that have one of
    their ``memories`` in common may overlap; all others do not, as cuTile has it.
    """

    dtype: str
    known_shape: tuple[int | None, ...]
    known_strides: tuple[int | None, ...]
    memories: tuple[str, ...] = ()
    index_bits: int = 32

    @property
    def rank(self) -> int:
        return len(self.known_shape)


@dataclass(frozen=True)
class ArrayListType:
    """A list of arrays: a pointer to their addresses, shapes and strides as 64-bit words, and its length."""

    item: ArrayType


@dataclass(frozen=True)
class ConstantType:
    """A value of Python that is known at compile time."""

    value: Any


@dataclass(frozen=True)
class TupleType:
    """Several arguments in one."""

    items: tuple[ArgumentType, ...]


ArgumentType = TileType | ArrayType | ArrayListType | ConstantType | TupleType
