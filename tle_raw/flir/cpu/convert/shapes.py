"""Conversions of operations that arrange elements: each is index arithmetic only."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.convert import build, tiles, types
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.tiles import Chosen, Index, Range, Reindexed, Splat
from tle_raw.flir.cpu.mlir_values import Operation


def _result(op: Operation, number: int = 0) -> tuple[tuple[int, ...], Any]:
    type_ = op.results[number].type
    return types.shape_of(type_), types.element_of(type_)


@converts("tt.splat")
def splat(kernel: Kernel, op: Operation) -> None:
    kernel.set(op.results[0], Splat(*_result(op), types.plain(kernel.scalar(op.operands[0]))))


@converts("tt.unsplat")
def unsplat(kernel: Kernel, op: Operation) -> None:
    tile = kernel.tile(op.operands[0])
    element = tiles.ScalarBody().element(tile, (0,) * len(tile.shape))
    kernel.set(op.results[0], types.plain(element))


@converts("tt.make_range")
def make_range(kernel: Kernel, op: Operation) -> None:
    (size,), element = _result(op)
    kernel.set(op.results[0], Range(size, element, op.attributes["start"].value))


@converts("tt.broadcast")
def broadcast(kernel: Kernel, op: Operation) -> None:
    tile = kernel.tile(op.operands[0])
    shape, _ = _result(op)

    def arrange(index: Index) -> Index:
        return tuple(0 if size == 1 else i for i, size in zip(index, tile.shape))

    kernel.set(op.results[0], Reindexed(shape, tile, arrange))


@converts("tt.expand_dims")
def expand_dims(kernel: Kernel, op: Operation) -> None:
    axis = op.attributes["axis"].value
    shape, _ = _result(op)
    kernel.set(
        op.results[0],
        Reindexed(shape, kernel.tile(op.operands[0]), lambda index: (*index[:axis], *index[axis + 1 :])),
    )


@converts("tt.reshape")
def reshape(kernel: Kernel, op: Operation) -> None:
    tile = kernel.tile(op.operands[0])
    shape, _ = _result(op)
    kernel.set(op.results[0], Reindexed(shape, tile, lambda index: tiles.reshape(index, shape, tile.shape)))


@converts("tt.trans")
def transpose(kernel: Kernel, op: Operation) -> None:
    order = list(op.attributes["order"])
    shape, _ = _result(op)

    def arrange(index: Index) -> Index:
        source: list[Any] = [0] * len(order)
        for to, from_ in enumerate(order):
            source[from_] = index[to]
        return tuple(source)

    kernel.set(op.results[0], Reindexed(shape, kernel.tile(op.operands[0]), arrange))


@converts("tt.join")
def join(kernel: Kernel, op: Operation) -> None:
    shape, _ = _result(op)

    def choose(index: Index) -> tuple[Any, Index, Index]:
        *rest, last = index
        first = last == 0 if isinstance(last, int) else build.compare("eq", last, build.index(0))
        return first, tuple(rest), tuple(rest)

    kernel.set(op.results[0], Chosen(shape, [kernel.tile(o) for o in op.operands], choose))


@converts("tt.cat")
def cat(kernel: Kernel, op: Operation) -> None:
    shape, _ = _result(op)
    a, b = (kernel.tile(o) for o in op.operands)
    size = a.shape[0]

    def choose(index: Index) -> tuple[Any, Index, Index]:
        first, *rest = index
        if isinstance(first, int):
            return first < size, (first, *rest), (first - size, *rest)
        # Both are read, each within its own bounds.
        in_first = build.compare("ult", first, build.index(size))
        at = build.binary("remui", first, build.index(size))
        return in_first, (at, *rest), (at, *rest)

    kernel.set(op.results[0], Chosen(shape, [a, b], choose))


@converts("tt.split")
def split(kernel: Kernel, op: Operation) -> None:
    tile = kernel.tile(op.operands[0])
    for number, result in enumerate(op.results):
        shape = types.shape_of(result.type) if types.is_tile(result.type) else ()
        half = Reindexed(shape, tile, lambda index, n=number: (*index, n))  # type: ignore[misc]
        kernel.set(result, half if shape else types.plain(tiles.ScalarBody().element(half, ())))
