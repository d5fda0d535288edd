"""Tiles: what a tensor of Triton's becomes. Most are never stored, but computed per element where they are used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from tle_raw.flir.cpu.convert import build, types
from tle_raw.flir.cpu.mlir_values import Type, Value

Index = tuple[Any, ...]  # one index value, or a plain int, per dimension


class ScalarBody:
    """A place where scalar code is written; what was computed there once is not computed again."""

    def __init__(self, instead: dict[TileValue, TileValue] | None = None) -> None:
        self._known: dict[Any, Any] = {}
        self._instead = instead or {}

    def element(self, tile: TileValue, index: Index) -> Any:
        """The element of a tile: a scalar, or an ``Address`` for tiles of pointers."""
        tile = self._instead.get(tile, tile)
        key = (tile, index)
        if key not in self._known:
            self._known[key] = tile.compute(self, index)
        return self._known[key]


class TileValue:
    """A tile of ``shape`` whose elements have Triton's type ``element``.

    ``operands`` are the tiles that it is computed from.
    """

    def __init__(self, shape: Sequence[int], element: Type, operands: Sequence[TileValue] = ()) -> None:
        self.shape, self.element, self.operands = tuple(shape), element, tuple(operands)

    def compute(self, body: ScalarBody, index: Index) -> Any:
        raise NotImplementedError


Leaf = TypeVar("Leaf", bound=TileValue)
FLAT_RANK = 4  # buffers of this many dimensions or more are addressed by position


class BufferTile(TileValue):
    """Elements that lie in scratch memory, row-major."""

    def __init__(self, shape: Sequence[int], element: Type, memref: Value) -> None:
        super().__init__(shape, element)
        self.memref = memref

    def compute(self, body: ScalarBody, index: Index) -> Any:
        stored = build.value("memref.load", [self.memref, *self.at(index)], types.in_memory(self.element))
        return types.from_memory(stored, self.element)

    def at(self, index: Index) -> list[Value]:
        """The indices into the memref."""
        return as_values((position(index, self.shape),) if len(self.shape) >= FLAT_RANK else index)

    def pointer(self) -> Value:
        """The address of the first element."""
        number = build.value("memref.extract_aligned_pointer_as_index", [self.memref], "index")
        return build.value("llvm.inttoptr", [build.cast_integer(number, "i64")], "!llvm.ptr")

    def store(self, value: Value, index: Index) -> None:
        """Write one element, as it lies in memory."""
        build.create("memref.store", [value, self.memref, *self.at(index)])


class Splat(TileValue):
    """One scalar for all elements."""

    def __init__(self, shape: Sequence[int], element: Type, scalar: Any) -> None:
        super().__init__(shape, element)
        self.scalar = scalar

    def compute(self, body: ScalarBody, index: Index) -> Any:
        if types.is_pointer(self.element):
            return types.Address(self.scalar, None, types.pointee(self.element))
        return self.scalar


class Constant(TileValue):
    """One constant for all elements; written where it is used."""

    def __init__(self, shape: Sequence[int], element: Type, attribute: Any) -> None:
        super().__init__(shape, element)
        self.attribute = attribute

    def compute(self, body: ScalarBody, index: Index) -> Any:
        return build.value("arith.constant", [], self.attribute.type, {"value": self.attribute})


class Range(TileValue):
    """``start + i``."""

    def __init__(self, size: int, element: Type, start: int) -> None:
        super().__init__((size,), element)
        self.start = start

    def compute(self, body: ScalarBody, index: Index) -> Any:
        (i,) = index
        if isinstance(i, int):
            return build.constant(self.start + i, self.element)
        number = build.cast_integer(i, self.element)
        return build.binary("addi", number, build.constant(self.start, self.element)) if self.start else number


class Elementwise(TileValue):
    """A scalar function of the operands' elements at the same index."""

    def __init__(
        self, shape: Sequence[int], element: Type, operands: Sequence[TileValue], function: Callable[..., Any]
    ) -> None:
        super().__init__(shape, element, operands)
        self.function = function

    def compute(self, body: ScalarBody, index: Index) -> Any:
        return self.function(*(body.element(operand, index) for operand in self.operands))


class Computed(TileValue):
    """Elements by a function of the place and the index, which reads the operands at indices of its own."""

    def __init__(
        self,
        shape: Sequence[int],
        element: Type,
        operands: Sequence[TileValue],
        function: Callable[[ScalarBody, Index], Any],
    ) -> None:
        super().__init__(shape, element, operands)
        self.function = function

    def compute(self, body: ScalarBody, index: Index) -> Any:
        return self.function(body, index)


class Shared(TileValue):
    """One of several results of an elementwise function, which is computed once."""

    def __init__(self, whole: Elementwise, number: int, element: Type) -> None:
        super().__init__(whole.shape, element, [whole])
        self.number = number

    def compute(self, body: ScalarBody, index: Index) -> Any:
        return body.element(self.operands[0], index)[self.number]


class Reindexed(TileValue):
    """The elements of another tile in another arrangement: broadcast, transposed, reshaped."""

    def __init__(self, shape: Sequence[int], of: TileValue, arrange: Callable[[Index], Index]) -> None:
        super().__init__(shape, of.element, [of])
        self.arrange = arrange

    def compute(self, body: ScalarBody, index: Index) -> Any:
        return body.element(self.operands[0], self.arrange(index))


class Chosen(TileValue):
    """Elements of one of two tiles, as the last index says: join and cat."""

    def __init__(
        self,
        shape: Sequence[int],
        operands: Sequence[TileValue],
        choose: Callable[[Index], tuple[Any, Index, Index]],
    ) -> None:
        super().__init__(shape, operands[0].element, operands)
        self.choose = choose

    def compute(self, body: ScalarBody, index: Index) -> Any:
        first, index_a, index_b = self.choose(index)
        if isinstance(first, bool):
            return body.element(self.operands[0 if first else 1], index_a if first else index_b)
        a, b = body.element(self.operands[0], index_a), body.element(self.operands[1], index_b)
        if isinstance(a, types.Address):
            chosen = build.select(first, a.integer(), b.integer())
            return types.from_integer(chosen, a.element)
        return build.select(first, a, b)


def leaves_read(roots: Sequence[TileValue], kind: type[Leaf], through: tuple[type[TileValue], ...]) -> dict[Leaf, bool]:
    """The tiles of a kind that computing others reads, and whether only at the index of the element computed.

    Tiles of the kinds ``through`` read their operands at their own index.
    """
    found: dict[Leaf, bool] = {}
    waiting = [(root, True) for root in roots]
    seen: set[tuple[TileValue, bool]] = set()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        tile, same = here
        if isinstance(tile, kind):
            found[tile] = found.get(tile, True) and same
        keeps = same and isinstance(tile, through)
        waiting += [(operand, keeps) for operand in tile.operands]
    return found


def as_values(index: Index) -> list[Value]:
    return [build.index(i) if isinstance(i, int) else i for i in index]


# Index arithmetic that folds what is known: a dimension of size one, a constant.


def add(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(b, int) and b == 0:
        return a
    if isinstance(a, int) and a == 0:
        return b
    return build.binary("addi", *as_values((a, b)))


def multiply(a: Any, b: int) -> Any:
    if isinstance(a, int):
        return a * b
    return a if b == 1 else build.binary("muli", a, build.index(b))


def divide(a: Any, b: int) -> Any:
    if isinstance(a, int):
        return a // b
    return a if b == 1 else build.binary("divui", a, build.index(b))


def remainder(a: Any, b: int) -> Any:
    if isinstance(a, int):
        return a % b
    return 0 if b == 1 else build.binary("remui", a, build.index(b))


class Part(NamedTuple):
    """What is known of an index value: it is ``(base / stride) % size``."""

    base: Value
    stride: int
    size: int


class _Known(threading.local):
    """The parts of one conversion."""

    def __init__(self) -> None:
        self.parts: dict[Any, Part] = {}
        self.extents: dict[Any, int] = {}


_known = _Known()


def reset_parts() -> None:
    """Start a new conversion: values of an earlier one may be gone, and their places taken."""
    _known.__init__()  # type: ignore[misc]


def register(value: Value, extent: int) -> Value:
    """Make known that an index value runs from 0 to below ``extent``: positions made of its parts fold."""
    _known.parts[value] = Part(value, 1, extent)
    _known.extents[value] = extent
    return value


def part_of(base: Value, stride: int, size: int) -> Any:
    """``(base / stride) % size``, without the remainder where the base is not larger."""
    value = divide(base, stride)
    if stride * size < _known.extents[base]:
        value = remainder(value, size)
    if not isinstance(value, int):
        _known.parts.setdefault(value, Part(base, stride, size))
    return value


def position(index: Index, shape: Sequence[int]) -> Any:
    """The row-major position of an index; neighbouring parts of one value are joined again."""
    result: Any = 0
    weight, d = 1, len(index) - 1
    while d >= 0:
        first, joined = d, shape[d]
        value = index[d]
        part = _part(value, shape[d])
        while part is not None and first > 0:
            outer = _part(index[first - 1], shape[first - 1])
            if outer is None or outer.base != part.base or outer.stride != part.stride * joined:
                break
            first -= 1
            joined *= shape[first]
            value = None
        if value is None and part is not None:
            value = part_of(part.base, part.stride, joined)
        result = add(multiply(value, weight), result)
        weight *= joined
        d = first - 1
    return result


def _part(value: Value, size: int) -> Part | None:
    part = None if isinstance(value, int) else _known.parts.get(value)
    return part if part is not None and part.size == size else None


def index_at(at: Any, shape: Sequence[int]) -> Index:
    """The index of a row-major position."""
    part = None if isinstance(at, int) else _known.parts.get(at)
    index: list[Any] = []
    inner = 1
    for number, size in enumerate(reversed(shape)):
        if size == 1:
            index.append(0)
        elif part is not None:
            index.append(part_of(part.base, part.stride * inner, size))
        else:
            outermost = number == len(shape) - 1
            index.append(divide(at, inner) if outermost else remainder(divide(at, inner), size))
        inner *= size
    return tuple(reversed(index))


def reshape(index: Index, shape: Sequence[int], to: Sequence[int]) -> Index:
    """The index in shape ``to`` of the element at ``index`` in ``shape``; dims that both have are left alone."""
    result: list[Any] = []
    a, b = 0, 0
    while a < len(shape) or b < len(to):
        first_a, first_b = a, b
        size_a = shape[a] if a < len(shape) else 1
        size_b = to[b] if b < len(to) else 1
        a, b = min(a + 1, len(shape)), min(b + 1, len(to))
        while size_a != size_b:
            if size_a < size_b:
                size_a *= shape[a]
                a += 1
            else:
                size_b *= to[b]
                b += 1
        at = position(index[first_a:a], shape[first_a:a])
        result += index_at(at, to[first_b:b]) if b - first_b != 1 else (at,)
    return tuple(result)
