"""Reductions and scans with any combining region.

Triton leaves the order of a reduction open. Here the last axis is reduced in lanes: element i into lane i modulo their
number, all lanes at once in vectors, and then the lanes pairwise. Any other axis is reduced one slice after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tle_raw.flir.cpu.convert import build, scalars, tiles, types
from tle_raw.flir.cpu.convert.kernel import Kernel, converts, scalars_plain
from tle_raw.flir.cpu.convert.tiles import Body, Buffer, Index, Tile

LANES = 64


class Combination:
    """The combining region: two sets of elements in, one out."""

    def __init__(self, op: Any) -> None:
        self.block = op.regions[0].blocks[0]
        self.elements = [types.element_of(r.type) for r in op.results]

    def __call__(self, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        return evaluate(self.block, [*a, *b])


def evaluate(block: Any, arguments: Sequence[Any]) -> list[Any]:
    """Write the scalar operations of a block for these arguments; returns what it yields."""
    known = dict(zip(block.arguments, arguments))

    def run(of: Any) -> list[Any]:
        *operations, last = [view.operation for view in of.operations]
        for op in operations:
            operands = [known.get(o, o) for o in op.operands]
            result = _branch(op, operands) if op.name == "scf.if" else scalars.emit(op, operands)
            several = isinstance(result, tuple) and not isinstance(result, types.Address)
            known.update(zip(op.results, result if several else (result,)))
        return [known[o] for o in last.operands]

    def _branch(op: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
        new = build.create("scf.if", operands, [types.computed(r.type) for r in op.results], regions=2)
        for old, region in zip(op.regions, new.regions):
            if len(old.blocks):
                with build.block(region):
                    build.create("scf.yield", [scalars_plain(v) for v in run(old.blocks[0])])
        return tuple(new.results)

    return run(block)


@contextmanager
def loops(shape: Sequence[int]) -> Iterator[list[Any]]:
    """Nested loops over a shape; yields the indices."""
    with ExitStack() as stack:
        indices = []
        for size in shape:
            if size == 1:
                indices.append(0)
            else:
                indices.append(
                    stack.enter_context(build.counted(build.index(0), build.index(size), build.index(1)))
                )
        yield indices


@converts("tt.reduce")
def reduce(kernel: Kernel, op: Any) -> None:
    sources = [kernel.tile(o) for o in op.operands]
    axis = op.attributes["axis"].value
    shape = sources[0].shape
    rest = (*shape[:axis], *shape[axis + 1 :])
    combine = Combination(op)
    results = [kernel.allocate(rest or (1,), element) for element in combine.elements]
    if axis == len(shape) - 1 and shape[axis] > 1:
        _reduce_last(kernel, sources, results, combine)
    else:
        _reduce_slices(kernel, sources, results, axis, combine)
    for value, buffer in zip(op.results, results):
        kernel.set(value, buffer if rest else scalars_plain(Body().element(buffer, (0,))))


def _reduce_slices(
    kernel: Kernel, sources: Sequence[Tile], results: Sequence[Buffer], axis: int, combine: Combination
) -> None:
    """All other axes in parallel, slice after slice."""
    shape = results[0].shape
    flat = sources[0].shape[:axis] + sources[0].shape[axis + 1 :]

    def at(index: Index, along: Any) -> Index:
        index = index if flat else ()
        return (*index[:axis], along, *index[axis:])

    def first(body: Body, index: Index) -> list[Any]:
        return [types.to_memory(body.element(s, at(index, 0))) for s in sources]

    kernel.for_each(shape, first, results)
    size = sources[0].shape[axis]
    if size == 1:
        return
    with build.counted(build.index(1), build.index(size), build.index(1)) as along:

        def following(body: Body, index: Index) -> list[Any]:
            so_far = [body.element(r, index) for r in results]
            new = [body.element(s, at(index, along)) for s in sources]
            return [types.to_memory(v) for v in combine(so_far, new)]

        kernel.for_each(shape, following, results)


def _reduce_last(
    kernel: Kernel, sources: Sequence[Tile], results: Sequence[Buffer], combine: Combination
) -> None:
    """The last axis in lanes, row by row."""
    *rows, size = sources[0].shape
    lanes = min(LANES, size)
    partial = [kernel.allocate((lanes,), element) for element in combine.elements]
    with loops(rows) as row:

        def first(body: Body, index: Index) -> list[Any]:
            return [types.to_memory(body.element(s, (*row, *index))) for s in sources]

        kernel.for_each((lanes,), first, partial)
        if size > lanes:
            with build.counted(build.index(lanes), build.index(size), build.index(lanes)) as start:

                def following(body: Body, index: Index) -> list[Any]:
                    at = (*row, tiles.add(start, index[0]))
                    so_far = [body.element(p, index) for p in partial]
                    return [types.to_memory(v) for v in combine(so_far, [body.element(s, at) for s in sources])]

                kernel.for_each((lanes,), following, partial)
        while lanes > 1:
            lanes //= 2

            def pair(body: Body, index: Index, half: int = lanes) -> list[Any]:
                other = (tiles.add(index[0], half),)
                low = [body.element(p, index) for p in partial]
                return [types.to_memory(v) for v in combine(low, [body.element(p, other) for p in partial])]

            if lanes == 1:
                _store_row(Body(), pair, results, row)
            else:
                kernel.for_each((lanes,), _stored_by(pair, partial))


def _stored_by(compute: Any, into: Sequence[Buffer]) -> Any:
    """The body of a generic over fewer elements than its buffers have: it stores by itself."""

    def element(body: Body, index: Index) -> None:
        for value, buffer in zip(compute(body, index), into):
            build.create("memref.store", [value, buffer.memref, *tiles.as_values(index)])

    return element


def _store_row(body: Body, pair: Any, results: Sequence[Buffer], row: Sequence[Any]) -> None:
    """Combine the last two lanes as scalars into the result."""
    at = tiles.as_values(tuple(row) or (0,))
    for value, result in zip(pair(body, (0,)), results):
        build.create("memref.store", [value, result.memref, *at])


@converts("tt.scan")
def scan(kernel: Kernel, op: Any) -> None:
    """One slice after the other along the axis, the other axes in parallel."""
    sources = [kernel.tile(o) for o in op.operands]
    axis, backwards = op.attributes["axis"].value, op.attributes["reverse"].value
    shape = sources[0].shape
    rest = (*shape[:axis], *shape[axis + 1 :])
    combine = Combination(op)
    results = [kernel.allocate(shape, element) for element in combine.elements]
    so_far = [kernel.allocate(rest or (1,), element) for element in combine.elements]
    size = shape[axis]

    def at(index: Index, along: Any) -> Index:
        index = index if rest else ()
        return (*index[:axis], along, *index[axis:])

    def step(along: Any, is_first: bool) -> None:
        def element(body: Body, index: Index) -> list[Any]:
            new = [body.element(s, at(index, along)) for s in sources]
            if not is_first:
                new = combine([body.element(s, index) for s in so_far], new)
            stored = [types.to_memory(v) for v in new]
            for value, result in zip(stored, results):
                build.create("memref.store", [value, result.memref, *tiles.as_values(at(index, along))])
            return stored

        kernel.for_each(rest or (1,), element, so_far)

    step(size - 1 if backwards else 0, True)
    if size > 1:
        with build.counted(build.index(1), build.index(size), build.index(1)) as number:
            along = build.binary("subi", build.index(size - 1), number) if backwards else number
            step(along, False)
    for value, buffer in zip(op.results, results):
        kernel.set(value, buffer)
