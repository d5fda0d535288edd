"""Structs that are passed by value: what they are made of, and how a value of one becomes the values that cross."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.fragments.dtypes import DTYPES, DType


@dataclass(frozen=True)
class Number:
    """One number. ``is_enum``: an enumeration, of which the compiler tells no size; the room it has is taken."""

    dtype: DType
    is_enum: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return self.dtype.itemsize

    def __str__(self) -> str:
        return str(self.dtype)


@dataclass(frozen=True)
class Address:
    """A pointer to global memory. ``is_opaque``: to what has no dtype, such as a struct; ``dtype`` is then ``u8``."""

    dtype: DType
    is_const: bool = False
    is_opaque: bool = False
    size = 8

    def __str__(self) -> str:
        return f"{'const ' if self.is_const else ''}{'void' if self.is_opaque else self.dtype}*"


@dataclass(frozen=True)
class Array:
    """``count`` items behind each other."""

    count: int
    item: Node

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * self.item.size

    def __str__(self) -> str:
        item: Node = self.item
        dims = f"[{self.count}]"
        while isinstance(item, Array):
            dims += f"[{item.count}]"
            item = item.item
        return f"{item}{dims}"


@dataclass(frozen=True)
class Bits:
    """Memory of which only the size is known: a union, or bit fields. It crosses as ``words`` of ``word``."""

    word: DType
    words: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.word.itemsize * self.words

    def __str__(self) -> str:
        return f"{self.size} bytes"


@dataclass(frozen=True)
class Member:
    """One field; ``offset`` is in bytes, from the struct's begin."""

    name: str
    offset: int
    type: Node


@dataclass(frozen=True)
class Struct:
    """A struct, class or vector. ``size`` and ``align`` are bytes."""

    name: str
    size: int
    align: int
    members: tuple[Member, ...]

    def __str__(self) -> str:
        return f"{self.name}{{{', '.join(f'{m.name}: {m.type}' for m in self.members)}}}"


Node = Number | Address | Array | Bits | Struct


@dataclass(frozen=True)
class Leaf:
    """What crosses of a struct: one number or pointer. ``path`` names it within the struct, ``offset`` is in bytes."""

    path: tuple[str, ...]
    offset: int
    type: Number | Address


def leaves(node: Node, path: tuple[str, ...] = (), offset: int = 0) -> Iterator[Leaf]:
    """The numbers and pointers of a struct, in order."""
    if isinstance(node, Struct):
        for member in node.members:
            yield from leaves(member.type, (*path, member.name), offset + member.offset)
    elif isinstance(node, Array):
        for index in range(node.count):
            yield from leaves(node.item, (*path, str(index)), offset + index * node.item.size)
    elif isinstance(node, Bits):
        for index in range(node.words):
            yield Leaf((*path, str(index)), offset + index * node.word.itemsize, Number(node.word))
    else:
        yield Leaf(path, offset, node)


@dataclass(frozen=True)
class Parts:
    """A value taken apart: its items, and their names where they have some."""

    values: Sequence[Any]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Taker:
    """How values are taken apart where they come from: a launch, or a kernel that is traced.

    ``parts`` gives None for a value that has none. ``whole`` gives all values of a node at once, or None.
    """

    parts: Callable[[Any], Parts | None]
    describe: Callable[[Any], str]
    whole: Callable[[Node, Any, str], list[Any] | None] = lambda node, value, what: None


def take_apart(node: Node, value: Any, what: str, taker: Taker) -> list[Any]:
    """The values of a struct's leaves, in order.

    A struct is a tuple of its fields, in order or by their names; an array a tuple of its items. One tuple of all that
    a struct holds does as well, and a struct of a single value may be that value.

    Parameters
    ----------
    what : the name of the value, for errors.

    Raises
    ------
    ArgumentTypeError : the value has other fields, or none.
    """
    whole = taker.whole(node, value, what)
    if whole is not None:
        return whole
    if isinstance(node, Number | Address):
        return [value]
    parts = taker.parts(value)
    items = [(m.name, m.type) for m in node.members] if isinstance(node, Struct) else _items(node)
    if parts is None and sum(1 for _ in leaves(node)) == 1:
        return take_apart(items[0][1], value, what, taker)
    if parts is None and not items and value is None:
        return []
    if parts is None:
        raise _mismatch(node, what, taker.describe(value))
    given = list(parts.values)
    if parts.names and isinstance(node, Struct):
        by_name = dict(zip(parts.names, given))
        if set(by_name) != {m.name for m in node.members}:
            raise _mismatch(node, what, f"fields {', '.join(parts.names)}")
        given = [by_name[m.name] for m in node.members]
    if len(given) != len(items):
        is_flat = len(given) == sum(1 for _ in leaves(node)) and all(taker.parts(v) is None for v in given)
        if is_flat:
            return given
        raise _mismatch(node, what, f"{len(given)} value{'s' * (len(given) != 1)}")
    return [v for (name, type_), item in zip(items, given) for v in take_apart(type_, item, f"{what}.{name}", taker)]


def _items(node: Array | Bits) -> list[tuple[str, Node]]:
    if isinstance(node, Array):
        return [(str(i), node.item) for i in range(node.count)]
    return [(str(i), Number(node.word)) for i in range(node.words)]


def _mismatch(node: Node, what: str, got: str) -> ArgumentTypeError:
    kind = "an array" if isinstance(node, Array) else "a struct"
    return ArgumentTypeError(
        f"`{what}` is {kind}, and the value has not its parts",
        table=[Row(what, str(node), got)],
        hint=f"pass {example(node)}",
    )


def example(node: Node) -> str:
    """What may be written for it, in Python."""
    if isinstance(node, Struct):
        names = [example(m.type) if isinstance(m.type, Struct) else m.name for m in node.members]
        return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    if isinstance(node, Array):
        return f"a tuple of {node.count} values"
    return f"an integer, or bytes of length {node.size}" if isinstance(node, Bits) else "a value"


def to_data(node: Node) -> list[Any]:
    """As JSON keeps it."""
    if isinstance(node, Number):
        return ["number", node.dtype.name, node.is_enum]
    if isinstance(node, Address):
        return ["address", node.dtype.name, node.is_const, node.is_opaque]
    if isinstance(node, Array):
        return ["array", node.count, to_data(node.item)]
    if isinstance(node, Bits):
        return ["bits", node.word.name, node.words]
    return ["struct", node.name, node.size, node.align, [[m.name, m.offset, to_data(m.type)] for m in node.members]]


def from_data(data: list[Any]) -> Node:
    """The inverse of ``to_data``."""
    kind, *rest = data
    if kind == "number":
        return Number(DTYPES[rest[0]], rest[1])
    if kind == "address":
        return Address(DTYPES[rest[0]], rest[1], rest[2])
    if kind == "array":
        return Array(rest[0], from_data(rest[1]))
    if kind == "bits":
        return Bits(DTYPES[rest[0]], rest[1])
    name, size, align, members = rest
    return Struct(name, size, align, tuple(Member(own, offset, from_data(type_)) for own, offset, type_ in members))
