"""Reductions and scans with any combining region.

Triton leaves the order of a reduction open. Here the last axis is reduced in lanes: element i into lane i modulo their
number, all lanes at once in vectors, and then the lanes pairwise. Any other axis is reduced one slice after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import build, scalars, tiles, types
from tle_raw.flir.cpu.convert.kernel import Kernel, converts
from tle_raw.flir.cpu.convert.plan import REDUCED_LANES
from tle_raw.flir.cpu.convert.tiles import BufferTile, Index, ScalarBody, TileValue
from tle_raw.flir.cpu.mlir_values import Block, Operation, Value

LANES = REDUCED_LANES
Evaluation = Callable[[Kernel, Operation, Sequence[Any]], tuple[Any, ...]]
_EVALUATIONS: dict[str, Evaluation] = {}


def evaluates(name: str) -> Callable[[Evaluation], Evaluation]:
    """Register ``function(kernel, op, operands)`` for operations on scalars that need the kernel."""

    def register(function: Evaluation) -> Evaluation:
        _EVALUATIONS[name] = function
        return function

    return register


class Combination:
    """The combining region: two sets of elements in, one out."""

    def __init__(self, kernel: Kernel, op: Operation) -> None:
        self.kernel = kernel
        self.block = op.regions[0].blocks[0]
        self.elements = [types.element_of(r.type) for r in op.results]

    def __call__(self, a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
        return evaluate(self.kernel, self.block, [*a, *b])

    @property
    def is_plain(self) -> bool:
        """Whether all of its operations work on vectors as on scalars."""
        operations = [view.operation for view in self.block.operations]
        values = [*self.block.arguments, *(r for op in operations for r in op.results)]
        return all(scalars.is_plain(op.name) for op in operations[:-1]) and not any(
            types.is_pointer(v.type) or types.is_small_float(v.type) for v in values
        )

    def on_vectors(self, a: Sequence[Value], b: Sequence[Value], lanes: int) -> list[Value]:
        """The same for vectors of elements; the combination is a plain one."""
        known = dict(zip(self.block.arguments, [*a, *b]))
        *operations, last = [view.operation for view in self.block.operations]
        for op in operations:
            kinds = [build.type_of(f"vector<{lanes}x{r.type}>") for r in op.results]
            attributes = {name: op.attributes[name] for name in op.attributes}
            if op.name == "arith.constant":
                attributes["value"] = mlir().DenseElementsAttr.get_splat(kinds[0], op.attributes["value"])
            operands = [known[o] if o in known else self._splat(o, lanes) for o in op.operands]
            known.update(zip(op.results, build.create(op.name, operands, kinds, attributes).results))
        return [known[o] if o in known else self._splat(o, lanes) for o in last.operands]

    def _splat(self, value: Value, lanes: int) -> Any:
        scalar = self.kernel.scalar(value)
        return build.value("vector.broadcast", [scalar], f"vector<{lanes}x{scalar.type}>")


def evaluate(kernel: Kernel, block: Block, arguments: Sequence[Value]) -> list[Value]:
    """Write the scalar operations of a block for these arguments; returns what it yields.

    Triton moves the block's constants to the start of the kernel: they are the kernel's scalars.
    """
    known = dict(zip(block.arguments, arguments))

    def find(value: Value) -> Any:
        return known[value] if value in known else kernel.scalar(value)

    def run(of: Any) -> list[Value]:
        *operations, last = [view.operation for view in of.operations]
        for op in operations:
            operands = [find(o) for o in op.operands]
            if op.name == "scf.if":
                result = _branch(op, operands)
            elif op.name == "tt.call":
                result = tuple(evaluate(kernel, kernel.callee(op), operands))
            elif op.name in _EVALUATIONS:
                result = _EVALUATIONS[op.name](kernel, op, operands)
            else:
                result = scalars.emit(op, operands)
            several = isinstance(result, tuple) and not isinstance(result, types.Address)
            known.update(zip(op.results, result if several else (result,)))
        return [find(o) for o in last.operands]

    def _branch(op: Operation, operands: Sequence[Any]) -> tuple[Any, ...]:
        new = build.create("scf.if", operands, [types.computed(r.type) for r in op.results], regions=2)
        for old, region in zip(op.regions, new.regions):
            if len(old.blocks):
                with build.block(region):
                    build.create("scf.yield", [types.plain(v) for v in run(old.blocks[0])])
        return tuple(new.results)

    return run(block)


@contextmanager
def loops(shape: Sequence[int]) -> Iterator[list[Any]]:
    """Nested loops over a shape; yields the indices."""
    with ExitStack() as stack:
        indices: list[int | Value] = []
        for size in shape:
            if size == 1:
                indices.append(0)
            else:
                indices.append(stack.enter_context(build.counted(build.index(0), build.index(size), build.index(1))))
        yield indices


@converts("tt.reduce")
def reduce(kernel: Kernel, op: Operation) -> None:
    sources = [kernel.tile(o) for o in op.operands]
    axis = op.attributes["axis"].value
    shape = sources[0].shape
    rest = (*shape[:axis], *shape[axis + 1 :])
    combine = Combination(kernel, op)
    results = [kernel.allocate(rest or (1,), element) for element in combine.elements]
    if axis == len(shape) - 1 and shape[axis] > 1:
        _reduce_last(kernel, sources, results, combine)
    else:
        _reduce_slices(kernel, sources, results, axis, combine)
    for value, buffer in zip(op.results, results):
        kernel.set(value, buffer if rest else types.plain(ScalarBody().element(buffer, (0,))))


def _reduce_slices(
    kernel: Kernel, sources: Sequence[TileValue], results: Sequence[BufferTile], axis: int, combine: Combination
) -> None:
    """All other axes in parallel, slice after slice."""
    shape = results[0].shape
    flat = sources[0].shape[:axis] + sources[0].shape[axis + 1 :]

    def at(index: Index, along: Any) -> Index:
        index = index if flat else ()
        return (*index[:axis], along, *index[axis:])

    def first(body: ScalarBody, index: Index) -> list[Value]:
        return [types.to_memory(body.element(s, at(index, 0))) for s in sources]

    kernel.for_each(shape, first, results)
    size = sources[0].shape[axis]
    if size == 1:
        return
    with build.counted(build.index(1), build.index(size), build.index(1)) as along:

        def following(body: ScalarBody, index: Index) -> list[Value]:
            so_far = [body.element(r, index) for r in results]
            new = [body.element(s, at(index, along)) for s in sources]
            return [types.to_memory(v) for v in combine(so_far, new)]

        kernel.for_each(shape, following, results)


def _reduce_last(
    kernel: Kernel, sources: Sequence[TileValue], results: Sequence[BufferTile], combine: Combination
) -> None:
    """The last axis in lanes, row by row. A source that waits for it is stored on the way."""
    *rows, size = sources[0].shape
    waiting = {source: kernel.awaiting.pop(source, None) for source in sources if isinstance(source, BufferTile)}

    def element(body: ScalarBody, source: TileValue, at: Index) -> Any:
        tile = waiting.get(source) if isinstance(source, BufferTile) else None
        if not isinstance(source, BufferTile) or tile is None:
            return body.element(source, at)
        value = body.element(tile, at)
        source.store(types.to_memory(value), at)
        return value

    lanes = min(LANES, size)
    partial = [kernel.allocate((lanes,), element) for element in combine.elements]
    with loops(rows) as row:

        def first(body: ScalarBody, index: Index) -> list[Value]:
            return [types.to_memory(element(body, s, (*row, *index))) for s in sources]

        kernel.for_each((lanes,), first, partial)
        if size > lanes:
            with build.counted(build.index(lanes), build.index(size), build.index(lanes)) as start:

                def following(body: ScalarBody, index: Index) -> list[Value]:
                    at = (*row, tiles.add(start, index[0]))
                    so_far = [body.element(p, index) for p in partial]
                    return [types.to_memory(v) for v in combine(so_far, [element(body, s, at) for s in sources])]

                kernel.for_each((lanes,), following, partial)
        for value, result in zip(_join_lanes(partial, lanes, combine), results):
            result.store(value, tuple(row) or (0,))


def _join_lanes(partial: Sequence[BufferTile], lanes: int, combine: Combination) -> list[Value]:
    """Combine the lanes to one; returns elements as they are stored."""
    if not combine.is_plain:
        return _join_lanes_one_by_one(partial, lanes, combine)
    # In registers: through memory LLVM would cut wide vectors into narrow ones bit by bit.
    vectors = [_loaded(p, lanes) for p in partial]
    while lanes > 1:
        lanes //= 2
        low, high = ([_half(v, lanes, start) for v in vectors] for start in (0, lanes))
        vectors = combine.on_vectors(low, high, lanes)
    elements = [_extracted(v) for v in vectors]
    return [types.to_memory(e) for e in elements]


def _loaded(buffer: BufferTile, lanes: int) -> Any:
    stored = types.in_memory(buffer.element)
    vector = build.value("vector.load", [buffer.memref, build.index(0)], f"vector<{lanes}x{stored}>")
    return build.value("arith.trunci", [vector], f"vector<{lanes}xi1>") if str(buffer.element) == "i1" else vector


def _half(vector: Any, lanes: int, start: int) -> Any:
    type_ = build.type_of(f"vector<{lanes}x{vector.type.element_type}>")
    mask = build.attribute(f"array<i64: {', '.join(str(start + n) for n in range(lanes))}>")
    return build.value("vector.shuffle", [vector, vector], type_, {"mask": mask})


def _extracted(vector: Any) -> Any:
    position = {"static_position": build.attribute("array<i64: 0>")}
    return build.value("vector.extract", [vector], vector.type.element_type, position)


def _join_lanes_one_by_one(partial: Sequence[BufferTile], lanes: int, combine: Combination) -> list[Value]:
    """For combining regions with control flow in them."""
    if lanes > 1:
        with build.counted(build.index(1), build.index(lanes), build.index(1)) as lane:
            body = ScalarBody()
            so_far = [body.element(p, (0,)) for p in partial]
            for value, p in zip(combine(so_far, [body.element(p, (lane,)) for p in partial]), partial):
                build.create("memref.store", [types.to_memory(value), p.memref, build.index(0)])
    return [types.to_memory(ScalarBody().element(p, (0,))) for p in partial]


@converts("tt.scan")
def scan(kernel: Kernel, op: Operation) -> None:
    """One slice after the other along the axis, the other axes in parallel."""
    sources = [kernel.tile(o) for o in op.operands]
    axis, backwards = op.attributes["axis"].value, op.attributes["reverse"].value
    shape = sources[0].shape
    rest = (*shape[:axis], *shape[axis + 1 :])
    combine = Combination(kernel, op)
    results = [kernel.allocate(shape, element) for element in combine.elements]
    so_far = [kernel.allocate(rest or (1,), element) for element in combine.elements]
    size = shape[axis]

    def at(index: Index, along: Any) -> Index:
        index = index if rest else ()
        return (*index[:axis], along, *index[axis:])

    def step(along: Any, is_first: bool) -> None:
        def element(body: ScalarBody, index: Index) -> list[Value]:
            new = [body.element(s, at(index, along)) for s in sources]
            if not is_first:
                new = combine([body.element(s, index) for s in so_far], new)
            stored = [types.to_memory(v) for v in new]
            for value, result in zip(stored, results):
                result.store(value, at(index, along))
            return stored

        kernel.for_each(rest or (1,), element, so_far)

    step(size - 1 if backwards else 0, True)
    if size > 1:
        with build.counted(build.index(1), build.index(size), build.index(1)) as number:
            along = build.binary("subi", build.index(size - 1), number) if backwards else number
            step(along, False)
    for value, buffer in zip(op.results, results):
        kernel.set(value, buffer)
